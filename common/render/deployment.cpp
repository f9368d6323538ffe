// Renders the Deployment of a component: without Grove, for one node or if LeaderWorkerSets are not
// available. Quirks pod-Q27, child-Q36, child-Q37.
#include "common/render/workloads.h"

#include <charconv>

#include "common/api/dynamo.h"
#include "common/api/min_ready.h"
#include "common/render/metadata.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

bool isRecreated(const Component& component) {
  const bool restoring = component.checkpoint.enabled && component.checkpoint.ready;
  return restoring ||
         json::findText(component.annotations, api::annotation::kDeploymentStrategy) == "Recreate";
}

/// An IntOrString: "3" becomes a number, "25%" stays a string.
Value intOrString(std::string_view text, const json::Maker& make) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  std::int32_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size();
  return whole ? make.value(number) : make.value(text);
}

Value strategy(const Component& component, const Value& annotations, const json::Maker& make) {
  if (isRecreated(component)) return make.object("type", "Recreate");
  const auto limit = [&](std::string_view key) {
    const std::string_view text = json::findText(&annotations, key);
    return intOrString(text.empty() ? "25%" : text, make);
  };
  return make.object("type", "RollingUpdate", "rollingUpdate",
                     make.object("maxSurge", limit(api::annotation::kMaxSurge), "maxUnavailable",
                                 limit(api::annotation::kMaxUnavailable)));
}

}  // namespace

std::int32_t minReadySeconds(const Component& component, const Context& context, const Value& annotations) {
  // With Recreate no pod waits for another one.
  if (isRecreated(component)) return 0;
  const Value* given = json::find(context.defaults.of(component.type), "minReadySeconds");
  const std::int32_t fallback = given != nullptr && given->IsInt() ? given->GetInt() : 0;
  const std::string_view text = json::findText(&annotations, api::annotation::kMinReadySeconds);
  return text.empty() ? fallback : api::minReadySeconds(text).value_or(fallback);
}

void ensureServiceAccount(const Component& component, const FactsView& facts, Pod& pod,
                          Allocator& allocator) {
  Value& podSpec = pod.spec;
  if (!json::findText(&podSpec, "serviceAccountName").empty()) return;
  if (pod.origins) pod.origins->byOperator(field::Path{"spec.serviceAccountName"});
  const std::string_view labelled = facts.componentAccount(component.namespaceName);
  json::set(podSpec, "serviceAccountName", json::string(labelled.empty() ? "default" : labelled, allocator),
            allocator);
}

void renderDeployment(const Value& owner, const Component& component, const Context& context,
                      Children& children) {
  Allocator& allocator = children.memory();
  const json::Maker make{allocator};
  Pod pod = renderPod(component, Role::Main, context, children.errors, allocator);
  if (!pod.good) return;
  const std::string_view name = nameOf(owner);
  ensureServiceAccount(component, context.facts, pod, allocator);
  Value annotations = componentAnnotations(component, allocator);
  Value templateMetadata = make.object("labels", podLabels(component, name, pod.recorder(), allocator));
  Value templateAnnotations =
      podAnnotations(component, pod, BaseAnnotations::None, pod.recorder(), allocator);
  if (!templateAnnotations.ObjectEmpty())
    make.set(templateMetadata, "annotations", std::move(templateAnnotations));
  Value spec = make.object("selector", make.object("matchLabels", make.object(api::label::kSelector, name)),
                           "strategy", strategy(component, annotations, make), "template",
                           make.object("metadata", std::move(templateMetadata), "spec", std::move(pod.spec)));
  if (const std::int32_t seconds = minReadySeconds(component, context, annotations); seconds > 0)
    make.set(spec, "minReadySeconds", seconds);
  if (const Value* replicas = json::find(component.spec, "replicas")) make.set(spec, "replicas", *replicas);
  Value deployment = makeObject("apps/v1", "Deployment", name, component.namespaceName, allocator);
  setMetadata(deployment, "labels", componentLabels(component, allocator), allocator);
  setMetadata(deployment, "annotations", std::move(annotations), allocator);
  setOwner(deployment, owner, allocator);
  make.set(deployment, "spec", std::move(spec));
  children.add(std::move(deployment), component.key);
  if (pod.origins) children.items.back().origins.push_back(std::move(*pod.origins));
}

}  // namespace dynamo::render
