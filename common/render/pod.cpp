#include "common/render/pod.h"

#include <algorithm>
#include <utility>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/model/completion.h"
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

const field::Path kSpecAt{"spec"};

/// Behind the user's own containers.
field::Path mainContainerAt(const Component& component) {
  const Value* own = json::find(component.podSpec(), "containers");
  return (kSpecAt / "containers")[own != nullptr && own->IsArray() ? own->Size() : 0];
}

rapidjson::SizeType sizeOf(const Value& object, std::string_view list) {
  const Value* value = json::find(object, list);
  return value != nullptr && value->IsArray() ? value->Size() : 0;
}

void moveVolumes(PodDraft& pod, Allocator& allocator) {
  if (pod.volumes.Empty()) return;
  Value& volumes = json::ensureList(pod.spec, "volumes", allocator);
  for (Value& volume : pod.volumes.GetArray()) volumes.PushBack(volume, allocator);
}

constexpr std::string_view kCommandLine[] = {"command", "args"};

/// Backends rewrite the command line in many ways. An item that differs from the one in its place in
/// `before`, the main container without them, is made of that one if it holds its text, else of the list.
void recordCommandLine(const Value& before, const PodDraft& pod) {
  const field::Path main{"extraPodSpec.mainContainer"};
  const auto isUsers = [&](std::string_view name) {
    return json::find(before, name) != nullptr &&
           pod.origins->of(pod.mainAt / name).source == Origin::Source::User;
  };
  const bool made = std::any_of(std::begin(kCommandLine), std::end(kCommandLine), isUsers);
  for (const std::string_view name : kCommandLine) {
    const Value* was = json::find(before, name);
    const Value* now = json::find(pod.main, name);
    if (now == nullptr || !now->IsArray() || json::equal(was, now)) continue;
    const field::Path list = pod.mainAt / name;
    const Origins known = *pod.origins;
    const field::Path whole = isUsers(name) ? main / name : main;
    pod.origins->set(list, made ? Origin{Origin::Source::Made, whole} : Origin{Origin::Source::Operator, {}});
    const std::size_t count = was != nullptr && was->IsArray() ? std::min(was->Size(), now->Size()) : 0;
    for (rapidjson::SizeType i = 0; i < count; ++i) {
      Origin origin = known.own(list[i]);
      if ((*was)[i] != (*now)[i]) {
        const bool held = json::text((*now)[i]).find(json::text((*was)[i])) != std::string_view::npos;
        const bool users = known.of(list[i]).source == Origin::Source::User;
        if (!held || !users || was->Size() != now->Size()) continue;
        origin.source = Origin::Source::Made;
      }
      pod.origins->set(list[i], std::move(origin));
    }
  }
}

void updateForBackend(const Component& component, Role role, const Context& context, PodDraft& pod,
                      Errors& errors, Allocator& allocator) {
  const Value before = pod.origins != nullptr ? json::copy(pod.main, allocator) : Value{};
  const std::string& framework = component.framework.name;
  if (framework == model::kVllm) updateForVllm(component, role, pod, allocator);
  if (framework == model::kSglang) updateForSglang(component, role, pod, allocator);
  if (framework == model::kTrtllm) updateForTrtllm(component, role, context, pod, errors, allocator);
  if (pod.origins != nullptr) recordCommandLine(before, pod);
}

}  // namespace

field::Path PodDraft::nextVolume() const {
  return (kSpecAt / "volumes")[sizeOf(spec, "volumes") + volumes.Size()];
}

field::Path PodDraft::nextOfMain(std::string_view name) const {
  return (mainAt / name)[sizeOf(main, name)];
}

void PodDraft::addVolume(Value&& volume, Allocator& allocator) {
  if (origins != nullptr) origins->byOperator(nextVolume());
  volumes.PushBack(volume, allocator);
}

void PodDraft::addMount(Value&& mount, Allocator& allocator) {
  if (origins != nullptr) origins->byOperator(nextOfMain("volumeMounts"));
  json::ensureList(main, "volumeMounts", allocator).PushBack(mount, allocator);
}

void PodDraft::addEnv(Value&& variable, Allocator& allocator) {
  if (!appendEnv(main, std::move(variable), allocator) || origins == nullptr) return;
  origins->byOperator((mainAt / "env")[sizeOf(main, "env") - 1]);
}

void PodDraft::setOfMain(std::string_view name, Value&& value, Allocator& allocator) {
  if (origins != nullptr) origins->byOperator(mainAt / name);
  json::set(main, name, std::move(value), allocator);
}

/// Decision pod-Q42. A container that is checkpointed, or waits for a restore, serves no requests.
void dropDefaultPreStop(const Component& component, const Context& context, Value& main) {
  Value* lifecycle = json::find(main, "lifecycle");
  const Value* page = json::find(context.defaults.of(component.type), "preStop");
  if (lifecycle == nullptr || !lifecycle->IsObject() || page == nullptr) return;
  if (!json::equal(json::find(lifecycle, "preStop"), page)) return;
  json::remove(*lifecycle, "preStop");
  if (lifecycle->ObjectEmpty()) json::remove(main, "lifecycle");
}

Pod renderPod(const Component& component, Role role, const Context& context, Errors& errors,
              Allocator& allocator) {
  const std::size_t before = errors.size();
  Pod pod;
  PodDraft draft;
  if (component.origins != nullptr) {
    pod.origins.emplace(component.origins);
    pod.origins->byOperator({});
    draft.origins = pod.recorder();
    draft.mainAt = mainContainerAt(component);
  }
  model::Completion completion = complete(component, context, allocator);
  draft.spec = model::completedPodSpec(component.spec, completion, allocator, {draft.origins, kSpecAt});
  draft.main = mainContainer(component, completion, errors, allocator, {draft.origins, draft.mainAt});
  if (role == Role::Checkpoint || (component.checkpoint.enabled && component.checkpoint.ready))
    dropDefaultPreStop(component, context, draft.main);
  addVolumes(component, completion, draft, errors, allocator);
  updateForBackend(component, role, context, draft, errors, allocator);
  if (role != Role::Checkpoint) injectCheckpoint(component, context, draft, errors, allocator);
  moveVolumes(draft, allocator);
  addPullSecrets(component, json::findText(component.mainContainer(), "image"), context.facts, draft.spec,
                 draft.origins, allocator);

  Value containers{rapidjson::kArrayType};
  if (const Value* own = json::find(component.podSpec(), "containers"); own != nullptr && own->IsArray()) {
    containers = json::copy(*own, allocator);
  }
  pod.main = containers.Size();
  containers.PushBack(draft.main, allocator);
  if (const Value* sidecar = json::findObject(&component.spec, "frontendSidecar")) {
    model::Recording recording{draft.origins};
    if (recording.origins != nullptr) recording.at = (kSpecAt / "containers")[containers.Size()];
    containers.PushBack(frontendSidecar(component, *sidecar, context, recording, allocator), allocator);
    addPullSecrets(component, json::findText(sidecar, "image"), context.facts, draft.spec, draft.origins,
                   allocator);
  }
  json::set(draft.spec, "containers", std::move(containers), allocator);
  normalize(draft.spec, "PodSpec", allocator);
  pod.spec = std::move(draft.spec);
  pod.good = errors.size() == before;
  return pod;
}

}  // namespace dynamo::render
