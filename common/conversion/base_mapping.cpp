#include "common/conversion/base_mapping.h"

#include <concepts>
#include <utility>

#include "common/api/dgdr.h"
#include "common/conversion/profiler_config.h"

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

namespace keys = api::dgdr;

constexpr std::uint32_t kExpectedFields = 12;  // of a spec

struct StateOfPhase {
  std::string_view state;
  std::string_view phase;
};

// All other values map to Pending in both directions.
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

std::string_view phaseOf(View status) {
  const std::string_view state = status.findText("state");
  const bool created = status.find("deployment").find("created").boolean().value_or(false);
  return state == "Ready" && created ? "Deployed" : phaseOf(state);
}

std::string_view stateOf(std::string_view phase) {
  for (const StateOfPhase& row : kToState) {
    if (row.phase == phase) return row.state;
  }
  return "Pending";
}

/// Adds members to an object: new values, or views of values of the source object.
class Builder {
 public:
  Builder(Draft& object, Allocator& allocator) : object_(object), allocator_(allocator) {}

  void put(std::string_view key, Draft&& value) { object_.add(key, std::move(value), allocator_); }
  void put(std::string_view key, Value&& value) { put(key, keep(std::move(value), allocator_)); }
  /// `text` is not copied.
  void put(std::string_view key, std::string_view text) { put(key, Value{json::ref(text)}); }
  void put(std::string_view key, std::same_as<bool> auto value) { put(key, Value{value}); }
  /// Adds `value` unless it is absent or the empty string. The type is not checked: conversion does not
  /// validate.
  void take(std::string_view key, View value) {
    if (value && !value.isEmptyText()) put(key, Draft{value});
  }
  void takeOr(std::string_view key, View value, Value&& fallback) {
    put(key, value ? Draft{value} : Draft{keep(std::move(fallback), allocator_)});
  }

 private:
  Draft& object_;
  Allocator& allocator_;
};

/// {"<name>": value}
Draft within(std::string_view name, Draft&& value, Allocator& allocator) {
  Draft object = Draft::object(allocator, 1);
  object.add(name, std::move(value), allocator);
  return object;
}

Draft betaOverrides(View resources, View tolerations, Allocator& allocator) {
  Draft podSpec = Draft::object(allocator);
  Builder pod{podSpec, allocator};
  Draft containers =
      Draft::list(allocator, 1);  // always present, because the v1beta1 schema requires the list
  if (resources) {
    Draft container = Draft::object(allocator);
    Builder{container, allocator}.put("name", "");
    Builder{container, allocator}.take("resources", resources);
    containers.push(std::move(container), allocator);
  }
  pod.put("containers", std::move(containers));
  pod.take("tolerations", tolerations);
  Draft job = within("template", within("spec", std::move(podSpec), allocator), allocator);
  return within("profilingJob", std::move(job), allocator);
}

View nonEmptyList(View value) {
  return value.isList() && value.size() == 0 ? View{} : value;
}

/// The resources to write in v1alpha1. Resources that consist of claims only are left out.
View shownResources(View podSpec) {
  const View containers = podSpec.find("containers");
  if (!containers.isList() || containers.size() == 0) return {};
  const View resources = containers.item(0).findObject("resources");
  const auto filled = [&](std::string_view key) { return resources.findObject(key).size() != 0; };
  return filled("requests") || filled("limits") ? resources : View{};
}

View alphaDeployment(std::string_view dgdName, const Carried& carried, Allocator& allocator) {
  const View saved = carried.deploymentStatus;
  if (saved && saved.findText("name") == dgdName) return saved;
  // There is no saved status, or it describes another deployment. Only the live name is known.
  return minimalDeployment(dgdName, allocator);
}

/// Adds the defaults that the API server sets when it reads the object from storage. Without them, the next
/// write through v1alpha1 would change an otherwise unchanged object.
void applyStorageDefaults(Draft& spec, Allocator& allocator) {
  const auto fill = [&](Draft* parent, std::string_view key, Value&& value) {
    if (parent == nullptr || !parent->view().isObject() || parent->view().find(key)) return;
    parent->own(allocator);
    parent->set(key, keep(std::move(value), allocator), allocator);
  };
  fill(spec.findRaw("workload"), "isl", Value{api::dgdr::kDefaultInputSequenceLength});
  fill(spec.findRaw("workload"), "osl", Value{api::dgdr::kDefaultOutputSequenceLength});
  fill(spec.findRaw("modelCache"), "pvcMountPath", Value{json::ref(api::dgdr::kDefaultModelCacheMountPath)});
  fill(&spec, "backend", Value{"auto"});
  fill(&spec, "searchStrategy", Value{"rapid"});
}

Draft specAndStatus(Draft&& spec, Draft&& status, Allocator& allocator) {
  Draft object = Draft::object(allocator, 2);
  Builder{object, allocator}.put("spec", std::move(spec));
  Builder{object, allocator}.put("status", std::move(status));
  return object;
}

}  // namespace

