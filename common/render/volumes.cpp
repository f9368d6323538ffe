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

const field::Path kSharedMemory{"sharedMemory"};

field::Path mountField(std::size_t index, std::string_view member) {
  return field::Path{"volumeMounts"}[index] / member;
}

bool hasVolume(const PodDraft& pod, std::string_view name) {
  return json::findNamed(json::find(pod.spec, "volumes"), name) != nullptr ||
         json::findNamed(&pod.volumes, name) != nullptr;
}

bool isMounted(const Component& component, const PodDraft& pod, std::string_view volume) {
  return k8s::mountsVolume(&pod.main, volume) || k8s::podMountsVolume(&pod.spec, volume) ||
         k8s::podMountsVolume(component.podSpec(), volume);
}

/// The path of `mount`. Empty if there is none, which is added to `errors`.
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
    Origins* origins = pod.origins;
    if (present.emplace(name).second) {
      if (origins != nullptr) {
        const field::Path volume = pod.nextVolume();
        origins->made(volume, mountField(i, "name"));
        for (const field::Members member : {field::Members{"name"}, {"persistentVolumeClaim.claimName"}}) {
          origins->user(volume / member, mountField(i, "name"));
        }
      }
      make.push(pod.volumes,
                make.object("name", name, "persistentVolumeClaim", make.object("claimName", name)));
    }
    if (origins != nullptr) {
      const field::Path mounted = pod.nextOfMain("volumeMounts");
      origins->made(mounted, mountField(i, "name"));
      origins->user(mounted / "name", mountField(i, "name"));
      const bool given = !json::findText(&(*mounts)[i], "mountPoint").empty();
      origins->set(mounted / "mountPath",
                   {given ? Origin::Source::User : Origin::Source::Default, mountField(i, "mountPoint")});
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
  Origin::Source sizedBy = Origin::Source::User;
  for (const model::Unit& unit : completion.sharedMemory) {
    if (unit.name == "disabled") return;
    size = &unit.value;
    sizedBy = Origin::Source::Default;
  }
  const bool taken = k8s::mountsAt(json::find(pod.main, "volumeMounts"), "mountPath", api::kSharedMemoryPath);
  if (taken && !isMounted(component, pod, api::kSharedMemory)) return;
  const json::Maker make{allocator};
  if (!hasVolume(pod, api::kSharedMemory)) {
    if (pod.origins != nullptr) {
      const field::Path volume = pod.nextVolume();
      pod.origins->byOperator(volume, kSharedMemory);
      pod.origins->set(volume / "emptyDir.sizeLimit", {sizedBy, kSharedMemory / "size"});
    }
    Value source = make.object("medium", "Memory");
    if (size != nullptr) make.set(source, "sizeLimit", *size);
    make.push(pod.volumes, make.object("name", api::kSharedMemory, "emptyDir", std::move(source)));
  }
  if (taken) return;
  if (pod.origins != nullptr) pod.origins->byOperator(pod.nextOfMain("volumeMounts"), kSharedMemory);
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
