#include "common/render/pod.h"

#include "common/api/dynamo.h"
#include "common/defaults/epp.h"
#include "common/json/build.h"
#include "common/render/backend.h"
#include "common/render/checkpoint.h"
#include "common/render/container.h"
#include "common/render/env.h"
#include "common/render/go_types.h"
#include "common/render/pull_secrets.h"
#include "common/render/volumes.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

/// Step 14 to 17: the type's pod, the user's laid over it, security context, service account.
Value basePod(const Component& component, const Context& context, Allocator& allocator) {
  const Value* page = json::findObject(&context.defaults.of(component.type()), "podSpec");
  Value spec = page == nullptr ? Value{rapidjson::kObjectType} : json::copy(*page, allocator);
  defaults::fillAll(spec, placeholdersOf(component, component.type()), allocator);
  if (component.type() == api::kEpp) {
    Value volumes{rapidjson::kArrayType};
    volumes.PushBack(defaults::eppConfigVolume(component.spec, component.graph, allocator), allocator);
    for (Value& volume : json::ensureList(spec, "volumes", allocator).GetArray())
      volumes.PushBack(volume, allocator);
    json::set(spec, "volumes", std::move(volumes), allocator);
  }
  const Value* user = component.podSpec();
  for (rapidjson::SizeType i = 0; user != nullptr && i < user->MemberCount(); ++i) {
    const auto& member = user->MemberBegin()[i];
    const std::string_view name = json::text(member.name);
    const Value& given = member.value;
    if (given.IsNull() || name == "mainContainer" || name == "containers") continue;
    const Value* fallback = json::find(spec, name);
    if (json::isEmpty(given) && !given.IsObject()) continue;
    if (json::isEmpty(given) && fallback != nullptr && name != "securityContext") continue;
    Value laid = json::copy(given, allocator);
    if (name == "volumes" && given.IsArray() && fallback != nullptr) {
      for (const Value& volume : fallback->GetArray()) {
        if (json::findNamed(&given, json::findText(&volume, "name")) == nullptr) {
          laid.PushBack(json::copy(volume, allocator), allocator);
        }
      }
    }
    json::set(spec, name, std::move(laid), allocator);
  }
  if (component.discovery == "kubernetes" && json::findText(&spec, "serviceAccountName").empty()) {
    json::set(spec, "serviceAccountName",
              json::string(component.graph + std::string{api::kDiscoveryAccountSuffix}, allocator),
              allocator);
  }
  return spec;
}

void moveVolumes(PodDraft& pod, Allocator& allocator) {
  if (pod.volumes.Empty()) return;
  Value& volumes = json::ensureList(pod.spec, "volumes", allocator);
  for (Value& volume : pod.volumes.GetArray()) volumes.PushBack(volume, allocator);
}

void updateForBackend(const Component& component, Role role, const Context& context, PodDraft& pod,
                      Errors& errors, Allocator& allocator) {
  const std::string& framework = component.framework.name;
  if (framework == kVllm) updateForVllm(component, role, pod, allocator);
  if (framework == kSglang) updateForSglang(component, role, pod, allocator);
  if (framework == kTrtllm) updateForTrtllm(component, role, context, pod, errors, allocator);
}

}  // namespace

Pod renderPod(const Component& component, Role role, const Context& context, Errors& errors,
              Allocator& allocator) {
  const std::size_t before = errors.size();
  PodDraft draft;
  draft.main = mainContainer(component, context, errors, allocator);
  draft.spec = basePod(component, context, allocator);
  addVolumes(component, context, draft, errors, allocator);
  updateForBackend(component, role, context, draft, errors, allocator);
  if (role != Role::Checkpoint) injectCheckpoint(component, context, draft, errors, allocator);
  moveVolumes(draft, allocator);
  addPullSecrets(component, json::findText(component.mainContainer(), "image"), context.facts, draft.spec,
                 allocator);

  Pod pod;
  Value containers{rapidjson::kArrayType};
  if (const Value* own = json::find(component.podSpec(), "containers"); own != nullptr && own->IsArray()) {
    containers = json::copy(*own, allocator);
  }
  pod.main = containers.Size();
  containers.PushBack(draft.main, allocator);
  if (const Value* sidecar = json::findObject(&component.spec, "frontendSidecar")) {
    containers.PushBack(frontendSidecar(component, *sidecar, context, allocator), allocator);
    addPullSecrets(component, json::findText(sidecar, "image"), context.facts, draft.spec, allocator);
  }
  json::set(draft.spec, "containers", std::move(containers), allocator);
  normalize(draft.spec, "PodSpec", allocator);
  pod.spec = std::move(draft.spec);
  pod.good = errors.size() == before;
  return pod;
}

}  // namespace dynamo::render
