// Entry points of DynamoGraphDeployment and DynamoComponentDeployment, and the rules of a graph as a whole.

#include <fmt/format.h>

#include "common/api/dynamo.h"
#include "common/json/parse.h"
#include "common/validation/graph.h"
#include "common/validation/judge.h"
#include "common/validation/locks.h"

namespace dynamo::validation {
namespace {

using json::Value;

void servicesRequired(const Graph& graph, const Report& report) {
  const Value* services = json::find(graph.spec, "services");
  if (services != nullptr && (!services->IsObject() || !services->ObjectEmpty())) return;
  report.required("spec.services", "name at least one service");
}

void servicesNotNull(const Graph& graph, const Report& report) {
  const Value* services = json::findObject(graph.spec, "services");
  if (services == nullptr) return;
  for (const auto& entry : services->GetObject()) {
    if (!entry.value.IsNull()) continue;
    report.required(fmt::format("spec.services[{}]", json::text(entry.name)), "a service may not be null");
  }
}

std::string_view appliedManifest(const Value* object) {
  const Value* metadata = json::findObject(object, "metadata");
  return json::findText(json::findObject(metadata, "annotations"), api::annotation::kLastApplied);
}

/// `kubectl apply` does not send a null: only its annotation shows that the manifest has one.
void servicesNotNullInManifest(const Graph& graph, const Report& report) {
  const std::string_view manifest = appliedManifest(&graph.object);
  if (manifest.find(":null") == std::string_view::npos || manifest == appliedManifest(graph.old)) return;
  json::Document applied;
  if (json::parse(manifest, applied)) return;
  const Value* given = json::findObject(json::findObject(&applied, "spec"), "services");
  if (given == nullptr) return;
  for (const auto& entry : given->GetObject()) {
    const std::string_view name = json::text(entry.name);
    const Value* services = json::findObject(graph.spec, "services");
    if (!entry.value.IsNull() || (services != nullptr && json::findRaw(*services, name) != nullptr)) continue;
    report.warn(fmt::format("spec.services[{}]", name),
                "is null in the applied manifest: kubectl leaves it out");
  }
}

void oneEndpointPicker(const Graph& graph, const Report& report) {
  std::string_view first;
  for (const Service& service : graph.services) {
    if (service.type != api::kEpp) continue;
    if (first.empty()) {
      first = service.key;
    } else {
      report.warn(service.path, fmt::format("is not used: the graph's endpoint picker is {}", first));
    }
  }
}

/// dec-8: a warning, as the cluster may get one later; the controller sets the failed condition.
void multinodeNeedsOrchestrator(const Graph& graph, const Report& report) {
  if (!graph.withoutGrove() || !graph.policy.lwsDisabled) return;
  for (const Service& service : graph.services) {
    if (!service.multinode()) continue;
    report.warn(service.at("multinode"),
                graph.policy.groveDisabled
                    ? "needs Grove or LeaderWorkerSet, but neither is installed and enabled"
                    : "needs Grove, which the graph's annotation turns off");
  }
}

/// Grove runs no component deployments, and one of several nodes falls back to a Deployment of its pods.
void nodesNeedLeaderWorkerSet(const Service& service, const Report& report) {
  if (!service.multinode() || !service.graph.policy.lwsDisabled) return;
  report.warn(service.at("multinode"),
              "needs LeaderWorkerSet, which is not installed or disabled: each replica is one pod");
}

constexpr std::array kComponentChecks = {
    ServiceCheck{
        {"dcd.multinode-orchestrator", Severity::Warning, "multinode components need LeaderWorkerSet"},
        nodesNeedLeaderWorkerSet},
};

std::span<const ServiceCheck> componentChecks() {
  return kComponentChecks;
}

constexpr std::array kGraphChecks = {
    GraphCheck{{"dgd.services-required", Severity::Error, "a graph has at least one service"},
               servicesRequired},
    GraphCheck{{"dgd.service-null", Severity::Error, "a service may not be null"}, servicesNotNull},
    GraphCheck{
        {"dgd.service-null-applied", Severity::Warning, "kubectl apply leaves out a service that is null"},
        servicesNotNullInManifest},
    GraphCheck{
        {"dgd.multinode-orchestrator", Severity::Warning, "multinode services need Grove or LeaderWorkerSet"},
        multinodeNeedsOrchestrator},
    GraphCheck{{"dgd.epp-several", Severity::Warning, "a graph uses one endpoint picker"}, oneEndpointPicker},
};

using GraphTable = std::span<const GraphCheck> (*)();
using ServiceTable = std::span<const ServiceCheck> (*)();

struct Kind {
  Graph::Kind kind;
  std::vector<GraphTable> graph;
  std::vector<ServiceTable> service;
  std::vector<GraphTable> remarks;
};

const Kind& graphKind() {
  static const Kind kKind{
      Graph::Kind::Graph,
      {graphLockChecks, graphChecks, graphNameChecks, graphAnnotationChecks, restartChecks, claimChecks,
       graphEnvChecks},
      {graphServiceNameChecks, serviceChecks, serviceCommandChecks, endpointPickerChecks, serviceLockChecks,
       serviceMultinodeChecks, serviceCheckpointChecks, serviceMountChecks, claimServiceChecks,
       serviceResourceChecks, serviceEnvChecks, serviceIngressChecks, serviceMetadataChecks, serviceRemarks},
      {claimRemarks}};
  return kKind;
}

const Kind& componentKind() {
  static const Kind kKind{
      Graph::Kind::Component,
      {componentLockChecks, componentNameChecks},
      {componentChecks, serviceChecks, serviceCommandChecks, endpointPickerChecks, serviceMultinodeChecks,
       serviceCheckpointChecks, serviceMountChecks, serviceResourceChecks, serviceEnvChecks,
       serviceIngressChecks, serviceMetadataChecks, serviceRemarks},
      {}};
  return kKind;
}

Findings runAll(const Kind& kind, const Request& request) {
  const Graph graph{request, kind.kind};
  Findings findings;
  const auto skips = [&request](const Rule& rule) {
    return request.wants != nullptr && !request.wants(rule.id);
  };
  const auto runTables = [&](const std::vector<GraphTable>& tables) {
    for (const GraphTable table : tables) {
      for (const GraphCheck& check : table()) {
        if (!skips(check.rule)) check.run(graph, Report{findings, check.rule.id});
      }
    }
  };
  runTables(kind.graph);
  for (const ServiceTable table : kind.service) {
    for (const ServiceCheck& check : table()) {
      if (skips(check.rule)) continue;
      const Report report{findings, check.rule.id};
      for (const Service& service : graph.services) check.run(service, report);
    }
  }
  runTables(kind.remarks);
  return findings;
}

const Kind& graphLocks() {
  static const Kind kLocks{Graph::Kind::Graph, {graphLockChecks}, {serviceLockChecks}, {}};
  return kLocks;
}

Findings validate(const Kind& kind, const Request& request) {
  return judge(request, [&kind](const Request& one) { return runAll(kind, one); });
}

std::vector<Rule> rulesOf(const Kind& kind) {
  std::vector<Rule> rules;
  for (const GraphTable table : kind.graph) addRules(table(), rules);
  for (const ServiceTable table : kind.service) addRules(table(), rules);
  for (const GraphTable table : kind.remarks) addRules(table(), rules);
  return rules;
}

}  // namespace

std::span<const GraphCheck> graphChecks() {
  return kGraphChecks;
}

Findings validateDgd(const Request& request) {
  return validate(graphKind(), request);
}

Findings validateDgdLocks(const Request& request) {
  return validate(graphLocks(), request);
}

Findings validateDcd(const Request& request) {
  return validate(componentKind(), request);
}

std::span<const Rule> dgdRules() {
  static const std::vector<Rule> kRules = rulesOf(graphKind());
  return kRules;
}

std::span<const Rule> dcdRules() {
  static const std::vector<Rule> kRules = rulesOf(componentKind());
  return kRules;
}

}  // namespace dynamo::validation
