// Entry points of DynamoGraphDeployment and DynamoComponentDeployment, and the rules of a graph as a whole.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>

#include "common/api/dynamo.h"
#include "common/field/judge.h"
#include "common/json/parse.h"
#include "common/k8s/object.h"
#include "common/rules/graph/graph.h"
#include "common/rules/graph/locks.h"

namespace dynamo::rules {
namespace {

using json::Value;

void servicesRequired(const Graph& graph, const Report& report) {
  const Value* services = json::find(graph.spec, "services");
  if (services != nullptr && (!services->IsObject() || !services->ObjectEmpty())) return;
  report.required("spec.services", "must have at least one service");
}

void servicesNotNull(const Graph& graph, const Report& report) {
  const Value* services = json::findObject(graph.spec, "services");
  if (services == nullptr) return;
  const At at = "spec.services";
  for (const auto& entry : services->GetObject()) {
    if (!entry.value.IsNull()) continue;
    report.required(at.key(json::text(entry.name)), "must not be null");
  }
}

std::string_view appliedManifest(const Value* object) {
  const Value* metadata = json::findObject(object, "metadata");
  return json::findText(json::findObject(metadata, "annotations"), k8s::kLastApplied);
}

/// `kubectl apply` does not send null members. Only its annotation shows that the manifest has one.
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
    report.warn(at.key(name), "is null in the applied manifest: kubectl does not send it");
  }
}

void oneEndpointPicker(const Graph& graph, const Report& report) {
  std::string_view first;
  for (const Service& service : graph.services) {
    if (service.type != api::kEpp) continue;
    if (first.empty()) {
      first = service.key;
    } else {
      report.warn(service.path,
                  fmt::format("has no effect because the graph's endpoint picker is {}", first));
    }
  }
}

/// dec-8: this is a warning because an orchestrator may be installed later. The controller sets the failed
/// condition.
void multinodeNeedsOrchestrator(const Graph& graph, const Report& report) {
  if (!graph.withoutGrove() || !graph.policy.lwsDisabled) return;
  for (const Service& service : graph.services) {
    if (!service.multinode()) continue;
    report.warn(service.at("multinode"),
                graph.policy.groveDisabled
                    ? "needs Grove or LeaderWorkerSet, but neither is installed and enabled"
                    : "needs Grove, but the graph's annotation disables it");
  }
}

/// Grove does not run component deployments. Without LeaderWorkerSet a multinode component becomes a
/// Deployment.
void multinodeNeedsLeaderWorkerSet(const Service& service, const Report& report) {
  if (!service.multinode() || !service.graph.policy.lwsDisabled) return;
  report.warn(service.at("multinode"),
              "needs LeaderWorkerSet, which is not installed or is disabled: each replica is one pod");
}

