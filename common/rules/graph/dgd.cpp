// Entry points of DynamoGraphDeployment and DynamoComponentDeployment, and the rules of a graph as a whole.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>

#include "common/api/dynamo.h"
#include "common/field/judge.h"
#include "common/json/parse.h"
#include "common/rules/graph/graph.h"
#include "common/rules/graph/locks.h"

namespace dynamo::rules {
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
  const At at = "spec.services";
  for (const auto& entry : services->GetObject()) {
    if (!entry.value.IsNull()) continue;
    report.required(at.key(json::text(entry.name)), "a service may not be null");
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
  const At at = "spec.services";
  for (const auto& entry : given->GetObject()) {
    const std::string_view name = json::text(entry.name);
    const Value* services = json::findObject(graph.spec, "services");
    if (!entry.value.IsNull() || (services != nullptr && json::findRaw(*services, name) != nullptr)) continue;
    report.warn(at.key(name), "is null in the applied manifest: kubectl leaves it out");
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

/// The rules of one kind. Remarks come last, as warnings are listed in the order of the rules.
struct Kind {
  Graph::Kind kind;
  std::vector<GraphCheck> graph;
  std::vector<ServiceCheck> service;
  std::vector<GraphCheck> remarks;
};

template <typename Checks, std::same_as<Checks>... More>
auto joined(const Checks& first, const More&... more) {
  std::vector<typename Checks::value_type> all;
  for (const Checks& checks : {first, more...}) all.insert(all.end(), checks.begin(), checks.end());
  return all;
}

const Kind& graphKind() {
  static const Kind kKind{
      Graph::Kind::Graph,
      joined(graphLockChecks(), graphChecks(), graphNameChecks(), graphAnnotationChecks(), restartChecks(),
             claimChecks(), graphEnvChecks()),
      joined(graphServiceNameChecks(), serviceChecks(), serviceCommandChecks(), endpointPickerChecks(),
             serviceLockChecks(), serviceMultinodeChecks(), serviceCheckpointChecks(), serviceMountChecks(),
             claimServiceChecks(), serviceResourceChecks(), serviceEnvChecks(), serviceIngressChecks(),
             serviceMetadataChecks(), serviceRemarks()),
      joined(claimRemarks())};
  return kKind;
}

const Kind& componentKind() {
  static const Kind kKind{Graph::Kind::Component,
                          joined(componentLockChecks(), componentNameChecks()),
                          joined(componentChecks(), serviceChecks(), serviceCommandChecks(),
                                 endpointPickerChecks(), serviceMultinodeChecks(), serviceCheckpointChecks(),
                                 serviceMountChecks(), serviceResourceChecks(), serviceEnvChecks(),
                                 serviceIngressChecks(), serviceMetadataChecks(), serviceRemarks()),
                          {}};
  return kKind;
}

const Kind& graphLocks() {
  static const Kind kLocks{Graph::Kind::Graph, joined(graphLockChecks()), joined(serviceLockChecks()), {}};
  return kLocks;
}

/// Rules of graphs that hold for a part, whatever stands around it. A new rule must be added here on purpose:
/// most rules need the whole graph.
constexpr std::array<std::string_view, 45> kPartRules = {"dgd.discovery-backend",
                                                         "dgd.enable-grove",
                                                         "dgd.enable-metrics",
                                                         "dgd.env-identity",
                                                         "dgd.env-name",
                                                         "dgd.env-name-strict",
                                                         "dgd.env-repeated",
                                                         "dgd.grove-clique-names",
                                                         "dgd.grove-name-length",
                                                         "dgd.kai-queue",
                                                         "dgd.name-length",
                                                         "dgd.name-start",
                                                         "dgd.origin-version",
                                                         "dgd.pvc-access-mode",
                                                         "dgd.pvc-name",
                                                         "dgd.pvc-repeated",
                                                         "dgd.pvc-size",
                                                         "dgd.restart-parallel",
                                                         "dgd.service-name",
                                                         "dgd.service-name-length",
                                                         "dgd.service-names-distinct",
                                                         "dgd.vllm-executor",
                                                         "service.amount-odd",
                                                         "service.annotation-owned",
                                                         "service.annotations",
                                                         "service.checkpoint-multinode",
                                                         "service.component-type",
                                                         "service.container-name",
                                                         "service.deployment-strategy",
                                                         "service.discovery-backend",
                                                         "service.env-from-secret",
                                                         "service.env-identity",
                                                         "service.env-name",
                                                         "service.env-repeated",
                                                         "service.gpu-odd",
                                                         "service.ingress-host-name",
                                                         "service.label-owned",
                                                         "service.labels",
                                                         "service.mount-name",
                                                         "service.quantity",
                                                         "service.replicas-negative",
                                                         "service.request-limit",
                                                         "service.resource-name",
                                                         "service.shared-memory-size",
                                                         "service.vllm-executor"};
static_assert(std::is_sorted(kPartRules.begin(), kPartRules.end()));

const Kind& graphParts() {
  static const Kind kParts = [] {
    Kind parts = graphKind();
    const auto needsWhole = [](const auto& check) {
      return !std::binary_search(kPartRules.begin(), kPartRules.end(), check.rule.id);
    };
    std::erase_if(parts.graph, needsWhole);
    std::erase_if(parts.service, needsWhole);
    std::erase_if(parts.remarks, needsWhole);
    return parts;
  }();
  return kParts;
}

Findings validate(const Kind& kind, const Request& request) {
  return judge(request, [&kind](const Request& one) {
    const Graph graph{one, kind.kind};
    Findings findings;
    runChecks(std::span{kind.graph}, graph, findings);
    for (const ServiceCheck& check : kind.service) {
      const Report report{findings, check.rule.id};
      for (const Service& service : graph.services) check.run(service, report);
    }
    runChecks(std::span{kind.remarks}, graph, findings);
    return findings;
  });
}

std::vector<Rule> rulesOf(const Kind& kind) {
  std::vector<Rule> rules;
  addRules(std::span{kind.graph}, rules);
  addRules(std::span{kind.service}, rules);
  addRules(std::span{kind.remarks}, rules);
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

Findings validateDgdParts(const Request& request) {
  return validate(graphParts(), request);
}

std::span<const std::string_view> dgdPartRules() {
  return kPartRules;
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

}  // namespace dynamo::rules
