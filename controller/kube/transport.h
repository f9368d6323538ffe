#pragma once
// Sends requests: credentials, kept connections, retries and the limit of concurrent requests. Internal to
// Client.

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/runtime/client_session.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/api_error.h"
#include "controller/kube/client_metrics.h"
#include "controller/kube/client_options.h"
#include "controller/kube/connection_pool.h"
#include "controller/kube/credentials.h"
#include "controller/kube/rest_config.h"
#include "controller/kube/round_tripper.h"
#include "controller/kube/turns.h"

namespace dynamo::kube {

class Transport : public RoundTripper {
 public:
  Transport(runtime::EventLoop& loop, RestConfig config, ClientMetrics* metrics, ClientOptions options);

  runtime::Task<Result<Answer>> send(HttpRequest request) override;
  void setWriteGate(WriteGate open) override { gate_ = std::move(open); }
  std::size_t idleConnections() const override { return pool_.size(); }

 private:
  /// One request and its reply, with one retry if the server had closed the kept connection.
  struct Exchange;
  runtime::Task<Result<Answer>> exchange(HttpRequest request, Authentication who, runtime::Deadline deadline);
  runtime::Task<Result<runtime::ReplyHead>> sendRequest(const HttpRequest& request, Exchange& on);
  runtime::Task<Result<std::string>> readBody(Exchange& on, const runtime::ReplyHead& head, std::size_t max);
  std::variant<runtime::ClientContext, ApiError> contextOf(const Authentication& who);
  std::vector<runtime::Header> headersOf(const HttpRequest& request, const Authentication& who) const;
  std::optional<ApiError> closedGate(const HttpRequest& request) const;
  std::chrono::milliseconds pauseAfter(const ApiError& error);

  runtime::EventLoop& loop_;
  RestConfig config_;
  ClientMetrics* metrics_;
  ClientOptions options_;
  std::string proxyHint_;  ///< added to errors of connections
  WriteGate gate_;
  std::map<Slots, Turns> turns_;
  ConnectionPool pool_;
  runtime::ClientContext context_;
  std::string trusted_;       ///< the CA certificates of context_
  Authentication presented_;  ///< the client certificate of context_; the token is not compared
  bool untrusted_ = false;    ///< a server certificate was rejected since the last read of the CA file
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace dynamo::kube
