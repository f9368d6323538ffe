#include "controller/access/serving_certificate.h"

#include <utility>

#include "certs/load.h"
#include "certs/make.h"
#include "certs/names.h"
#include "common/observability/log.h"

namespace dynamo::access {
namespace {

constexpr log::Logger kLog{"metrics"};

}  // namespace

std::variant<ServingCertificate, std::string> ServingCertificate::make(const std::string& host, Clock clock) {
  std::vector<std::string> names{"localhost"};
  if (host != names.front() && certs::isDnsName(host)) names.push_back(host);
  ServingCertificate made{std::move(names), std::move(clock)};
  if (std::string error = made.renew(made.clock_()); !error.empty()) return error;
  return made;
}

certs::ServerContext ServingCertificate::context() {
  const certs::Time now = clock_();
  if (now + certs::kRenewBefore > notAfter_) {
    if (const std::string error = renew(now); error.empty()) {
      kLog.info("renewed the certificate of the metrics", {{"notAfter", certs::formatTime(notAfter_)}});
    } else {
      kLog.error("cannot renew the certificate of the metrics", {{"error", error}});
    }
  }
  return context_;
}

std::string ServingCertificate::renew(certs::Time now) {
  auto pem = certs::makeSelfSigned({names_, {}}, now);
  if (const auto* error = std::get_if<certs::Error>(&pem)) return error->text;
  auto& pair = std::get<certs::PemPair>(pem);
  const auto loaded = certs::loadServingPair(pair, "certificate", "key", now);
  certs::wipe(pair.privateKey);
  if (const auto* error = std::get_if<certs::Error>(&loaded)) return error->text;
  const auto& serving = std::get<certs::ServingPair>(loaded);
  // Scrapers may be older than API servers, for which the webhook's TLS 1.3 is the default.
  auto made = certs::makeServerContext(serving, {.allowTls12 = true});
  if (const auto* error = std::get_if<certs::Error>(&made)) return error->text;
  context_ = std::get<certs::ServerContext>(std::move(made));
  notAfter_ = serving.notAfter;
  return {};
}

}  // namespace dynamo::access
