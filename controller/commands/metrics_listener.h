#pragma once
// The listener of /metrics.

#include <string>
#include <variant>

#include "common/observability/metrics.h"
#include "common/runtime/endpoint.h"
#include "common/runtime/plain_server.h"
#include "controller/kube/client_metrics.h"
#include "controller/kube/rest_config.h"

namespace dynamo::controller {

struct MetricsOptions {
  runtime::Endpoint listen;
  /// HTTPS with a self-signed certificate that names `host`, for clients whose bearer token may get /metrics.
  bool secure = true;
  std::string host;
};

/// Returns the listener, or an error without secrets. A secure one has an API client of its own, because the
/// server has a thread of its own; `clientMetrics` counts its requests. Both references must outlive the
/// server.
std::variant<runtime::PlainListener, std::string> metricsListener(MetricsOptions options,
                                                                  const kube::RestConfigFlags& cluster,
                                                                  observability::Registry& metrics,
                                                                  kube::ClientMetrics& clientMetrics);

}  // namespace dynamo::controller