View minimalDeployment(std::string_view dgdName, Allocator& allocator) {
  Draft deployment = Draft::object(allocator, 2);
  Builder{deployment, allocator}.put("name", dgdName);
  Builder{deployment, allocator}.put("state", keys::kInitializing);
  return deployment.view();
}

void defaultWorkload(Draft& beta, Allocator& allocator) {
  Draft& spec = beta.ensureObject("spec", allocator);
  spec.ensureObject("workload", allocator);
  applyStorageDefaults(spec, allocator);
}

bool readsAsState(std::string_view phase, std::string_view liveState) {
  return stateOf(phase) == liveState;
}

bool readsAsPhase(std::string_view state, std::string_view livePhase) {
  return phaseOf(state) == livePhase;
}

Draft mapToV1beta1(View alpha, Allocator& allocator) {
  const View source = alpha.find("spec");
  const View profiling = source.find("profilingConfig");
  Draft spec = Draft::object(allocator, kExpectedFields);
  Builder out{spec, allocator};
  out.takeOr("model", source.find("model"), Value{""});
  out.take("backend", source.find("backend"));
  View image = profiling.find("profilerImage");
  if (!image || image.isEmptyText()) image = source.find("deploymentOverrides").find("workersImage");
  out.take("image", image);
  out.takeOr("autoApply", source.find("autoApply"), Value{false});
  if (source.find("useMocker").boolean().value_or(false)) {
    Draft& mocker = spec.ensureObject("features", allocator).ensureObject("mocker", allocator);
    Builder{mocker, allocator}.put("enabled", true);
  }
  if (const View config = profiling.findObject("config")) profilerConfigToSpec(config, spec, allocator);
  const View resources = profiling.find("resources");
  const View tolerations = nonEmptyList(profiling.find("tolerations"));
  if (resources || tolerations) out.put("overrides", betaOverrides(resources, tolerations, allocator));
  applyStorageDefaults(spec, allocator);

  const View state = alpha.find("status");
  Draft status = Draft::object(allocator);
  Builder shown{status, allocator};
  shown.put("phase", phaseOf(state));
  shown.take("observedGeneration", state.find("observedGeneration"));
  shown.take("conditions", state.find("conditions"));
  if (const View generated = state.find("generatedDeployment")) {
    Draft results = Draft::object(allocator);
    Builder{results, allocator}.take("selectedConfig", generated);
    shown.put("profilingResults", std::move(results));
  }
  shown.take("dgdName", state.find("deployment").find("name"));
  // An object without a status may be a copy; its annotation then belongs to the original (see savedFields).
  if (state) {
    const View annotations = alpha.find("metadata").find("annotations");
    shown.take("profilingJobName", annotations.find(api::dgdr::kProfilingJobName));
  }
  return specAndStatus(std::move(spec), std::move(status), allocator);
}

Draft mapToV1alpha1(View beta, const Carried& carried, Allocator& allocator) {
  const View source = beta.findObject("spec");
  Draft profiling = Draft::object(allocator);
  Builder out{profiling, allocator};
  if (const View config = profilerConfigFromSpec(source, carried.profilingConfig, allocator)) {
    out.put("config", Draft{config});
  }
  out.take("configMapRef", carried.configMapRef);
  out.takeOr("profilerImage", source.find("image"), Value{""});
  if (carried.outputPvc) out.put("outputPVC", *carried.outputPvc);
  const View podSpec = source.find("overrides").find("profilingJob").find("template").find("spec");
  out.take("resources", shownResources(podSpec));
  out.take("tolerations", nonEmptyList(podSpec.find("tolerations")));

  Draft spec = Draft::object(allocator, kExpectedFields);
  Builder fields{spec, allocator};
  fields.takeOr("model", source.find("model"), Value{""});
  fields.takeOr("backend", source.find("backend"), Value{""});
  fields.takeOr("autoApply", source.find("autoApply"), Value{true});
  if (source.find("features").find("mocker").find("enabled").boolean().value_or(false)) {
    fields.put("useMocker", true);
  }
  if (carried.enableGpuDiscovery) fields.put("enableGpuDiscovery", true);
  fields.put("profilingConfig", std::move(profiling));
  fields.take("deploymentOverrides", carried.deploymentOverrides);

  const View live = beta.find("status");
  Draft status = Draft::object(allocator);
  Builder shown{status, allocator};
  shown.put("state", stateOf(live.findText("phase")));
  if (carried.statusBackend) shown.put("backend", *carried.statusBackend);
  shown.take("observedGeneration", live.find("observedGeneration"));
  shown.take("conditions", live.find("conditions"));
  if (carried.profilingResults) shown.put("profilingResults", *carried.profilingResults);
  shown.take("generatedDeployment", live.find("profilingResults").find("selectedConfig"));
  const std::string_view dgdName = live.findText("dgdName");
  if (!dgdName.empty()) shown.put("deployment", Draft{alphaDeployment(dgdName, carried, allocator)});
  return specAndStatus(std::move(spec), std::move(status), allocator);
}

}  // namespace dynamo::conversion
