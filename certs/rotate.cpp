#include "certs/rotate.h"

#include <utility>

#include "certs/check.h"
#include "certs/make.h"

namespace dynamo::certs {

RenewalPlan planRenewal(const CertificateData& present, const ServiceName& name, Time now) {
  RenewalPlan plan;
  std::vector<std::string> own = servingDnsNames(name.service, name.namespaceName);
  if (auto error = checkAuthority(present.ca, now)) {
    plan.action = Action::NewCaAndServing;
    plan.reason = std::move(error);
  } else if (auto servingError = checkServing(present.ca.certificate, present.serving, own.front(), now)) {
    plan.action = Action::NewServing;
    plan.reason = std::move(servingError);
  } else {
    return plan;
  }
  plan.keptNames = otherServiceNames(currentDnsNames(present.ca.certificate, present.serving, now), name);
  plan.dnsNames = std::move(own);
  plan.dnsNames.insert(plan.dnsNames.end(), plan.keptNames.begin(), plan.keptNames.end());
  return plan;
}

Result<CertificateData> renew(const CertificateData& present, const RenewalPlan& plan, Time now) {
  CertificateData renewed = present;
  if (plan.action == Action::Nothing) return renewed;
  if (plan.action == Action::NewCaAndServing) {
    auto ca = makeCa(now);
    if (const auto* error = std::get_if<Error>(&ca)) return *error;
    renewed.ca = std::move(std::get<PemPair>(ca));
  }
  auto serving = makeServing(renewed.ca, {plan.dnsNames, {}}, now);
  if (const auto* error = std::get_if<Error>(&serving)) return *error;
  renewed.serving = std::move(std::get<PemPair>(serving));
  return renewed;
}

}  // namespace dynamo::certs
