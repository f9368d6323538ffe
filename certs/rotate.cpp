#include "certs/rotate.h"

#include <utility>

#include "certs/check.h"
#include "certs/make.h"

namespace dynamo::certs {

Decision decide(const CertificateData& present, const ServiceName& name, Time now) {
  Decision decision;
  std::vector<std::string> own = servingDnsNames(name.service, name.nameSpace);
  if (auto error = checkAuthority(present.ca, now)) {
    decision.action = Action::NewCaAndServing;
    decision.reason = std::move(error);
  } else if (auto servingError = checkServing(present.ca.certificate, present.serving, own.front(), now)) {
    decision.action = Action::NewServing;
    decision.reason = std::move(servingError);
  } else {
    return decision;
  }
  decision.keptNames = otherServiceNames(namesServedNow(present.ca.certificate, present.serving, now), name);
  decision.dnsNames = std::move(own);
  decision.dnsNames.insert(decision.dnsNames.end(), decision.keptNames.begin(), decision.keptNames.end());
  return decision;
}

Result<CertificateData> renew(const CertificateData& present, const Decision& decision, Time now) {
  CertificateData renewed = present;
  if (decision.action == Action::Nothing) return renewed;
  if (decision.action == Action::NewCaAndServing) {
    auto ca = makeCa(now);
    if (const auto* error = std::get_if<Error>(&ca)) return *error;
    renewed.ca = std::move(std::get<PemPair>(ca));
  }
  auto serving = makeServing(renewed.ca, {decision.dnsNames, {}}, now);
  if (const auto* error = std::get_if<Error>(&serving)) return *error;
  renewed.serving = std::move(std::get<PemPair>(serving));
  return renewed;
}

}  // namespace dynamo::certs
