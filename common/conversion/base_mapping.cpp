#include "common/conversion/base_mapping.h"

#include "common/api/dgdr.h"
#include "common/conversion/profiler_config.h"

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

namespace keys = api::dgdr;

constexpr std::string_view kBetaPaths[] = {
    "/spec/model",
    "/spec/backend",
    "/spec/image",
    "/spec/autoApply",
    "/spec/features/mocker/enabled",
    "/spec/features/planner",
    "/spec/sla/ttft",
    "/spec/sla/itl",
    "/spec/workload/isl",
    "/spec/workload/osl",
    "/spec/modelCache/pvcName",
    "/spec/modelCache/pvcModelPath",
    "/spec/modelCache/pvcMountPath",
    "/spec/overrides/profilingJob/template/spec/containers/0/resources",
    "/spec/overrides/profilingJob/template/spec/tolerations",
    "/status/phase",
    "/status/observedGeneration",
    "/status/conditions",
    "/status/profilingResults/selectedConfig",
    "/status/dgdName",
};

constexpr std::string_view kAlphaPaths[] = {
    "/spec/model",
    "/spec/backend",
    "/spec/useMocker",
    "/spec/autoApply",
    "/spec/enableGpuDiscovery",
    "/spec/profilingConfig/config",
    "/spec/profilingConfig/configMapRef",
    "/spec/profilingConfig/profilerImage",
    "/spec/profilingConfig/outputPVC",
    "/spec/profilingConfig/resources",
    "/spec/profilingConfig/tolerations",
    "/spec/deploymentOverrides/name",
    "/spec/deploymentOverrides/namespace",
    "/spec/deploymentOverrides/labels",
    "/spec/deploymentOverrides/annotations",
    "/status/state",
    "/status/backend",
    "/status/observedGeneration",
    "/status/conditions",
    "/status/profilingResults",
    "/status/generatedDeployment",
    "/status/deployment",
};

struct StateOfPhase {
  std::string_view state;
  std::string_view phase;
};

// Anything else is Pending, in both directions.
constexpr StateOfPhase kToPhase[] = {{"Profiling", "Profiling"},
                                     {"Deploying", "Deploying"},
                                     {"Ready", "Ready"},
                                     {"DeploymentDeleted", "Ready"},
                                     {"Failed", "Failed"}};
constexpr StateOfPhase kToState[] = {{"Profiling", "Profiling"},
                                     {"Ready", "Ready"},
                                     {"Deploying", "Deploying"},
                                     {"Ready", "Deployed"},
                                     {"Failed", "Failed"}};

std::string_view phaseOf(std::string_view state) {
  for (const StateOfPhase& row : kToPhase) {
    if (row.state == state) return row.phase;
  }
  return "Pending";
}

std::string_view phaseOf(const Value* status) {
  const std::string_view state = json::findText(status, "state");
  const bool created = json::findBool(json::find(status, "deployment"), "created").value_or(false);
  return state == "Ready" && created ? "Deployed" : phaseOf(state);
}

std::string_view stateOf(std::string_view phase) {
  for (const StateOfPhase& row : kToState) {
    if (row.phase == phase) return row.state;
  }
  return "Pending";
}

bool isEmptyText(const Value* value) {
  return value->IsString() && value->GetStringLength() == 0;
}

/// A short way to build an object from values of another one, which it then shares.
class Builder {
 public:
  Builder(Value& object, Allocator& allocator) : object_(object), allocator_(allocator) {}

  void put(std::string_view key, Value&& value) {
    object_.AddMember(Value{json::ref(key)}, std::move(value), allocator_);
  }
  void put(std::string_view key, std::string_view literal) { put(key, Value{json::ref(literal)}); }
  /// Copies a member that is there (any type: conversion judges nothing) and is not the empty text.
  void take(std::string_view key, const Value* value) {
    if (value != nullptr && !isEmptyText(value)) put(key, json::alias(*value));
  }

 private:
  Value& object_;
  Allocator& allocator_;
};

Value emptyObject() {
  return Value{rapidjson::kObjectType};
}

