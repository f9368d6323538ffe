// What Grove refuses in the PodCliqueSet of a graph, or accepts and does not run: numbers, names, schedulers
// (decisions child-Q35, child-Q43). A refusal is an error where Grove certainly runs the graph, and a warning
// where it may.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/json/ascii.h"
#include "common/k8s/names.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

const Value* oldService(const Service& service) {
  return json::findObject(json::findObject(json::findObject(service.graph.old, "spec"), "services"),
                          service.key);
}

/// Reports `problem` as an error of `value`, or as a warning where it is not certain that Grove refuses it.
void refuse(const Graph& graph, const At& at, const Value& value, const std::string& problem,
            const Report& report) {
  if (graph.onGrove()) {
    report.invalid(at, value, problem);
  } else {
    report.warn(at, "with Grove: " + problem);
  }
}

// Replicas

void replicas(const Service& service, const Report& report) {
  const Graph& graph = service.graph;
  if (graph.withoutGrove() || integerAt(&service.spec, "replicas") != 0) return;
  const At at = service.at("replicas");
  if (!service.multinode()) {
    if (!graph.onGrove()) return;
    return report.warn(at, "Grove creates one pod first, and ends no rolling update while there are none");
  }
  if (graph.old == nullptr) {
    return refuse(graph, at, *service.member("replicas"), "must be at least 1 for several nodes", report);
  }
  report.warn(at, graph.onGrove() ? "Grove keeps the present replicas: with several nodes it needs at least 1"
                                  : "with Grove: must be at least 1 for several nodes");
}

/// Fewer nodes than the PodCliqueSet requires. The status tells its minAvailable; one that was written by an
/// operator of an earlier version does not, and such a set usually requires one worker. Without a status, the
/// set was just made from the old object.
void fewerNodes(const Service& service, const Report& report) {
  const Graph& graph = service.graph;
  const Value* before = oldService(service);
  if (before == nullptr || graph.withoutGrove() || !service.multinode()) return;
  const long long nodes = model::nodeCount(*before);
  if (service.nodes >= nodes) return;
  const Value* status =
      json::findObject(json::findObject(json::findObject(graph.old, "status"), "services"), service.key);
  const auto told = integerAt(status, "minAvailable");
  const long long minimum = told.value_or(nodes - 1);
  if (service.nodes - 1 >= minimum) return;
  const At at = service.at("multinode.nodeCount");
  if (!graph.onGrove() || (status != nullptr && !told)) {
    return report.warn(at,
                       "Grove refuses fewer nodes if the PodCliqueSet was made with minAvailable for more");
  }
  report.forbidden(at,
                   fmt::format("may not be less than {}: Grove cannot change minAvailable of the workers; "
                               "delete the PodCliqueSet of the graph, or use another name for the service",
                               minimum + 1));
}

// Names

/// The headless Service of a PodCliqueSet is named "<graph>-0".
void nameStart(const Graph& graph, const Report& report) {
  if (graph.withoutGrove() || graph.name.empty() || !json::isDigit(graph.name.front())) return;
  const auto hasService = [](const Service& service) { return service.hasService(); };
  if (std::any_of(graph.services.begin(), graph.services.end(), hasService)) return;  // dgd.name-start
  constexpr std::string_view kProblem = "must start with a letter: Grove names a Service after it";
  if (graph.onGrove()) {
    report.invalid("metadata.name", graph.name, std::string{kProblem});
  } else {
    report.warn("metadata.name", fmt::format("with Grove: {}", kProblem));
  }
}

/// The names of cliques are host names of pods.
void dottedName(const Service& service, const Report& report) {
  if (service.graph.withoutGrove() || service.key.find('.') == std::string::npos) return;
  constexpr std::string_view kProblem = "may not contain dots: Grove uses it in host names of pods";
  if (service.graph.onGrove()) {
    report.invalid(service.path, service.key, std::string{kProblem});
  } else {
    report.warn(service.path, fmt::format("with Grove: {}", kProblem));
  }
}

// Schedulers

constexpr std::string_view kKai = "kai-scheduler";
constexpr Members kSchedulerName = "extraPodSpec.schedulerName";

std::string_view schedulerOf(const Value* service, bool kai) {
  const std::string_view given = json::findText(json::findObject(service, "extraPodSpec"), "schedulerName");
  if (!given.empty()) return given;
  return kai ? kKai : std::string_view{"default-scheduler"};
}

/// Services whose scheduler differs from that of the services without one, else from that of the first.
std::vector<const Service*> otherSchedulers(const Graph& graph, bool kai) {
  std::vector<const Service*> others;
  if (graph.services.empty()) return others;
  std::string_view common = schedulerOf(&graph.services.front().spec, kai);
  for (const Service& service : graph.services) {
    if (json::findText(service.podSpec(), "schedulerName").empty()) common = schedulerOf(nullptr, kai);
  }
  for (const Service& service : graph.services) {
    if (schedulerOf(&service.spec, kai) != common) others.push_back(&service);
  }
  return others;
}

void sameScheduler(const Graph& graph, const Report& report) {
  if (graph.withoutGrove()) return;
  const std::optional<bool> kai = graph.policy.kaiScheduler;
  const auto others = otherSchedulers(graph, kai.value_or(false));
  const auto withKai = otherSchedulers(graph, kai.value_or(true));
  const bool certain = !others.empty() && !withKai.empty();
  const std::string problem = "must be the same for all services of a graph on Grove";
  for (const Service* service : others.empty() ? withKai : others) {
    const At at = service->at(kSchedulerName);
    const Value* value = json::find(service->podSpec(), "schedulerName");
    if (certain) {
      refuse(graph, at, *value, problem, report);
    } else {
      report.warn(at, others.empty() ? "with the KAI scheduler: " + problem
                                     : "without the KAI scheduler: " + problem);
    }
  }
}

void schedulerChange(const Service& service, const Report& report) {
  const Value* before = oldService(service);
  if (before == nullptr || !service.graph.onGrove()) return;
  const bool kai = service.graph.policy.kaiScheduler.value_or(false);
  if (schedulerOf(before, kai) == schedulerOf(&service.spec, kai)) return;
  report.warn(service.at(kSchedulerName), "later releases of Grove refuse to change it in a PodCliqueSet");
}

constexpr std::array kGraphChecks = {
    GraphCheck{{"dgd.grove-name-start", Severity::Error, "names of Grove's Services start with a letter"},
               nameStart},
    GraphCheck{{"dgd.grove-scheduler", Severity::Error, "Grove needs one scheduler for all pods of a graph"},
               sameScheduler},
};

constexpr std::array kServiceChecks = {
    ServiceCheck{{"dgd.grove-replicas", Severity::Error,
                  "Grove needs at least one replica of a service with several nodes"},
                 replicas},
    ServiceCheck{{"dgd.grove-dotted-name", Severity::Error, "names of services on Grove have no dots"},
                 dottedName},
    ServiceCheck{{"dgd.grove-scheduler-change", Severity::Warning,
                  "later releases of Grove refuse to change the scheduler of a graph"},
                 schedulerChange},
};

constexpr std::array kLocks = {
    ServiceCheck{{"dgd.grove-nodes", Severity::Lock,
                  "a service on Grove does not get fewer nodes than its PodCliqueSet requires"},
                 fewerNodes},
};

}  // namespace

std::span<const GraphCheck> groveChecks() {
  return kGraphChecks;
}

std::span<const ServiceCheck> groveServiceChecks() {
  return kServiceChecks;
}

std::span<const ServiceCheck> groveLockChecks() {
  return kLocks;
}

}  // namespace dynamo::rules
