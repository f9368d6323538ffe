#include "controller/commands/metrics_listener.h"

#include <chrono>
#include <memory>
#include <utility>

#include "common/field/finding.h"
#include "controller/access/serving_certificate.h"
#include "controller/access/token_guard.h"

namespace dynamo::controller {
namespace {

constexpr const char* kPath = "/metrics";

certs::Time wallClock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

std::variant<runtime::PlainListener, std::string> metricsListener(MetricsOptions options,
                                                                  const kube::RestConfigFlags& cluster,
                                                                  observability::Registry& metrics,
                                                                  kube::ClientMetrics& clientMetrics) {
  runtime::PlainListener listener;
  listener.listen = std::move(options.listen);
  listener.pages.emplace(kPath, [&metrics] {
    return runtime::Page{200, std::string{observability::kTextFormat}, metrics.render()};
  });
  if (!options.secure) return listener;

  auto certificate = access::ServingCertificate::make(options.host, wallClock);
  if (const auto* error = std::get_if<std::string>(&certificate))
    return "cannot make the certificate of the metrics: " + *error;
  auto shared = std::make_shared<access::ServingCertificate>(
      std::get<access::ServingCertificate>(std::move(certificate)));
  listener.tls = [shared = std::move(shared)] { return shared->context(); };

  auto rest = kube::loadRestConfig(cluster);
  if (const auto* error = std::get_if<std::string>(&rest)) return field::oneLine(*error);
  listener.guard = [config = std::get<kube::RestConfig>(std::move(rest)),
                    &clientMetrics](runtime::EventLoop& loop) {
    auto client = std::make_unique<kube::Client>(loop, config, &clientMetrics, access::guardClientOptions());
    auto guard = std::make_shared<access::TokenGuard>(std::move(client), kPath);
    return runtime::Guard{
        [guard](std::string authorization) { return guard->refusal(std::move(authorization)); }};
  };
  return listener;
}

}  // namespace dynamo::controller
