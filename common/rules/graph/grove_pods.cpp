// Fields of pods that Grove refuses, overwrites, or does not run (decision child-Q43).

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/api/contains.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr Members kPodSpec = "extraPodSpec";

/// Grove checks these fields only when a PodCliqueSet is created.
void refuseAtCreation(const Service& service, std::string_view field, const Report& report) {
  const Graph& graph = service.graph;
  if (graph.withoutGrove()) return;
  const At pod = service.at(kPodSpec);
  const At at = pod / field;
  if (graph.old != nullptr) {
    if (graph.onGrove())
      report.warn(at, "Grove refuses it in a new PodCliqueSet, such as one after a deletion");
  } else if (graph.onGrove()) {
    report.forbidden(at, "must not be set: Grove refuses it");
  } else {
    report.warn(at, "with Grove: must not be set");
  }
}

void topologySpread(const Service& service, const Report& report) {
  if (json::find(service.podSpec(), "topologySpreadConstraints") == nullptr) return;
  refuseAtCreation(service, "topologySpreadConstraints", report);
}

void nodeName(const Service& service, const Report& report) {
  if (json::findText(service.podSpec(), "nodeName").empty()) return;
  refuseAtCreation(service, "nodeName", report);
}

/// `problem` prevents the pods: an error where Grove certainly runs them.
void reportName(const Service& service, const At& at, std::string_view name, std::string problem,
                const Report& report) {
  if (service.graph.onGrove()) {
    report.invalid(at / "name", name, std::move(problem));
  } else {
    report.warn(at / "name", "with Grove: " + problem);
  }
}

// Variables

constexpr std::array<std::string_view, 5> kOfPods = {"GROVE_PCS_NAME", "GROVE_PCS_INDEX", "GROVE_PCLQ_NAME",
                                                     "GROVE_HEADLESS_SERVICE", "GROVE_PCLQ_POD_INDEX"};
constexpr std::array<std::string_view, 3> kOfGroups = {"GROVE_PCSG_NAME", "GROVE_PCSG_INDEX",
                                                       "GROVE_PCSG_TEMPLATE_NUM_PODS"};

/// Calls `each(variable, name, place)` for the variables of all containers of the service.
template <typename Each>
void forEachVariable(const Service& service, Each each) {
  const auto visit = [&](const Value* list, const At& at) {
    forEachObject(list, [&](const Value& variable, std::size_t i) {
      each(variable, json::findText(&variable, "name"), at[i]);
    });
  };
  visit(service.member("envs"), service.at("envs"));
  visit(json::find(json::findObject(&service.spec, "frontendSidecar"), "envs"),
        service.at("frontendSidecar.envs"));
  visit(json::find(service.mainContainer(), "env"), service.at("extraPodSpec.mainContainer.env"));
  const At pod = service.at(kPodSpec);
  for (const std::string_view list : {"containers", "initContainers"}) {
    const At containers = pod / list;
    forEachObject(json::find(service.podSpec(), list), [&](const Value& container, std::size_t i) {
      const At at = containers[i];
      visit(json::find(container, "env"), at / "env");
    });
  }
}

/// A variable that Grove sets. In pods of a service with several nodes, Grove does not look whether a
/// variable of the scaling group exists, and the API server refuses the PodClique with both.
void variable(const Service& service, const At& at, std::string_view name, const Report& report) {
  if (service.multinode() && api::contains(kOfGroups, name)) {
    return reportName(service, at, name, "is a variable that Grove adds: the pods are refused", report);
  }
  if (!service.graph.onGrove() || !api::contains(kOfPods, name)) return;
  report.warn(at / "name", "has no effect: Grove sets the variable");
}

void variables(const Service& service, const Report& report) {
  if (service.graph.withoutGrove()) return;
  forEachVariable(service, [&](const Value&, std::string_view name, const At& at) {
    variable(service, at, name, report);
  });
}

void graphVariables(const Graph& graph, const Report& report) {
  if (graph.withoutGrove() || graph.services.empty()) return;
  const auto several = std::find_if(graph.services.begin(), graph.services.end(),
                                    [](const Service& service) { return service.multinode(); });
  const Service& service = several == graph.services.end() ? graph.services.front() : *several;
  const At variables = "spec.envs";
  forEachObject(json::find(graph.spec, "envs"), [&](const Value& each, std::size_t i) {
    variable(service, variables[i], json::findText(&each, "name"), report);
  });
}

