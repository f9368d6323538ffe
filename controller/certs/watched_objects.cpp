#include "controller/certs/watched_objects.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace dynamo::provisioning {
namespace {

constexpr std::string_view kWriter = "certificates";

const std::vector<k8s::StoredKind>& storedKinds() {
  const k8s::KeptFields webhooks{{"metadata.annotations", "webhooks.name", "webhooks.clientConfig"}};
  static const std::vector<k8s::StoredKind> kinds{
      {"v1", "Secret", {{"data"}}, {}},
      {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", webhooks, {}},
      {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks, {}},
      {"apiextensions.k8s.io/v1",
       "CustomResourceDefinition",
       {{"metadata.annotations", "spec.conversion"}},
       {}},
  };
  return kinds;
}

kube::WatchedSet named(std::string namespaceName, std::string_view name) {
  kube::WatchedSet set;
  set.namespaceName = std::move(namespaceName);
  set.fieldSelector = fmt::format("metadata.name={}", name);
  return set;
}

}  // namespace

WatchedObjects::WatchedObjects(runtime::EventLoop& loop, kube::Client& client, const Settings& settings,
                               std::function<void()> changed)
    : loop_(loop), client_(client), changed_(std::move(changed)), cache_(storedKinds()) {
  cache_.onChange([this](const kube::Change&) { changed_(); });
  // RBAC can restrict list and watch to a resource name only if the request has this field selector.
  add(secrets(), named(settings.service.namespaceName, settings.secretName));
  add(customResourceDefinitions(), named({}, kConvertedCrd));
  kube::WatchedSet labelled;
  labelled.labelSelector = fmt::format("{}={}", kNamespaceLabel, settings.service.namespaceName);
  add(mutatingWebhookConfigurations(), labelled);
  add(validatingWebhookConfigurations(), labelled);
}

void WatchedObjects::add(const kube::Resource& resource, kube::WatchedSet set) {
  // There is one watch per kind, so an object of the kind that is not listed no longer exists.
  kube::Sink sink = cache_.sinkFor(resource, {}, {});
  sink.listEnds = [this, ends = std::move(sink.listEnds)](std::string_view resourceVersion) {
    ends(resourceVersion);
    changed_();
  };
  kube::ListWatch source = kube::listWatchOf(client_, resource, set.namespaceName);
  reflectors_.push_back(
      std::make_unique<kube::Reflector>(loop_, resource, std::move(set), std::move(source), std::move(sink)));
}

void WatchedObjects::start() {
  for (const auto& reflector : reflectors_) loop_.spawn(reflector->run());
}

bool WatchedObjects::synced(const kube::Resource& resource) const {
  for (const auto& reflector : reflectors_)
    if (reflector->resource() == resource) return reflector->synced();
  return false;
}

std::string WatchedObjects::problem() const {
  for (const auto& reflector : reflectors_) {
    if (reflector->synced()) continue;
    const std::string& why = reflector->problem();
    return fmt::format("{} are not listed yet{}{}", reflector->resource().plural, why.empty() ? "" : ": ",
                       why);
  }
  return {};
}

std::optional<json::Document> WatchedObjects::find(const k8s::ObjectKey& key) const {
  auto cached = cache_.find(key);
  if (!cached) return std::nullopt;
  return std::move(cached->object);
}

std::vector<k8s::ObjectKey> WatchedObjects::keysOf(const kube::Resource& resource) const {
  return cache_.keysOfKind(kube::apiVersionOf(resource), resource.kind);
}

void WatchedObjects::received(const json::Value& object) {
  cache_.wrote(object, kWriter);
}

void WatchedObjects::notFound(const k8s::ObjectKey& key) {
  const auto known = find(key);
  if (!known) return;
  cache_.deleted(key, json::findText(json::find(*known, "metadata"), "uid"), kWriter);
}

}  // namespace dynamo::provisioning
