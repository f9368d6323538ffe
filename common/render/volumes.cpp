#include "common/render/volumes.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/k8s/mounts.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

bool hasVolume(const PodDraft& pod, std::string_view name) {
  return json::findNamed(json::find(pod.spec, "volumes"), name) != nullptr ||
         json::findNamed(&pod.volumes, name) != nullptr;
}

bool isMounted(const Component& component, const PodDraft& pod, std::string_view volume) {
  return k8s::mountsVolume(&pod.main, volume) || k8s::podMountsVolume(&pod.spec, volume) ||
         k8s::podMountsVolume(component.podSpec(), volume);
}

/// The path of `mount`; empty when it has none, with the error told.
std::string_view mountPathOf(const Component& component, const Value& mount, const field::At& at,
                             Errors& errors) {
  const std::string_view given = json::findText(&mount, "mountPoint");
  if (!given.empty()) return given;
  const bool cache = json::findBool(&mount, "useAsCompilationCache").value_or(false);
  if (cache && component.framework.name == model::kVllm) return api::kVllmCachePath;
  errors.push_back(
      {field::ErrorType::Required, (at / "mountPoint").path(), "",
       cache ? "only vllm has a default path for its compilation cache" : "where to mount the claim",
       "render.mount-point"});
  return {};
}

void addClaims(const Component& component, PodDraft& pod, Errors& errors, Allocator& allocator) {
  const Value* mounts = json::find(component.spec, "volumeMounts");
  if (mounts == nullptr || !mounts->IsArray()) return;
  const json::Maker make{allocator};
  std::set<std::string, std::less<>> present;
  for (const Value& volume : pod.volumes.GetArray()) present.emplace(json::findText(&volume, "name"));
  const field::At mountsAt = component.at("volumeMounts");
  for (rapidjson::SizeType i = 0; i < mounts->Size(); ++i) {
    const field::At at = mountsAt[i];
    const std::string_view name = json::findText(&(*mounts)[i], "name");
    if (name.empty()) {
      errors.push_back(
          {field::ErrorType::Required, (at / "name").path(), "", "the name of a claim", "render.mount-name"});
      continue;
    }
    const std::string_view mountPath = mountPathOf(component, (*mounts)[i], at, errors);
    if (mountPath.empty()) continue;
    if (present.emplace(name).second) {
      make.push(pod.volumes,
                make.object("name", name, "persistentVolumeClaim", make.object("claimName", name)));
    }
    json::ensureList(pod.main, "volumeMounts", allocator)
        .PushBack(make.object("name", name, "mountPath", mountPath), allocator);
  }
}

void addSharedMemory(const Component& component, const model::Completion& completion, PodDraft& pod,
                     Allocator& allocator) {
  const Value* given = json::findObject(&component.spec, "sharedMemory");
  if (given == nullptr && completion.sharedMemory.empty()) return;
  if (json::findBool(given, "disabled").value_or(false)) return;
  const Value* size = json::find(given, "size");
  for (const model::Unit& unit : completion.sharedMemory) {
    if (unit.name == "disabled") return;
    size = &unit.value;
  }
  const bool taken = k8s::mountsAt(json::find(pod.main, "volumeMounts"), "mountPath", api::kSharedMemoryPath);
  if (taken && !isMounted(component, pod, api::kSharedMemory)) return;
  const json::Maker make{allocator};
  if (!hasVolume(pod, api::kSharedMemory)) {
    Value source = make.object("medium", "Memory");
    if (size != nullptr) make.set(source, "sizeLimit", *size);
    make.push(pod.volumes, make.object("name", api::kSharedMemory, "emptyDir", std::move(source)));
  }
  if (taken) return;
  json::ensureList(pod.main, "volumeMounts", allocator)
      .PushBack(make.object("name", api::kSharedMemory, "mountPath", api::kSharedMemoryPath), allocator);
}

}  // namespace

void addVolumes(const Component& component, const model::Completion& completion, PodDraft& pod,
                Errors& errors, Allocator& allocator) {
  addClaims(component, pod, errors, allocator);
  addSharedMemory(component, completion, pod, allocator);
}

}  // namespace dynamo::render
