#include "tests/bench/object_store/stored.h"

#include <string>

#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/json/parse.h"

namespace dynamo::bench {
namespace {

using json::Maker;
using json::Value;

/// The key of a list item in fieldsV1; empty: the list is owned whole.
std::string itemKey(const Value& item) {
  for (const char* name : {"uid", "name"}) {  // of owner references, and of all others
    const std::string_view value = json::findText(&item, name);
    if (!value.empty()) return fmt::format(R"(k:{{"{}":"{}"}})", name, value);
  }
  return {};
}

/// The fieldsV1 of a manager that owns all of `value`.
Value fieldsOf(const Value& value, const Maker& make) {
  Value fields = make.object();
  if (value.IsArray()) {
    for (const Value& item : value.GetArray()) {
      const std::string key = itemKey(item);
      if (key.empty()) return make.object();
      Value owned = fieldsOf(item, make);
      owned.AddMember(".", make.object(), make.allocator());
      make.set(fields, key, std::move(owned));
    }
  }
  if (value.IsObject()) {
    for (const auto& member : value.GetObject()) {
      make.set(fields, fmt::format("f:{}", json::text(member.name)), fieldsOf(member.value, make));
    }
  }
  return fields;
}

Value ownedParts(const Value& object, std::initializer_list<std::string_view> parts, const Maker& make) {
  Value fields = make.object();
  for (const std::string_view part : parts) {
    const Value* value = json::find(object, part);
    if (value != nullptr) make.set(fields, fmt::format("f:{}", part), fieldsOf(*value, make));
  }
  return fields;
}

Value entryOf(std::string_view manager, std::string_view operation, Value&& fields, Random& random,
              const Maker& make) {
  return make.object("manager", manager, "operation", operation, "apiVersion", "nvidia.com/v1alpha1", "time",
                     random.time(), "fieldsType", "FieldsV1", "fieldsV1", std::move(fields));
}

void identify(Value& object, Random& random, const Maker& make) {
  Value& metadata = *json::find(object, "metadata");
  make.set(metadata, "uid", random.uid());
  make.set(metadata, "resourceVersion", std::to_string(100000000 + random.below(900000000)));
  make.set(metadata, "generation", 1 + random.below(9));
  make.set(metadata, "creationTimestamp", random.time());
}

Value condition(std::string_view type, std::string_view reason, std::string_view message, Random& random,
                const Maker& make) {
  return make.object("type", type, "status", "True", "lastTransitionTime", random.time(), "reason", reason,
                     "message", message);
}

void setIfAbsent(Value& object, std::string_view key, Value&& value, const Maker& make) {
  if (json::findRaw(object, key) == nullptr) make.set(object, key, std::move(value));
}

void defaultContainer(Value& container, const Maker& make) {
  setIfAbsent(container, "terminationMessagePath", make.value("/dev/termination-log"), make);
  setIfAbsent(container, "terminationMessagePolicy", make.value("File"), make);
  setIfAbsent(container, "imagePullPolicy", make.value("IfNotPresent"), make);
  for (const char* name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    Value* probe = json::find(container, name);
    if (probe == nullptr) continue;
    setIfAbsent(*probe, "successThreshold", make.value(1), make);
    if (Value* get = json::find(*probe, "httpGet")) setIfAbsent(*get, "scheme", make.value("HTTP"), make);
  }
  if (Value* list = json::find(container, "env")) {
    for (Value& variable : list->GetArray()) {
      Value* from = json::find(variable, "valueFrom");
      Value* field = from == nullptr ? nullptr : json::find(*from, "fieldRef");
      if (field != nullptr) setIfAbsent(*field, "apiVersion", make.value("v1"), make);
    }
  }
}

void storeDeployment(Value& deployment, Random& random, const Maker& make) {
  Value& spec = *json::find(deployment, "spec");
  setIfAbsent(spec, "progressDeadlineSeconds", make.value(600), make);
  setIfAbsent(spec, "revisionHistoryLimit", make.value(10), make);
  Value& pod = *json::find(*json::find(spec, "template"), "spec");
  setIfAbsent(pod, "dnsPolicy", make.value("ClusterFirst"), make);
  setIfAbsent(pod, "schedulerName", make.value("default-scheduler"), make);
  for (const char* name : {"containers", "initContainers"}) {
    Value* list = json::find(pod, name);
    if (list == nullptr) continue;
    for (Value& container : list->GetArray()) defaultContainer(container, make);
  }
  const Value* replicas = json::find(spec, "replicas");
  const std::int64_t count = replicas == nullptr ? 1 : replicas->GetInt64();
  const std::string_view name = json::findText(json::find(&deployment, "metadata"), "name");
  const std::string message =
      fmt::format(R"(ReplicaSet "{}-{}" has successfully progressed.)", name, random.suffix(10));
  Value progressing = condition("Progressing", "NewReplicaSetAvailable", message, random, make);
  make.set(progressing, "lastUpdateTime", random.time());
  Value available = condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability.",
                              random, make);
  make.set(available, "lastUpdateTime", random.time());
  make.set(deployment, "status",
           make.object("observedGeneration", 1, "replicas", count, "updatedReplicas", count, "readyReplicas",
                       count, "availableReplicas", count, "conditions",
                       make.list(std::move(available), std::move(progressing))));
}

void storeComponent(Value& component, Random& random, const Maker& make) {
  const std::string name{json::findText(json::find(&component, "metadata"), "name")};
  make.set(component, "status",
           make.object("observedGeneration", 1, "conditions",
                       make.list(condition("Available", "MinimumReplicasAvailable",
                                           "All replicas are available", random, make),
                                 condition("DynamoComponentReady", "ComponentReady", "", random, make)),
                       "service",
                       make.object("componentKind", "Deployment", "componentName", name, "componentNames",
                                   make.list(name), "replicas", 2, "updatedReplicas", 2, "readyReplicas", 2,
                                   "availableReplicas", 2)));
}

void storeService(Value& service, Random& random, const Maker& make) {
  Value& spec = *json::find(service, "spec");
  const std::string address =
      fmt::format("10.{}.{}.{}", 96 + random.below(16), random.below(256), random.below(256));
  setIfAbsent(spec, "clusterIP", make.value(address), make);
  setIfAbsent(spec, "clusterIPs", make.list(address), make);
  setIfAbsent(spec, "internalTrafficPolicy", make.value("Cluster"), make);
  setIfAbsent(spec, "ipFamilies", make.list("IPv4"), make);
  setIfAbsent(spec, "ipFamilyPolicy", make.value("SingleStack"), make);
  setIfAbsent(spec, "sessionAffinity", make.value("None"), make);
  setIfAbsent(spec, "type", make.value("ClusterIP"), make);
  make.set(service, "status", make.object("loadBalancer", make.object()));
}

}  // namespace

