#include "controller/certs/injection.h"

#include <fmt/format.h>

#include <utility>

#include "common/json/build.h"
#include "common/json/patch.h"
#include "controller/kube/base64.h"

namespace dynamo::provisioning {
namespace {

using certs::ServiceName;
using certs::Time;
using json::Value;

constexpr std::string_view kConvertPath = "/convert";
constexpr std::string_view kReviewVersion = "v1";
constexpr int kServicePort = 443;

/// A JSON patch with the operation `test`.
class GuardedPatch {
 public:
  void test(const std::string& pointer, const Value& value) { append("test", pointer, value); }
  void test(const std::string& pointer, std::string_view text) { append("test", pointer, text); }
  /// Adds a member, or replaces it.
  void add(const std::string& pointer, const Value& value) { append("add", pointer, value); }
  void add(const std::string& pointer, std::string_view text) { append("add", pointer, text); }
  std::string text() const { return operations_.Empty() ? std::string{} : json::dump(operations_); }
  const json::Maker& make() const { return make_; }

 private:
  template <typename V>
  void append(std::string_view operation, const std::string& pointer, V&& value) {
    make_.push(operations_, make_.object("op", operation, "path", pointer, "value", std::forward<V>(value)));
  }

  json::Document operations_{rapidjson::kArrayType};
  json::Maker make_{operations_.GetAllocator()};
};

bool injectedByCertManager(const Value& object) {
  const Value* const annotations = json::findObject(json::find(&object, "metadata"), "annotations");
  for (const std::string_view name :
       {"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret",
        "cert-manager.io/inject-apiserver-ca"}) {
    if (!json::findText(annotations, name).empty()) return true;
  }
  return false;
}

ServiceName serviceOf(const Value* clientConfig) {
  const Value* const service = json::findObject(clientConfig, "service");
  return {std::string{json::findText(service, "name")}, std::string{json::findText(service, "namespace")}};
}

bool same(const ServiceName& a, const ServiceName& b) {
  return a.service == b.service && a.namespaceName == b.namespaceName;
}

/// Returns the caBundle in PEM. A text that is not base64 counts as empty.
std::string bundleOf(const Value* clientConfig) {
  return kube::decodeBase64(json::findText(clientConfig, "caBundle")).value_or(std::string{});
}

/// Whether no entry of the Service has a caBundle.
bool isWithoutCa(const Value& webhooks, const ServiceName& service) {
  for (const Value& entry : webhooks.GetArray()) {
    const Value* const clientConfig = json::findObject(&entry, "clientConfig");
    if (same(serviceOf(clientConfig), service) && !json::findText(clientConfig, "caBundle").empty())
      return false;
  }
  return true;
}

std::string untrusted(std::string_view where) {
  return fmt::format(
      "{} does not contain the CA of the webhook's certificate, and the operator does not change it because "
      "of an annotation of the object, cert-manager.io/inject-… or nvidia.com/ca-injected",
      where);
}

bool hasReviewVersion(const Value* webhook) {
  const Value* const versions = json::find(webhook, "conversionReviewVersions");
  if (versions == nullptr || !versions->IsArray()) return false;
  for (const Value& each : versions->GetArray())
    if (json::text(each) == kReviewVersion) return true;
  return false;
}

}  // namespace

InjectionPlan planWebhooks(const Value& configuration, const ServiceName& service, std::string_view ca,
                           Time now, Injection injection) {
  InjectionPlan plan;
  GuardedPatch patch;
  const Value* const webhooks = json::find(configuration, "webhooks");
  if (webhooks == nullptr || !webhooks->IsArray()) return plan;
  const Value* const annotations = json::findObject(json::find(configuration, "metadata"), "annotations");
  const std::string_view mark = json::findText(annotations, kInjectedAnnotation);
  const bool marked = mark == "true";
  const bool foreign = injectedByCertManager(configuration) || mark == "false";
  const bool all = injection == Injection::Everywhere;
  if (!all && (foreign || !(marked || isWithoutCa(*webhooks, service)))) return plan;
  bool isOurs = false;
  for (rapidjson::SizeType i = 0; i < webhooks->Size(); ++i) {
    const Value& entry = (*webhooks)[i];
    const Value* const clientConfig = json::findObject(&entry, "clientConfig");
    if (!same(serviceOf(clientConfig), service)) continue;
    isOurs = !foreign;
    const std::string present = bundleOf(clientConfig);
    const std::string at = fmt::format("/webhooks/{}", i);
    if (foreign) {
      if (!containsCas(present, ca))
        plan.problem = untrusted(fmt::format("the caBundle of {}", json::findText(&entry, "name")));
    } else if (const auto bundle = planBundle(ca, present, now)) {
      patch.test(at + "/name", json::findText(&entry, "name"));
      patch.add(at + "/clientConfig/caBundle", kube::encodeBase64(*bundle));
    }
  }
  if (!marked && (all ? isOurs : !patch.text().empty())) {
    if (annotations == nullptr) {
      // Another program may have added the first annotation meanwhile.
      patch.test("/metadata/resourceVersion",
                 json::findText(json::find(&configuration, "metadata"), "resourceVersion"));
      patch.add("/metadata/annotations", patch.make().object());
    }
    patch.add("/metadata/annotations/" + json::escapePointer(kInjectedAnnotation), "true");
  }
  plan.patch = patch.text();
  return plan;
}

ConversionPlan planConversion(const Value& crd, const Settings& settings, std::string_view ca,
                              ServiceState other, Time now) {
  ConversionPlan plan;
  const Value* const conversion = json::findObject(json::find(&crd, "spec"), "conversion");
  const Value* const webhook = json::findObject(conversion, "webhook");
  const Value* const clientConfig = json::findObject(webhook, "clientConfig");
  if (!json::findText(clientConfig, "url").empty()) return plan;

  const ServiceName named = serviceOf(clientConfig);
  const bool ours = same(named, settings.service);
  if (!ours && !named.service.empty() && !settings.clusterWide) {
    plan.other = named;
    if (other != ServiceState::Gone) return plan;
  }
  const bool foreign = injectedByCertManager(crd);
  // The bundle of another Service contains CAs that are not needed for this Service.
  const std::string present = ours || foreign ? bundleOf(clientConfig) : std::string{};
  std::string bundle = present;
  if (!foreign && !ca.empty()) bundle = planBundle(ca, present, now).value_or(present);
  if (foreign && !ca.empty() && !containsCas(present, ca))
    plan.problem = untrusted(fmt::format("the caBundle of CRD {}", kConvertedCrd));
  if (bundle.empty()) plan.problem = fmt::format("CRD {} has no caBundle", kConvertedCrd);

  const Value* const service = json::findObject(clientConfig, "service");
  const bool complete = ours && json::findText(conversion, "strategy") == "Webhook" &&
                        json::findText(service, "path") == kConvertPath && hasReviewVersion(webhook);
  GuardedPatch patch;
  if (complete && bundle != present) {
    const std::string at = "/spec/conversion/webhook/clientConfig";
    patch.test(at + "/service/name", settings.service.service);
    patch.test(at + "/service/namespace", settings.service.namespaceName);
    patch.add(at + "/caBundle", kube::encodeBase64(bundle));
  } else if (!complete) {
    const json::Maker& make = patch.make();
    const Value* const port = ours ? json::find(service, "port") : nullptr;
    Value target = make.object("service", make.object("name", settings.service.service, "namespace",
                                                      settings.service.namespaceName, "path", kConvertPath));
    Value& newService = *json::find(target, "service");
    if (port != nullptr) {
      make.set(newService, "port", *port);
    } else {
      make.set(newService, "port", kServicePort);
    }
    if (!bundle.empty()) make.set(target, "caBundle", std::string_view{kube::encodeBase64(bundle)});
    const Value stanza = make.object("strategy", "Webhook", "webhook",
                                     make.object("conversionReviewVersions", make.list(kReviewVersion),
                                                 "clientConfig", std::move(target)));
    if (conversion != nullptr) patch.test("/spec/conversion", *conversion);
    patch.add("/spec/conversion", stanza);
  }
  plan.patch = patch.text();
  return plan;
}

}  // namespace dynamo::provisioning