/// Grove adds its variables after those of the user, and the kubelet expands only earlier ones.
void references(const Service& service, const Report& report) {
  if (!service.graph.onGrove()) return;
  forEachVariable(service, [&](const Value& each, std::string_view, const At& at) {
    if (json::findText(&each, "value").find("$(GROVE_") == std::string_view::npos) return;
    report.warn(at / "value", "is not expanded: Grove sets its variables after it; use command or args");
  });
}

// What Grove adds to pods that start after others

void reserved(const Service& service, const Report& report) {
  const bool ordered = service.multinode() && service.framework.name == model::kTrtllm;
  if (service.graph.withoutGrove() || !ordered) return;
  constexpr std::array<std::string_view, 1> kContainers = {"grove-initc"};
  constexpr std::array<std::string_view, 2> kVolumes = {"sa-token-secret-vol", "pod-info-vol"};
  const At pod = service.at(kPodSpec);
  const auto check = [&](std::string_view field, std::span<const std::string_view> names) {
    const At list = pod / field;
    forEachObject(json::find(service.podSpec(), field), [&](const Value& item, std::size_t i) {
      const std::string_view name = json::findText(&item, "name");
      if (std::find(names.begin(), names.end(), name) == names.end()) return;
      reportName(service, list[i], name, "is a name that Grove uses: the leader's pod is refused", report);
    });
  };
  check("containers", kContainers);
  check("initContainers", kContainers);
  check("volumes", kVolumes);
}

// What Grove overwrites

void overwritten(const Service& service, const Report& report) {
  if (!service.graph.onGrove()) return;
  const At pod = service.at(kPodSpec);
  for (const std::string_view field : {"hostname", "subdomain", "schedulingGates"}) {
    if (json::find(service.podSpec(), field) != nullptr)
      report.warn(pod / field, "has no effect: Grove sets it");
  }
  constexpr std::array<std::string_view, 4> kLabels = {"app.kubernetes.io/managed-by",
                                                       "app.kubernetes.io/part-of", "app.kubernetes.io/name",
                                                       "app.kubernetes.io/component"};
  const auto labels = [&](const Value* map, const At& at) {
    forEachMember(map, [&](std::string_view key, const Value&) {
      if (!key.starts_with("grove.io/") && !api::contains(kLabels, key)) return;
      report.warn(at.key(key), "has no effect: Grove sets the label");
    });
  };
  labels(service.member("labels"), service.at("labels"));
  labels(json::find(json::findObject(&service.spec, "extraPodMetadata"), "labels"),
         service.at("extraPodMetadata.labels"));
}

/// Grove compares the templates of cliques without it.
void priorityClass(const Service& service, const Report& report) {
  const Graph& graph = service.graph;
  const Value* services = json::findObject(json::findObject(graph.old, "spec"), "services");
  const Value* before = json::findObject(services, service.key);
  if (before == nullptr || !graph.onGrove()) return;
  const Value* pod = json::findObject(before, "extraPodSpec");
  if (json::findText(pod, "priorityClassName") == json::findText(service.podSpec(), "priorityClassName"))
    return;
  report.warn(service.at("extraPodSpec.priorityClassName"),
              "alone replaces no pods: Grove ignores the change");
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.grove-topology-spread", Severity::Error,
                  "pods of a new graph on Grove have no topology spread constraints"},
                 topologySpread},
    ServiceCheck{{"service.grove-node-name", Severity::Error, "pods of a new graph on Grove name no node"},
                 nodeName},
    ServiceCheck{{"service.grove-env", Severity::Error, "variables do not have the names of Grove's"},
                 variables},
    ServiceCheck{{"service.grove-reserved", Severity::Error,
                  "containers and volumes of leaders do not have the names of Grove's"},
                 reserved},
    ServiceCheck{{"service.grove-env-reference", Severity::Warning,
                  "variables of Grove are not expanded in other variables"},
                 references},
    ServiceCheck{
        {"service.grove-overwritten", Severity::Warning, "Grove sets some fields and labels of pods"},
        overwritten},
    ServiceCheck{{"service.grove-priority-class", Severity::Warning,
                  "Grove does not replace pods when only their priority class changes"},
                 priorityClass},
};

constexpr std::array kGraphChecks = {
    GraphCheck{{"dgd.grove-env", Severity::Error, "variables do not have the names of Grove's"},
               graphVariables},
};

}  // namespace

std::span<const ServiceCheck> grovePodChecks() {
  return kChecks;
}

std::span<const GraphCheck> groveEnvChecks() {
  return kGraphChecks;
}

}  // namespace dynamo::rules
