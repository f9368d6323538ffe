#pragma once
// The webhook's metrics: callbacks that count requests, and the /metrics page.

#include <memory>
#include <string>

#include "common/runtime/plain_server.h"
#include "webhook/http/metrics.h"
#include "webhook/routes.h"

namespace dynamo::webhook {

class Telemetry {
 public:
  explicit Telemetry(const std::string& operatorVersion);
  ~Telemetry();

  /// The callbacks run on the I/O threads, so all metrics are looked up in advance.
  Observers observers();

  void certificateRead(bool ok);
  void certificateExpiry(double unixSeconds);
  void draining();
  void ready(bool value);

  /// The /metrics page with the server's current counters.
  runtime::Page page(const ServerMetrics& server);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dynamo::webhook
