#include "common/render/pod.h"

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

void moveVolumes(PodDraft& pod, Allocator& allocator) {
  if (pod.volumes.Empty()) return;
  Value& volumes = json::ensureList(pod.spec, "volumes", allocator);
  for (Value& volume : pod.volumes.GetArray()) volumes.PushBack(volume, allocator);
}

void updateForBackend(const Component& component, Role role, const Context& context, PodDraft& pod,
                      Errors& errors, Allocator& allocator) {
  const std::string& framework = component.framework.name;
  if (framework == model::kVllm) updateForVllm(component, role, pod, allocator);
  if (framework == model::kSglang) updateForSglang(component, role, pod, allocator);
  if (framework == model::kTrtllm) updateForTrtllm(component, role, context, pod, errors, allocator);
}

}  // namespace

Pod renderPod(const Component& component, Role role, const Context& context, Errors& errors,
              Allocator& allocator) {
  const std::size_t before = errors.size();
  PodDraft draft;
  model::Completion completion = complete(component, context, allocator);
  draft.main = mainContainer(component, completion, errors, allocator);
  draft.spec = model::completedPodSpec(component.spec, completion, allocator);
  addVolumes(component, completion, draft, errors, allocator);
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
