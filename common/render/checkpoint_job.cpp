#include "common/render/checkpoint_job.h"

#include <fmt/format.h>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/model/names.h"
#include "common/render/checkpoint.h"
#include "common/render/env.h"
#include "common/render/hash.h"
#include "common/render/object.h"
#include "common/render/pod.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr int kActiveDeadlineSeconds = 3600;
constexpr int kBackoffLimit = 3;
constexpr int kTtlSecondsAfterFinished = 300;

/// The container to checkpoint: the container named main, else the first; nullptr if there are no containers.
Value* mainOf(Value& podSpec) {
  Value* containers = json::find(podSpec, "containers");
  if (containers == nullptr || !containers->IsArray() || containers->Empty()) return nullptr;
  Value* main = json::findNamed(containers, api::kMainContainer);
  return main != nullptr ? main : containers->Begin();
}

const field::Path kGiven{"spec.job.podTemplateSpec"};
/// As pods of components have it by default.
constexpr int kFsGroup = 1000;
const field::Path kFsGroupField{"spec.securityContext.fsGroup"};

/// Records that the last item of the list at `at` was appended: what is wrong with it is told at the list.
void recordAppended(const Value* list, const field::Path& at, Origins* origins) {
  if (origins != nullptr) origins->byOperator(at[list->Size() - 1], kGiven / at);
}

/// Records that the operator has put its own in the user's place.
void recordReplaced(const field::Path& at, Origins& origins) {
  origins.byOperator(at, kGiven / at);
}

void volumeOnce(Value& podSpec, Value&& volume, Origins* origins, Allocator& allocator) {
  Value& volumes = json::ensureList(podSpec, "volumes", allocator);
  if (json::findNamed(&volumes, json::findText(&volume, "name")) != nullptr) return;
  volumes.PushBack(volume, allocator);
  recordAppended(&volumes, field::Path{"spec.volumes"}, origins);
}

/// `mainAt`: where `main` stands in the pod template.
void prepareContainer(Value& main, const field::Path& mainAt, Value& podSpec, std::string_view hash,
                      const config::CheckpointConfig& storage, Origins* origins, const json::Maker& make) {
  Allocator& allocator = make.allocator();
  const auto appended = [&](std::string_view list) {
    recordAppended(json::find(&main, list), mainAt / list, origins);
  };
  const auto env = [&](std::string_view name, std::string_view value) {
    if (appendEnv(main, make.object("name", name, "value", value), allocator)) appended("env");
  };
  const auto mount = [&](Value&& made) {
    if (mountOnce(main, std::move(made), allocator)) appended("volumeMounts");
  };
  env("DYN_READY_FOR_CHECKPOINT_FILE", storage.readyForCheckpointFilePath);
  env("DYN_CHECKPOINT_HASH", hash);
  env("DYN_CHECKPOINT_LOCATION", checkpointLocation(storage, hash));
  env("DYN_CHECKPOINT_STORAGE_TYPE", storage.storageType);
  const bool claim = storage.storageType != "s3" && storage.storageType != "oci" && !storage.pvcName.empty();
  if (claim) {
    volumeOnce(podSpec,
               make.object("name", api::kCheckpointVolume, "persistentVolumeClaim",
                           make.object("claimName", storage.pvcName)),
               origins, allocator);
    mount(make.object("name", api::kCheckpointVolume, "mountPath", storage.pvcBasePath));
  }
  volumeOnce(podSpec, podInfoVolume(allocator), origins, allocator);
  mount(podInfoMount(allocator));
  make.set(main, "readinessProbe",
           make.object("exec", make.object("command", make.list("cat", storage.readyForCheckpointFilePath)),
                       "initialDelaySeconds", 15, "periodSeconds", 2));
  if (origins != nullptr) recordReplaced(mainAt / "readinessProbe", *origins);
  json::remove(main, "livenessProbe");
  json::remove(main, "startupProbe");
}

}  // namespace

void renderAutoCheckpoint(const Component& component, const Context& context, Children& children) {
  Allocator& allocator = children.memory();
  const CheckpointUse& use = component.checkpoint;
  const Value* given = json::findObject(&component.spec, "checkpoint");
  const Value* identity = json::findObject(given, "identity");
  const std::string_view mode = json::findText(given, "mode");
  if (!use.enabled || !use.name.empty() || identity == nullptr ||
      !json::findText(given, "checkpointRef").empty() || (!mode.empty() && mode != "Auto") ||
      !context.config.checkpoint.enabled) {
    return;
  }
  // Services with the same identity share one checkpoint, which is rendered for the first of them.
  for (const Child& child : children.items) {
    if (child.key.kind == api::kDynamoCheckpoint && child.key.name == use.hash) return;
  }
  const json::Maker make{allocator};
  Component alone = component;
  alone.checkpoint = {};
  alone.framework = {std::string{json::findText(identity, "backendFramework")}, {}};
  alone.nodes = 1;
  alone.hosts.nodes = 1;
  Pod pod = renderPod(alone, Role::Checkpoint, context, children.errors, allocator);
  if (!pod.good) return;
  make.set((*json::find(pod.spec, "containers"))[pod.main], "name", api::kMainContainer);
  make.set(pod.spec, "restartPolicy", "Never");
  Value object =
      makeObject(api::kV1alpha1, api::kDynamoCheckpoint, use.hash, component.namespaceName, allocator);
  setMetadata(object, "labels",
              make.object(api::label::kGraph, component.graph, api::label::kComponent, component.key,
                          api::label::kCheckpointHash, use.hash),
              allocator);
  Value podTemplate = make.object("metadata",
                                  make.object("labels", make.object(api::label::kComponent, component.key,
                                                                    api::label::kGraph, component.graph)),
                                  "spec", std::move(pod.spec));
  make.set(object, "spec",
           make.object("identity", *identity, "job", make.object("podTemplateSpec", std::move(podTemplate))));
  children.add(std::move(object), component.key);
}

