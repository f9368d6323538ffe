#include "common/lifecycle/worker_hash.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "common/model/claim_mounts.h"
#include "common/model/completion.h"
#include "common/model/graph.h"
#include "common/model/names.h"
#include "common/render/hash.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// `spec` with the defaults of pods; its variables are merged and sorted.
Value completed(const Value& spec, const model::CompletionInput& input, json::Allocator& allocator) {
  Value made{rapidjson::kObjectType};
  for (const auto& member : spec.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (name != "extraPodSpec" && name != "envs") {
      json::set(made, name, json::copy(member.value, allocator), allocator);
    }
  }
  model::Completion completion = model::complete(spec, input, allocator);
  for (model::Unit& unit : completion.sharedMemory) {
    json::set(json::ensureObject(made, "sharedMemory", allocator), unit.name, std::move(unit.value),
              allocator);
  }
  Value pod = model::completedPodSpec(spec, completion, allocator);
  json::set(pod, "mainContainer",
            model::completedContainer(spec, json::find(spec, "envs"), completion, allocator), allocator);
  if (const Value* containers = json::find(json::findObject(&spec, "extraPodSpec"), "containers")) {
    json::set(pod, "containers", json::copy(*containers, allocator), allocator);
  }
  json::set(made, "extraPodSpec", std::move(pod), allocator);
  return made;
}

/// Whether pods of the rendered worker `worker` are the same with its spec `desired` and with `live`.
bool haveSamePods(const Value& worker, const Value& desired, const Value& live,
                  const render::Context& context) {
  if (model::samePodFields(desired, live)) return true;
  json::Allocator allocator;
  const model::ResolvedGraph graph = model::resolveGraph(worker);
  const model::Component component =
      model::resolveComponent(graph, desired, field::Path{"spec"}, json::findText(&desired, "serviceName"),
                              context.config.discoveryBackend);
  const model::CompletionInput input = model::completionInput(component, context.defaults, context.config);
  return model::samePodFields(completed(desired, input, allocator), completed(live, input, allocator));
}

/// Whether a live worker of the generation `hash` equals the rendered worker `desired`.
bool isRunning(const Value& desired, const Value& graph, std::string_view hash,
               std::span<const Value* const> components, const render::Context& context) {
  const Value* spec = specOf(desired);
  return std::any_of(components.begin(), components.end(), [&](const Value* live) {
    const Value* own = specOf(*live);
    return own != nullptr && !isBeingDeleted(*live) && isControlledBy(*live, graph) &&
           generationHash(*live) == hash &&
           json::findText(own, "serviceName") == json::findText(spec, "serviceName") &&
           haveSamePods(desired, *spec, *own, context);
  });
}

}  // namespace

std::string_view generationHash(const Value& component) {
  constexpr std::size_t kHashLength = 8;
  const auto owners = ownersOf(component);
  const std::string_view name = nameOf(component);
  for (const Value& owner : owners) {
    if (json::findText(&owner, "kind") != api::kDynamoGraphDeployment) continue;
    const std::string base = model::componentName(json::findText(&owner, "name"),
                                                  json::findText(specOf(component), "serviceName")) +
                             "-";
    if (name.size() != base.size() + kHashLength || !name.starts_with(base)) continue;
    const std::string_view hash = name.substr(base.size());
    if (hash.find_first_not_of("0123456789abcdef") == std::string_view::npos) return hash;
  }
  return labelOf(component, api::label::kWorkerHash);
}

bool isWorkerComponent(const Value& component) {
  return api::isWorkerType(json::findText(specOf(component), "componentType")) ||
         !generationHash(component).empty();
}

std::string effectiveWorkerHash(const Value& graph, std::string_view computed,
                                const std::vector<render::Child>& rendered,
                                std::span<const Value* const> components, const render::Context& context) {
  const std::string_view current = json::findText(annotationsOf(graph), api::annotation::kCurrentWorkerHash);
  // Workers without hashes are replaced, because their names have none.
  if (current.empty() || current == computed || current == kLegacyHash) return std::string{computed};
  bool any = false;
  for (const render::Child& child : rendered) {
    if (json::findText(&child.object, "kind") != api::kDynamoComponentDeployment) continue;
    if (labelOf(child.object, api::label::kWorkerHash).empty()) continue;
    any = true;
    if (!isRunning(child.object, graph, current, components, context)) return std::string{computed};
  }
  return std::string{any ? current : computed};
}

DesiredWorkers desiredWorkers(const Value& graph, const render::Context& context,
                              std::span<const Value* const> components, std::optional<std::string_view> known,
                              json::Allocator& allocator) {
  DesiredWorkers desired{render::workerHash(defaults::intent(graph, allocator))};
  const std::string_view annotation =
      json::findText(annotationsOf(graph), api::annotation::kCurrentWorkerHash);
  if (annotation.empty() || annotation == desired.hash || (known && *known != annotation)) return desired;
  // Workers of another hash are compared with a rendering under that hash.
  render::LifecycleInputs inputs;
  inputs.workerHash = annotation;
  render::Context online{context};
  online.online = true;
  desired.rendered = render::renderGraph(graph, online, inputs);
  desired.hash = effectiveWorkerHash(graph, desired.hash, desired.rendered->items, components, online);
  return desired;
}

}  // namespace dynamo::lifecycle