void storeGraph(json::Document& graph, std::string_view manifest, Random& random) {
  const Maker make{graph.GetAllocator()};
  Value& metadata = *json::find(graph, "metadata");
  make.set(*json::find(metadata, "annotations"), "kubectl.kubernetes.io/last-applied-configuration",
           manifest);
  identify(graph, random, make);
  make.set(metadata, "finalizers", make.list("nvidia.com/finalizer"));
  Value services = make.object();
  for (const auto& service : json::find(*json::find(graph, "spec"), "services")->GetObject()) {
    make.set(services, json::text(service.name),
             make.object("componentKind", "Deployment", "componentName",
                         fmt::format("{}-{}", json::findText(&metadata, "name"), random.hex(8)), "replicas",
                         2, "updatedReplicas", 2, "readyReplicas", 2, "availableReplicas", 2));
  }
  make.set(graph, "status",
           make.object("state", "successful", "observedGeneration", 1, "conditions",
                       make.list(condition("Ready", "all_resources_are_ready", "All resources are ready",
                                           random, make)),
                       "services", std::move(services)));
  make.set(
      metadata, "managedFields",
      make.list(entryOf("kubectl-client-side-apply", "Update", ownedParts(graph, {"metadata", "spec"}, make),
                        random, make),
                entryOf("dynamo-controller", "Update", ownedParts(graph, {"status"}, make), random, make)));
}

void storeChild(Value& child, Random& random, json::Allocator& allocator) {
  const Maker make{allocator};
  Value owned = ownedParts(child, {"metadata", "spec", "rules", "subjects", "roleRef"}, make);
  identify(child, random, make);
  const std::string_view kind = json::findText(&child, "kind");
  if (kind == "Deployment") storeDeployment(child, random, make);
  if (kind == api::kDynamoComponentDeployment) storeComponent(child, random, make);
  if (kind == "Service") storeService(child, random, make);
  make.set(*json::find(child, "metadata"), "managedFields",
           make.list(entryOf("dynamo-controller", "Apply", std::move(owned), random, make)));
}

std::vector<json::Document> podsOf(const Value& deployment, Random& random) {
  const Value& spec = *json::find(deployment, "spec");
  const Value* replicas = json::find(spec, "replicas");
  const std::string_view name = json::findText(json::find(&deployment, "metadata"), "name");
  const std::string_view namespaceName = json::findText(json::find(&deployment, "metadata"), "namespace");
  const std::string replicaSet = fmt::format("{}-{}", name, random.suffix(10));
  const std::string owner = random.uid();
  const Value& pod = *json::find(spec, "template");
  const Value& container = (*json::find(*json::find(pod, "spec"), "containers"))[0];
  const std::string imageId =
      fmt::format("{}@sha256:{}", json::findText(&container, "image"), random.hex(64));
  std::vector<json::Document> pods;
  for (std::int64_t count = replicas == nullptr ? 1 : replicas->GetInt64(); count > 0; --count) {
    json::Document& stored = pods.emplace_back(rapidjson::kObjectType);
    const Maker make{stored.GetAllocator()};
    Value metadata =
        make.object("name", fmt::format("{}-{}", replicaSet, random.suffix(5)), "namespace", namespaceName,
                    "labels", *json::find(*json::find(pod, "metadata"), "labels"), "ownerReferences",
                    make.list(make.object("apiVersion", "apps/v1", "kind", "ReplicaSet", "name", replicaSet,
                                          "uid", owner, "controller", true, "blockOwnerDeletion", true)));
    make.set(stored, "apiVersion", "v1");
    make.set(stored, "kind", "Pod");
    make.set(stored, "metadata", std::move(metadata));
    identify(stored, random, make);
    make.set(stored, "spec", *json::find(pod, "spec"));
    make.set(*json::find(stored, "spec"), "nodeName", fmt::format("node-{}", random.below(2000)));
    Value conditions = make.list();
    for (const char* type :
         {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
      Value value = make.object("type", type, "status", "True", "lastProbeTime", Value{},
                                "lastTransitionTime", random.time());
      make.push(conditions, std::move(value));
    }
    Value status =
        make.object("containerID", fmt::format("containerd://{}", random.hex(64)), "image",
                    json::findText(&container, "image"), "imageID", imageId, "lastState", make.object(),
                    "name", json::findText(&container, "name"), "ready", true, "restartCount", 0, "started",
                    true, "state", make.object("running", make.object("startedAt", random.time())));
    make.set(stored, "status",
             make.object("phase", "Running", "conditions", std::move(conditions), "containerStatuses",
                         make.list(std::move(status))));
  }
  return pods;
}

}  // namespace dynamo::bench