Value betaOverrides(const Value* resources, const Value* tolerations, Allocator& allocator) {
  Value podSpec = emptyObject();
  Builder pod{podSpec, allocator};
  Value containers{rapidjson::kArrayType};  // never null: the v1beta1 schema requires the list
  if (resources != nullptr) {
    Value container = emptyObject();
    Builder{container, allocator}.put("name", "");
    Builder{container, allocator}.take("resources", resources);
    containers.PushBack(container, allocator);
  }
  pod.put("containers", std::move(containers));
  pod.take("tolerations", tolerations);
  Value pods = emptyObject();
  Builder{pods, allocator}.put("spec", std::move(podSpec));
  Value job = emptyObject();
  Builder{job, allocator}.put("template", std::move(pods));
  Value overrides = emptyObject();
  Builder{overrides, allocator}.put("profilingJob", std::move(job));
  return overrides;
}

const Value* nonEmptyList(const Value* value) {
  return value != nullptr && value->IsArray() && value->Empty() ? nullptr : value;
}

/// Resources that v1alpha1 shows: claims alone are not.
const Value* shownResources(const Value* podSpec) {
  const Value* containers = json::find(podSpec, "containers");
  if (containers == nullptr || !containers->IsArray() || containers->Empty()) return nullptr;
  const Value* resources = json::findObject(&(*containers)[0], "resources");
  const auto filled = [&](std::string_view key) {
    const Value* map = json::findObject(resources, key);
    return map != nullptr && !map->ObjectEmpty();
  };
  return filled("requests") || filled("limits") ? resources : nullptr;
}

Value alphaDeployment(std::string_view dgdName, const Carried& carried, Allocator& allocator) {
  const Value* saved = carried.deploymentStatus;
  if (saved != nullptr && json::findText(saved, "name") == dgdName) return json::alias(*saved);
  // The saved status speaks of another deployment, or there is none: the live name alone is known.
  return minimalDeployment(dgdName, allocator);
}

/// Adds what the API server fills in when it reads the object from storage.
/// Were it not stored, the next write through v1alpha1 would store it: an unchanged object would change once.
void applyStorageDefaults(Value& spec, Allocator& allocator) {
  const auto fill = [&](Value* parent, std::string_view key, Value&& value) {
    if (parent == nullptr || !parent->IsObject() || json::find(*parent, key) != nullptr) return;
    json::set(*parent, key, std::move(value), allocator);
  };
  fill(json::find(spec, "workload"), "isl", Value{api::dgdr::kDefaultInputSequenceLength});
  fill(json::find(spec, "workload"), "osl", Value{api::dgdr::kDefaultOutputSequenceLength});
  fill(json::find(spec, "modelCache"), "pvcMountPath",
       Value{json::ref(api::dgdr::kDefaultModelCacheMountPath)});
  fill(&spec, "backend", Value{"auto"});
  fill(&spec, "searchStrategy", Value{"rapid"});
}

}  // namespace

Value minimalDeployment(std::string_view dgdName, Allocator& allocator) {
  Value deployment = emptyObject();
  Builder{deployment, allocator}.put("name", dgdName);
  Builder{deployment, allocator}.put("state", keys::kInitializing);
  return deployment;
}

void defaultWorkload(Value& beta, Allocator& allocator) {
  Value& spec = json::ensureObject(beta, "spec", allocator);
  json::ensureObject(spec, "workload", allocator);
  applyStorageDefaults(spec, allocator);
}

bool readsAsState(std::string_view phase, std::string_view liveState) {
  return stateOf(phase) == liveState;
}

bool readsAsPhase(std::string_view state, std::string_view livePhase) {
  return phaseOf(state) == livePhase;
}

const Represented kRepresentedInV1beta1{kBetaPaths, std::size(kBetaPaths)};
const Represented kRepresentedInV1alpha1{kAlphaPaths, std::size(kAlphaPaths)};