constexpr std::array kComponentChecks = {
    ServiceCheck{
        {"dcd.multinode-orchestrator", Severity::Warning, "multinode components need LeaderWorkerSet"},
        multinodeNeedsLeaderWorkerSet},
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

/// The rules of one kind. Warnings are listed in the order of the rules, so remarks come last.
struct RuleSet {
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

const RuleSet& graphRuleSet() {
  static const RuleSet kRuleSet{
      Graph::Kind::Graph,
      joined(graphLockChecks(), graphChecks(), graphNameChecks(), graphAnnotationChecks(), kaiQueueChecks(),
             restartChecks(), claimChecks(), graphEnvChecks(), groveChecks(), groveEnvChecks()),
      joined(graphServiceNameChecks(), serviceChecks(), serviceCommandChecks(), endpointPickerChecks(),
             frontendChecks(), serviceLockChecks(), serviceMultinodeChecks(), serviceCheckpointChecks(),
             serviceMountChecks(), claimServiceChecks(), serviceResourceChecks(), serviceEnvChecks(),
             serviceIngressChecks(), serviceMetadataChecks(), autoscalingChecks(), groveLockChecks(),
             groveServiceChecks(), grovePodChecks(), autoscalingRemarks(), serviceTemplateChecks(),
             serviceRemarks()),
      joined(claimRemarks())};
  return kRuleSet;
}

const RuleSet& componentRuleSet() {
  static const RuleSet kRuleSet{
      Graph::Kind::Component,
      joined(componentLockChecks(), componentNameChecks()),
      joined(componentChecks(), serviceChecks(), serviceCommandChecks(), endpointPickerChecks(),
             frontendChecks(), serviceMultinodeChecks(), serviceCheckpointChecks(), serviceMountChecks(),
             serviceResourceChecks(), serviceEnvChecks(), serviceIngressChecks(), serviceMetadataChecks(),
             autoscalingRemarks(), serviceTemplateChecks(), serviceRemarks()),
      {}};
  return kRuleSet;
}

const RuleSet& lockRuleSet() {
  static const RuleSet kLocks{
      Graph::Kind::Graph, joined(graphLockChecks()), joined(serviceLockChecks(), groveLockChecks()), {}};
  return kLocks;
}

/// Rules that apply to a part of a graph regardless of the rest. A new rule is not added here by default
/// because most rules need the whole graph.
constexpr std::array<std::string_view, 56> kPartRules = {"dgd.discovery-backend",
                                                         "dgd.enable-grove",
                                                         "dgd.enable-metrics",
                                                         "dgd.env-identity",
                                                         "dgd.env-name",
                                                         "dgd.env-name-strict",
                                                         "dgd.env-repeated",
                                                         "dgd.grove-clique-names",
                                                         "dgd.grove-dotted-name",
                                                         "dgd.grove-env",
                                                         "dgd.grove-name-length",
                                                         "dgd.grove-name-start",
                                                         "dgd.grove-replicas",
                                                         "dgd.grove-scheduler",
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
                                                         "service.grove-env",
                                                         "service.grove-env-reference",
                                                         "service.grove-node-name",
                                                         "service.grove-overwritten",
                                                         "service.grove-reserved",
                                                         "service.grove-topology-spread",
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

const RuleSet& partRuleSet() {
  static const RuleSet kParts = [] {
    RuleSet parts = graphRuleSet();
    const auto needsWholeGraph = [](const auto& check) {
      return !std::binary_search(kPartRules.begin(), kPartRules.end(), check.rule.id);
    };
    std::erase_if(parts.graph, needsWholeGraph);
    std::erase_if(parts.service, needsWholeGraph);
    std::erase_if(parts.remarks, needsWholeGraph);
    return parts;
  }();
  return kParts;
}

Findings validate(const RuleSet& rules, const Write& write) {
  return judge(write, [&rules](const Write& one) {
    const Graph graph{one, rules.kind};
    Findings findings;
    runChecks(std::span{rules.graph}, graph, findings);
    for (const ServiceCheck& check : rules.service) {
      const Report report{findings, check.rule.id};
      for (const Service& service : graph.services) check.run(service, report);
    }
    runChecks(std::span{rules.remarks}, graph, findings);
    return findings;
  });
}

std::vector<Rule> rulesOf(const RuleSet& set) {
  std::vector<Rule> rules;
  addRules(std::span{set.graph}, rules);
  addRules(std::span{set.service}, rules);
  addRules(std::span{set.remarks}, rules);
  return rules;
}

}  // namespace

std::span<const GraphCheck> graphChecks() {
  return kGraphChecks;
}

Findings validateDgd(const Write& write) {
  return validate(graphRuleSet(), write);
}

Findings validateDgdLocks(const Write& write) {
  return validate(lockRuleSet(), write);
}

Findings validateDgdParts(const Write& write) {
  return validate(partRuleSet(), write);
}

std::span<const std::string_view> dgdPartRules() {
  return kPartRules;
}

Findings validateDcd(const Write& write) {
  return validate(componentRuleSet(), write);
}

std::span<const Rule> dgdRules() {
  static const std::vector<Rule> kRules = rulesOf(graphRuleSet());
  return kRules;
}

std::span<const Rule> dcdRules() {
  static const std::vector<Rule> kRules = rulesOf(componentRuleSet());
  return kRules;
}

}  // namespace dynamo::rules
