#include "controller/access/token_guard.h"

#include <utility>
#include <variant>

#include "common/observability/log.h"
#include "common/runtime/reply_text.h"

namespace dynamo::access {
namespace {

constexpr log::Logger kLog{"metrics"};

using runtime::Page;
using runtime::Task;

const kube::Resource& tokenReviews() {
  static const kube::Resource kResource{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
  return kResource;
}

const kube::Resource& accessReviews() {
  static const kube::Resource kResource{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                        "SubjectAccessReview", false};
  return kResource;
}

Page statusPage(int status, std::string_view message) {
  return {status, "application/json", runtime::statusBody(status, message)};
}

std::optional<Page> pageOf(Verdict verdict, const std::string& path) {
  switch (verdict) {
    case Verdict::Allowed:
      return std::nullopt;
    case Verdict::Denied:
      return statusPage(403, "the user of the bearer token may not get the non-resource URL " + path);
    case Verdict::Unauthenticated:
      break;
  }
  return statusPage(401, "the bearer token is not valid");
}

/// Counts a task as waiting while it exists.
class Waiting {
 public:
  explicit Waiting(std::size_t& count) : count_(count) { ++count_; }
  ~Waiting() { --count_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::size_t& count_;
};

}  // namespace

kube::ClientOptions guardClientOptions() {
  kube::ClientOptions options;
  options.timeout = std::chrono::seconds{9};
  options.maxInFlight = 8;  // also the number of kept connections
  options.maxClusterInFlight = 8;
  options.maxPostponed = 1;
  return options;
}

TokenGuard::TokenGuard(std::unique_ptr<kube::Client> client, std::string path, Clock clock)
    : client_(std::move(client)), path_(std::move(path)), clock_(std::move(clock)) {}

Task<std::optional<Page>> TokenGuard::refusal(std::string authorization) {
  const auto token = bearerToken(authorization);
  if (!token) co_return statusPage(401, "this path requires a bearer token");
  const TokenHash hash = hashOf(*token);
  if (const auto known = cache_.find(hash, clock_())) co_return pageOf(*known, path_);
  if (waiting_ >= kMaxWaiting) co_return statusPage(503, "too many requests wait for the API server");
  const Waiting waiting{waiting_};
  std::string text{*token};
  const Reviewed reviewed = co_await review(std::move(text));
  if (const int* const status = std::get_if<int>(&reviewed)) {
    co_return statusPage(*status, "the API server could not be asked whether the bearer token may be used");
  }
  const Verdict verdict = std::get<Verdict>(reviewed);
  cache_.add(hash, verdict, clock_());
  co_return pageOf(verdict, path_);
}

Task<TokenGuard::Reviewed> TokenGuard::review(std::string token) {
  std::string question = tokenReview(token);
  const auto authenticated = co_await ask(tokenReviews(), std::move(question));
  if (const auto* error = std::get_if<kube::ApiError>(&authenticated))
    co_return failed(tokenReviews(), *error);
  auto second = accessReview(std::get<json::Document>(authenticated), path_);
  if (!second) co_return Verdict::Unauthenticated;
  const auto authorized = co_await ask(accessReviews(), std::move(*second));
  if (const auto* error = std::get_if<kube::ApiError>(&authorized)) co_return failed(accessReviews(), *error);
  co_return allows(std::get<json::Document>(authorized)) ? Verdict::Allowed : Verdict::Denied;
}

/// Sends a review. The client does not repeat a `create` on a kept connection that the server has just
/// closed, but a review may be repeated.
Task<kube::Result<json::Document>> TokenGuard::ask(const kube::Resource& resource, std::string body) {
  const kube::CallOptions call{kube::Slots::Cluster};
  auto answered = co_await client_->create(resource, "", body, false, call);
  const auto* const error = std::get_if<kube::ApiError>(&answered);
  if (error == nullptr || error->reason != kube::Reason::Transport) co_return std::move(answered);
  auto again = co_await client_->create(resource, "", std::move(body), false, call);
  co_return std::move(again);
}

/// Logs why a review failed, without the message of the server, which might quote the review. Returns the
/// status of the reply.
int TokenGuard::failed(const kube::Resource& resource, const kube::ApiError& error) {
  if (failures_.pass(clock_())) {
    kLog.error("the metrics cannot be read because a review of a token failed",
               {{"resource", resource.plural + "." + resource.group},
                {"reason", kube::nameOf(error.reason)},
                {"status", error.status}});
  }
  return error.transient() ? 503 : 500;
}

}  // namespace dynamo::access