void mapToV1beta1(const Value& alpha, Value& target, Allocator& allocator) {
  const Value* source = json::find(alpha, "spec");
  const Value* profiling = json::find(source, "profilingConfig");
  Value spec = emptyObject();
  Builder out{spec, allocator};
  const Value* model = json::find(source, "model");
  out.put("model", model == nullptr ? Value{""} : json::alias(*model));
  out.take("backend", json::find(source, "backend"));
  const Value* image = json::find(profiling, "profilerImage");
  if (image == nullptr || isEmptyText(image)) {
    image = json::find(json::find(source, "deploymentOverrides"), "workersImage");
  }
  out.take("image", image);
  const Value* autoApply = json::find(source, "autoApply");
  out.put("autoApply", autoApply == nullptr ? Value{false} : Value{*autoApply, allocator});
  if (json::findBool(source, "useMocker").value_or(false)) {
    Value& mocker = json::ensureObject(json::ensureObject(spec, "features", allocator), "mocker", allocator);
    Builder{mocker, allocator}.put("enabled", Value{true});
  }
  if (const Value* config = json::findObject(profiling, "config")) {
    profilerConfigToSpec(*config, spec, allocator);
  }
  const Value* resources = json::find(profiling, "resources");
  const Value* tolerations = nonEmptyList(json::find(profiling, "tolerations"));
  if (resources != nullptr || tolerations != nullptr) {
    out.put("overrides", betaOverrides(resources, tolerations, allocator));
  }
  applyStorageDefaults(spec, allocator);

  const Value* state = json::find(alpha, "status");
  Value status = emptyObject();
  Builder shown{status, allocator};
  shown.put("phase", phaseOf(state));
  shown.take("observedGeneration", json::find(state, "observedGeneration"));
  shown.take("conditions", json::find(state, "conditions"));
  if (const Value* generated = json::find(state, "generatedDeployment")) {
    Value results = emptyObject();
    Builder{results, allocator}.take("selectedConfig", generated);
    shown.put("profilingResults", std::move(results));
  }
  shown.take("dgdName", json::find(json::find(state, "deployment"), "name"));
  const Value* annotations = json::find(json::find(alpha, "metadata"), "annotations");
  // Without a status it is another object's (savedFields).
  if (state != nullptr) {
    shown.take("profilingJobName", json::find(annotations, api::dgdr::kProfilingJobName));
  }

  Builder object{target, allocator};
  object.put("spec", std::move(spec));
  object.put("status", std::move(status));
}

void mapToV1alpha1(const Value& beta, const Carried& carried, Value& target, Allocator& allocator) {
  static const Value kNone = emptyObject();
  const Value* given = json::findObject(&beta, "spec");
  const Value& source = given == nullptr ? kNone : *given;
  Value profiling = emptyObject();
  Builder out{profiling, allocator};
  if (Value config = profilerConfigFromSpec(source, carried.profilingConfig, allocator); !config.IsNull()) {
    out.put("config", std::move(config));
  }
  out.take("configMapRef", carried.configMapRef);
  const Value* image = json::find(source, "image");
  out.put("profilerImage", image == nullptr ? Value{""} : json::alias(*image));
  if (carried.outputPvc) out.put("outputPVC", *carried.outputPvc);
  const Value* podSpec =
      json::find(json::find(json::find(json::find(source, "overrides"), "profilingJob"), "template"), "spec");
  out.take("resources", shownResources(podSpec));
  out.take("tolerations", nonEmptyList(json::find(podSpec, "tolerations")));

  Value spec = emptyObject();
  Builder fields{spec, allocator};
  const auto textOrEmpty = [&](std::string_view key) {
    const Value* value = json::find(source, key);
    return value == nullptr ? Value{""} : json::alias(*value);
  };
  fields.put("model", textOrEmpty("model"));
  fields.put("backend", textOrEmpty("backend"));
  const Value* autoApply = json::find(source, "autoApply");
  fields.put("autoApply", autoApply == nullptr ? Value{true} : Value{*autoApply, allocator});
  if (json::findBool(json::find(json::find(source, "features"), "mocker"), "enabled").value_or(false)) {
    fields.put("useMocker", Value{true});
  }
  if (carried.enableGpuDiscovery) fields.put("enableGpuDiscovery", Value{true});
  fields.put("profilingConfig", std::move(profiling));
  fields.take("deploymentOverrides", carried.deploymentOverrides);

  const Value* live = json::find(beta, "status");
  Value status = emptyObject();
  Builder shown{status, allocator};
  shown.put("state", stateOf(json::findText(live, "phase")));
  if (carried.statusBackend) shown.put("backend", *carried.statusBackend);
  shown.take("observedGeneration", json::find(live, "observedGeneration"));
  shown.take("conditions", json::find(live, "conditions"));
  if (carried.profilingResults) shown.put("profilingResults", *carried.profilingResults);
  shown.take("generatedDeployment", json::find(json::find(live, "profilingResults"), "selectedConfig"));
  const std::string_view dgdName = json::findText(live, "dgdName");
  if (!dgdName.empty()) shown.put("deployment", alphaDeployment(dgdName, carried, allocator));

  Builder object{target, allocator};
  object.put("spec", std::move(spec));
  object.put("status", std::move(status));
}

}  // namespace dynamo::conversion
