#include "common/render/checkpoint.h"

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/render/env.h"
#include "common/render/hash.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kSeccompProfile = "profiles/block-iouring.json";

struct PodInfo {
  std::string_view file;
  std::string_view annotation;
  std::string_view variable;
};
constexpr PodInfo kPodInfo[] = {
    {"dyn_namespace", "nvidia.com/dyn-namespace", "DYN_NAMESPACE"},
    {"dyn_component", "nvidia.com/dyn-component", "DYN_COMPONENT"},
    {"dyn_parent_dgd_name", "nvidia.com/dyn-parent-dgd-name", "DYN_PARENT_DGD_K8S_NAME"},
    {"dyn_parent_dgd_namespace", "nvidia.com/dyn-parent-dgd-namespace", "DYN_PARENT_DGD_K8S_NAMESPACE"},
    {"dyn_discovery_backend", "nvidia.com/dyn-discovery-backend", "DYN_DISCOVERY_BACKEND"},
};

void error(const Component& component, std::string detail, Errors& errors) {
  errors.push_back({field::ErrorType::Invalid, component.at("checkpoint").path(), "", std::move(detail),
                    "render.checkpoint"});
}

/// Variables put first, in order, names that the user has set left out (quirk pod-Q3).
void prependEnv(PodDraft& pod, Value&& first, Allocator& allocator) {
  Value& main = pod.main;
  Value all{rapidjson::kArrayType};
  for (Value& variable : first.GetArray()) {
    if (!hasEnv(main, json::findText(&variable, "name"))) all.PushBack(variable, allocator);
  }
  if (pod.origins != nullptr) {
    const field::Path list = pod.mainAt / "env";
    pod.origins->shiftItems(list, all.Size());
    for (rapidjson::SizeType i = 0; i < all.Size(); ++i) pod.origins->byOperator(list[i]);
  }
  for (Value& variable : json::ensureList(main, "env", allocator).GetArray())
    all.PushBack(variable, allocator);
  json::set(main, "env", std::move(all), allocator);
}

void volumeOnce(PodDraft& pod, Value&& volume, Allocator& allocator) {
  const std::string_view name = json::findText(&volume, "name");
  if (json::findNamed(json::find(pod.spec, "volumes"), name) != nullptr) return;
  if (json::findNamed(&pod.volumes, name) == nullptr) pod.addVolume(std::move(volume), allocator);
}

void mountOnce(PodDraft& pod, Value&& mount, Allocator& allocator) {
  const std::string_view name = json::findText(&mount, "name");
  if (json::findNamed(json::find(pod.main, "volumeMounts"), name) == nullptr) {
    pod.addMount(std::move(mount), allocator);
  }
}

}  // namespace

CheckpointUse resolveCheckpoint(const Value& spec, std::string_view namespaceName, const FactsView& facts) {
  CheckpointUse use;
  const Value* given = json::findObject(&spec, "checkpoint");
  if (!json::findBool(given, "enabled").value_or(false)) return use;
  use.enabled = true;
  const std::string_view reference = json::findText(given, "checkpointRef");
  if (reference.empty()) {
    const Value* identity = json::findObject(given, "identity");
    if (identity == nullptr) return use;
    use.hash = identityHash(*identity);
  }
  const CheckpointFact* fact = reference.empty() ? facts.checkpointWithHash(namespaceName, use.hash)
                                                 : facts.checkpointNamed(namespaceName, reference);
  if (fact == nullptr) return use;
  use.name = fact->name;
  use.ready = fact->ready;
  if (!reference.empty()) use.hash = fact->hash;
  return use;
}

Value podInfoVolume(Allocator& allocator) {
  const json::Maker make{allocator};
  Value items = make.list();
  const auto add = [&](std::string_view file, std::string_view field) {
    make.push(items, make.object("path", file, "fieldRef", make.object("fieldPath", field)));
  };
  add("pod_name", "metadata.name");
  add("pod_uid", "metadata.uid");
  add("pod_namespace", "metadata.namespace");
  for (const PodInfo& info : kPodInfo) {
    add(info.file, "metadata.annotations['" + std::string{info.annotation} + "']");
  }
  return make.object("name", api::kPodInfoVolume, "downwardAPI", make.object("items", std::move(items)));
}

