#pragma once
// Admits clients whose bearer token may read a page, as the API server decides.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/observability/rate_limit.h"
#include "common/runtime/plain_server.h"
#include "common/runtime/task.h"
#include "controller/access/verdict_cache.h"
#include "controller/kube/client.h"

namespace dynamo::access {

/// The options of the guard's client. A scraper waits 10 s by default.
kube::ClientOptions guardClientOptions();

/// Guards one path. Verdicts are cached; failures are not. All functions must be called on the thread of the
/// client's loop. No token is logged.
class TokenGuard {
 public:
  using Clock = std::function<VerdictCache::Instant()>;

  /// The number of requests that may wait for reviews. Others are answered with 503, so that clients with
  /// invented tokens cannot take all connections of the server while the API server is slow.
  static constexpr std::size_t kMaxWaiting = 64;

  /// Asks for the right to `get` the non-resource URL `path`.
  TokenGuard(std::unique_ptr<kube::Client> client, std::string path,
             Clock clock = std::chrono::steady_clock::now);

  /// Returns the reply to a client that may not read the page, or nullopt; see runtime::Guard. The object
  /// must outlive the task.
  runtime::Task<std::optional<runtime::Page>> refusal(std::string authorization);

 private:
  /// A verdict, or the status of the reply if there is none.
  using Reviewed = std::variant<Verdict, int>;

  runtime::Task<Reviewed> review(std::string token);
  runtime::Task<kube::Result<json::Document>> ask(const kube::Resource& resource, std::string body);
  int failed(const kube::Resource& resource, const kube::ApiError& error);

  std::unique_ptr<kube::Client> client_;
  std::string path_;
  Clock clock_;
  VerdictCache cache_;
  std::size_t waiting_ = 0;
  log::RateLimit failures_{5, std::chrono::seconds{30}};
};

}  // namespace dynamo::access
