#include "controller/certs/secret_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "certs/check.h"
#include "certs/files.h"
#include "certs/load.h"
#include "certs/pem.h"
#include "common/json/build.h"
#include "controller/certs/ca_bundle.h"
#include "controller/kube/base64.h"

namespace dynamo::provisioning {
namespace {

using certs::CertificateData;
using certs::Time;

struct DataKey {
  const char* name;
  std::string& (*member)(CertificateData&);
};

constexpr DataKey kDataKeys[] = {
    {certs::kCaCertificateFile, [](CertificateData& data) -> std::string& { return data.ca.certificate; }},
    {certs::kCaKeyFile, [](CertificateData& data) -> std::string& { return data.ca.privateKey; }},
    {certs::kCertificateFile, [](CertificateData& data) -> std::string& { return data.serving.certificate; }},
    {certs::kKeyFile, [](CertificateData& data) -> std::string& { return data.serving.privateKey; }},
};

std::optional<Time> endOf(const std::string& pem) {
  const certs::ErrorQueueScope errors;
  const auto parsed = certs::parseCertificates(pem, "certificate");
  const auto* chain = std::get_if<std::vector<certs::CertificatePtr>>(&parsed);
  return chain == nullptr ? std::nullopt : certs::notAfter(*chain->front());
}

/// Returns why the webhook cannot serve with a certificate that another program has created. Any issuer is
/// accepted. Returns an empty text if the certificate is usable.
std::string manualProblem(const CertificateData& data, const std::string& primaryName, Time now) {
  const certs::ErrorQueueScope errors;
  const auto loaded = certs::loadServingPair(data.serving, "tls.crt", "tls.key", now);
  if (const auto* error = std::get_if<certs::Error>(&loaded)) return error->text;
  const certs::ServingPair& pair = std::get<certs::ServingPair>(loaded);
  if (!certs::isValidFor(*pair.chain.front(), primaryName))
    return fmt::format("tls.crt: is not valid for \"{}\"", primaryName);
  return {};
}

/// Returns why the webhook cannot serve with a certificate now, even if it is due for renewal. Returns an
/// empty text if the certificate is usable.
std::string automaticProblem(const CertificateData& data, const certs::RenewalPlan& renewal,
                             const std::string& primaryName, Time now) {
  if (renewal.action == certs::Action::Nothing) return {};
  const auto names = certs::currentDnsNames(data.ca.certificate, data.serving, now);
  const bool serves = std::find(names.begin(), names.end(), primaryName) != names.end();
  return serves || !renewal.reason ? std::string{} : renewal.reason->text;
}

}  // namespace

CertificateData readData(const json::Value& secret) {
  CertificateData data;
  const json::Value* const members = json::findObject(&secret, "data");
  for (const DataKey& key : kDataKeys)
    key.member(data) = kube::decodeBase64(json::findText(members, key.name)).value_or(std::string{});
  return data;
}

SecretPlan planSecret(const json::Value* secret, const Settings& settings, Time now) {
  SecretPlan plan;
  if (secret != nullptr) {
    plan.present = readData(*secret);
    plan.resourceVersion = json::findText(json::find(secret, "metadata"), "resourceVersion");
  }
  const auto own = certs::servingDnsNames(settings.service.service, settings.service.namespaceName);
  const std::string& ca = plan.present.ca.certificate;
  if (settings.automatic) {
    plan.renewal = certs::planRenewal(plan.present, settings.service, now);
    plan.problem = automaticProblem(plan.present, plan.renewal, own.front(), now);
    const bool keepsCa = plan.renewal.action != certs::Action::NewCaAndServing;
    if (keepsCa || (plan.problem.empty() && isCertificateBundle(ca))) plan.ca = ca;
  } else {
    plan.problem = manualProblem(plan.present, own.front(), now);
    if (isCertificateBundle(ca)) plan.ca = ca;
  }
  if (secret == nullptr) plan.problem = "the Secret does not exist";
  plan.servingEnd = endOf(plan.present.serving.certificate);
  plan.caEnd = endOf(ca);
  return plan;
}

Time nextCheck(const SecretPlan& plan, Time now) {
  Time next = now + kCheckInterval;
  for (const auto& end : {plan.servingEnd, plan.caEnd}) {
    if (!end) continue;
    // One second is added because a certificate is still valid in its last second.
    for (const Time at : {*end - certs::kRenewBefore, *end})
      if (at >= now) next = std::min<Time>(next, at + std::chrono::seconds{1});
  }
  return next;
}

std::string secretBody(const Settings& settings, const CertificateData& data) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  CertificateData written = data;
  json::Value members = make.object();
  for (const DataKey& key : kDataKeys)
    make.set(members, key.name, std::string_view{kube::encodeBase64(key.member(written))});
  const json::Value secret = make.object(
      "apiVersion", "v1", "kind", "Secret", "metadata",
      make.object(
          "name", settings.secretName, "namespace", settings.service.namespaceName, "labels",
          make.object("app.kubernetes.io/managed-by", "dynamo-operator", "app.kubernetes.io/component",
                      "webhook", "app.kubernetes.io/part-of", "dynamo-operator")),
      "type", "kubernetes.io/tls", "data", std::move(members));
  return json::dump(secret);
}

std::string secretPatch(const SecretPlan& plan, const CertificateData& data) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  CertificateData before = plan.present;
  CertificateData after = data;
  json::Value members = make.object();
  for (const DataKey& key : kDataKeys) {
    if (key.member(before) != key.member(after))
      make.set(members, key.name, std::string_view{kube::encodeBase64(key.member(after))});
  }
  return json::dump(make.object("metadata", make.object("resourceVersion", plan.resourceVersion), "data",
                                std::move(members)));
}

}  // namespace dynamo::provisioning