Value podInfoMount(Allocator& allocator) {
  const json::Maker make{allocator};
  return make.object("name", api::kPodInfoVolume, "mountPath", api::kPodInfoPath, "readOnly", true);
}

bool mountOnce(Value& container, Value&& mount, Allocator& allocator) {
  Value& mounts = json::ensureList(container, "volumeMounts", allocator);
  if (json::findNamed(&mounts, json::findText(&mount, "name")) != nullptr) return false;
  mounts.PushBack(mount, allocator);
  return true;
}

std::string checkpointLocation(const config::CheckpointConfig& storage, std::string_view hash) {
  if (storage.storageType == "s3") return storage.s3.uri + '/' + std::string{hash} + ".tar";
  if (storage.storageType == "oci") return storage.oci.uri + ':' + std::string{hash};
  return storage.pvcBasePath + '/' + std::string{hash};
}

void setSeccompProfile(Value& podSpec, Allocator& allocator) {
  const json::Maker make{allocator};
  make.set(json::ensureObject(podSpec, "securityContext", allocator), "seccompProfile",
           make.object("type", "Localhost", "localhostProfile", kSeccompProfile));
}

void addPodInfoAnnotations(const Value& main, const field::Path& mainAt, Value& annotations, Origins* origins,
                           Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* env = json::find(main, "env");
  for (const PodInfo& info : kPodInfo) {
    const Value* variable = json::findNamed(env, info.variable);
    const Value* value = json::find(variable, "value");
    if (value == nullptr) continue;
    make.set(annotations, info.annotation, *value);
    if (origins == nullptr) continue;
    const auto index = static_cast<std::size_t>(variable - env->Begin());
    origins->copy(field::Path{"metadata.annotations"}.key(info.annotation),
                  (mainAt / "env")[index] / "value");
  }
}

void injectCheckpoint(const Component& component, const Context& context, PodDraft& pod, Errors& errors,
                      Allocator& allocator) {
  const CheckpointUse& use = component.checkpoint;
  if (!use.enabled) return;
  const config::CheckpointConfig& storage = context.config.checkpoint;
  const json::Maker make{allocator};
  if (!storage.enabled)
    return error(component, "checkpointing is disabled in the operator configuration", errors);
  const Value* given = json::findObject(&component.spec, "checkpoint");
  if (json::findText(given, "checkpointRef").empty() && json::findObject(given, "identity") == nullptr) {
    return error(component, "must have a checkpointRef or an identity", errors);
  }
  if (use.ready) {
    pod.setOfMain("command", make.list("sleep", "infinity"), allocator);
    json::remove(pod.main, "args");
  }
  setSeccompProfile(pod.spec, allocator);
  if (pod.origins != nullptr) pod.origins->byOperator(kSeccompField);
  Value env = make.list();
  if (storage.storageType == "s3" || storage.storageType == "oci") {
    const std::string& uri = storage.storageType == "s3" ? storage.s3.uri : storage.oci.uri;
    if (uri.empty()) return error(component, "the operator configuration has no URI for checkpoints", errors);
    make.push(env,
              make.object("name", "DYN_CHECKPOINT_LOCATION", "value", checkpointLocation(storage, use.hash)));
  } else {
    if (storage.pvcName.empty() || storage.pvcBasePath.empty()) {
      return error(component, "the operator configuration has no claim or no path for checkpoints", errors);
    }
    volumeOnce(pod,
               make.object("name", api::kCheckpointVolume, "persistentVolumeClaim",
                           make.object("claimName", storage.pvcName)),
               allocator);
    mountOnce(pod, make.object("name", api::kCheckpointVolume, "mountPath", storage.pvcBasePath), allocator);
    make.push(env, make.object("name", "DYN_CHECKPOINT_PATH", "value", storage.pvcBasePath));
  }
  make.push(env, make.object("name", "DYN_CHECKPOINT_HASH", "value", use.hash));
  volumeOnce(pod, podInfoVolume(allocator), allocator);
  mountOnce(pod, podInfoMount(allocator), allocator);
  prependEnv(pod, std::move(env), allocator);
}

}  // namespace dynamo::render