Children renderCheckpoint(const Value& checkpoint, const Context& context) {
  Children children;
  if (!canOwn(checkpoint, context, kUidField, children.errors)) return children;
  Allocator& allocator = children.memory();
  const json::Maker make{allocator};
  const Value* spec = specOf(checkpoint);
  const Value* job = json::findObject(spec, "job");
  const Value* given = json::findObject(job, "podTemplateSpec");
  const std::string hash = checkpointHash(checkpoint);

  Value pod = make.object();
  layOver(pod, json::findObject(given, "spec"), allocator);
  Value* main = mainOf(pod);
  if (main == nullptr) {
    children.errors.push_back({field::ErrorType::Required,
                               field::Path{"spec.job.podTemplateSpec.spec.containers"}, "",
                               "at least one container", "render.checkpoint-container"});
    return children;
  }
  const auto index = static_cast<std::size_t>(main - json::find(pod, "containers")->Begin());
  const field::Path mainAt = field::Path{"spec.containers"}[index];
  std::vector<Origins> recorded(context.recordOrigins ? 1 : 0);
  Origins* origins = recorded.empty() ? nullptr : &recorded[0];
  if (origins != nullptr) origins->user({}, kGiven);
  prepareContainer(*main, mainAt, pod, hash, context.config.checkpoint, origins, make);
  make.set(pod, "restartPolicy", "Never");
  if (json::findObject(&pod, "securityContext") == nullptr) {
    make.set(pod, "securityContext", make.object("fsGroup", kFsGroup));
    if (origins != nullptr) origins->byOperator(kFsGroupField);
  }
  setSeccompProfile(pod, allocator);

  Value labels = make.object();
  layOver(labels, labelsOf(given == nullptr ? checkpoint : *given), allocator);
  make.set(labels, api::label::kCheckpointHash, hash);
  make.set(labels, api::label::kCheckpointSource, "true");
  const std::string_view graph = json::findText(labelsOf(checkpoint), api::label::kGraph);
  if (!graph.empty()) make.set(labels, api::label::kGraph, graph);
  if (origins != nullptr) {
    recordReplaced(field::Path{"spec.restartPolicy"}, *origins);
    recordReplaced(kSeccompField, *origins);
    const field::Path at{"metadata.labels"};
    recordReplaced(at.key(api::label::kCheckpointHash), *origins);
    recordReplaced(at.key(api::label::kCheckpointSource), *origins);
    if (!graph.empty()) origins->user(at.key(api::label::kGraph), at.key(api::label::kGraph));
  }
  Value annotations = make.object();
  layOver(annotations, given == nullptr ? nullptr : annotationsOf(*given), allocator);
  addPodInfoAnnotations(*main, mainAt, annotations, origins, allocator);
  Value templateMetadata = make.object("labels", std::move(labels));
  if (!annotations.ObjectEmpty()) make.set(templateMetadata, "annotations", std::move(annotations));

  const auto number = [&](std::string_view name, int fallback) {
    const Value* value = json::find(job, name);
    return value == nullptr ? Value{fallback} : make.value(*value);
  };
  Value object = makeObject("batch/v1", "Job", fmt::format("{}{}", kCheckpointJobPrefix, nameOf(checkpoint)),
                            namespaceOf(checkpoint), allocator);
  setMetadata(object, "labels", make.object(api::label::kCheckpointHash, hash), allocator);
  setOwner(object, checkpoint, allocator);
  make.set(object, "spec",
           make.object("activeDeadlineSeconds", number("activeDeadlineSeconds", kActiveDeadlineSeconds),
                       "backoffLimit", number("backoffLimit", kBackoffLimit), "ttlSecondsAfterFinished",
                       number("ttlSecondsAfterFinished", kTtlSecondsAfterFinished), "template",
                       make.object("metadata", std::move(templateMetadata), "spec", std::move(pod))));
  children.add(std::move(object));
  children.items.back().origins = std::move(recorded);
  return children;
}

}  // namespace dynamo::render
