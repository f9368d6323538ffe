#pragma once
// A client and a scripted API server on the loopback.

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "controller/kube/client.h"
#include "controller/kube/rest_config.h"
#include "controller/kube/round_tripper.h"
#include "tests/unit/certs/support.h"
#include "tests/unit/runtime/client_support.h"

namespace dynamo::kube::test {

using namespace std::chrono_literals;
using runtime::EventLoop;
using runtime::Task;
using runtime::test::authority;
using runtime::test::in;
using runtime::test::ok;
using runtime::test::PeerConnection;
using runtime::test::ScriptedPeer;
using runtime::test::Serves;

/// Returns the current credentials of the configuration.
Authentication presented(const RestConfig& config);

/// Returns a configuration for the server, with the token "t".
RestConfig configFor(const ScriptedPeer& peer);

/// Returns a reply with the status and further headers.
std::string reply(int status, std::string_view body, std::string_view headers = {});
/// Returns a reply with a metav1.Status, as an API server sends it.
std::string failure(int status, std::string_view reason, std::string_view headers = {});

/// Returns the body of a request.
std::string bodyOf(const std::string& request);
/// Returns the first line of a request without the version, such as "GET /version".
std::string lineOf(const std::string& request);
/// Returns the value of a header, or an empty text if the request lacks it.
std::string headerOf(const std::string& request, const std::string& name);

/// A server that answers every request with a function and records the requests.
class ApiServer {
 public:
  /// Returns the complete reply to a request; the first request has the number 0. If the reply is empty, the
  /// connection is closed instead.
  using Handler = std::function<std::string(const std::string& request, int number)>;

  explicit ApiServer(Handler handler);

  RestConfig config() const { return configFor(*peer_); }
  std::vector<std::string> requests() const;
  int connections() const { return peer_->accepted(); }
  std::uint16_t port() const { return peer_->port(); }

 private:
  Handler handler_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::unique_ptr<ScriptedPeer> peer_;  ///< destroyed first, because its threads use the other members
};

/// Answers requests with a function, in memory and on the thread of the loop.
class FakeRoundTripper : public RoundTripper {
 public:
  /// Returns the complete reply to a request, like ApiServer::Handler. It may wait, and other requests are
  /// answered meanwhile.
  using Handler = std::function<Task<std::string>(std::string request, int number)>;

  explicit FakeRoundTripper(Handler handler) : handler_(std::move(handler)) {}

  Task<Result<Answer>> send(HttpRequest request) override;
  void setWriteGate(WriteGate open) override { gate_ = std::move(open); }
  std::size_t idleConnections() const override { return 0; }
  /// The requests in the order of arrival, as an ApiServer reads them.
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  Handler handler_;
  WriteGate gate_;
  std::vector<std::string> requests_;
};

/// Runs `use(loop, client)` with a client that sends with `roundTripper`.
template <class Use>
void withClient(std::shared_ptr<RoundTripper> roundTripper, Use use) {
  EventLoop loop;
  Client client{std::move(roundTripper), "dynamo-controller"};
  const auto run = [&]() -> Task<void> { co_await use(loop, client); };
  loop.spawn(run());
  loop.run();
}

/// Runs `use(loop, client)`.
template <class Use>
void withClient(RestConfig config, Use use, ClientOptions options = {}, ClientMetrics* metrics = nullptr) {
  EventLoop loop;
  Client client{loop, std::move(config), metrics, std::move(options)};
  const auto run = [&]() -> Task<void> { co_await use(loop, client); };
  loop.spawn(run());
  loop.run();
}

/// Returns the error of a result. Throws if it is not an error.
template <class T>
ApiError errorIn(const Result<T>& result) {
  if (const auto* error = std::get_if<ApiError>(&result)) return *error;
  throw std::runtime_error{"there is no error"};
}

/// Returns the JSON text of the document, or the text of the error.
std::string textOf(const Result<json::Document>& result);

inline const Resource& configMaps() {
  static const Resource resource{"", "v1", "configmaps", "ConfigMap"};
  return resource;
}

/// Gets one object and appends the text of the result to `out`.
Task<void> getOnce(Client& client, std::vector<std::string>& out, CallOptions call = {});

}  // namespace dynamo::kube::test
