#pragma once
// The metrics rest_client_*, with the names and labels of client-go.

#include <string>
#include <string_view>

#include "common/observability/metrics.h"

namespace dynamo::kube {

/// The metrics of requests to one API server. `host` is the label value of client-go, such as
/// "10.96.0.1:443".
class ClientMetrics {
 public:
  ClientMetrics(observability::Registry& registry, std::string host)
      : registry_(&registry), host_(std::move(host)) {}

  /// Records one request. `status` is 0 if there was no reply. `seconds` ends with the response header.
  void finished(std::string_view method, int status, double seconds);

 private:
  observability::Registry* registry_;
  std::string host_;
};

}  // namespace dynamo::kube
