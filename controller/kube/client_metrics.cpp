#include "controller/kube/client_metrics.h"

#include <array>

namespace dynamo::kube {
namespace {

/// The buckets of the Kubernetes components.
constexpr std::array kBuckets{.005, .025, .1, .25, .5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0};

}  // namespace

void ClientMetrics::finished(std::string_view method, int status, double seconds) {
  const std::string code = status == 0 ? "<error>" : std::to_string(status);
  registry_
      ->counter("rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                {{"code", code}, {"method", method}, {"host", host_}})
      .increment();
  registry_
      ->histogram("rest_client_request_duration_seconds",
                  "Request latency in seconds. Broken down by verb, and host.", kBuckets,
                  {{"verb", method}, {"host", host_}})
      .observe(seconds);
}

}  // namespace dynamo::kube
