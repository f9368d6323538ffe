#pragma once
// The webhook's metrics: observers of each answer, and the /metrics page.

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

  /// Called on the I/O threads; resolves no name while it runs.
  Observers observers();

  void certificateRead(bool ok);
  void certificateExpiry(double unixSeconds);
  void draining();
  void ready(bool value);

  /// The /metrics page; `server` gives the figures of this moment.
  runtime::Page page(const ServerMetrics& server);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dynamo::webhook
