// Rules about fields that an update may not change (quirks adm-Q8, adm-Q9).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "common/api/dynamo.h"
#include "common/model/names.h"
#include "common/model/scaling.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr std::string_view kImmutable = "field is immutable";

const Value* oldSpec(const Graph& graph) {
  return graph.old == nullptr ? nullptr : json::findObject(graph.old, "spec");
}

const Value* oldService(const Service& service) {
  return json::findObject(json::findObject(oldSpec(service.graph), "services"), service.key);
}

bool frameworkChanged(const Graph& graph) {
  return graph.old != nullptr &&
         json::findText(oldSpec(graph), "backendFramework") != json::findText(graph.spec, "backendFramework");
}

void frameworkImmutable(const Graph& graph, const Report& report) {
  if (!frameworkChanged(graph)) return;
  const std::string_view framework = json::findText(graph.spec, "backendFramework");
  report.invalid("spec.backendFramework", framework, std::string{kImmutable});
}

void warnFrameworkChange(const Graph& graph, const Report& report) {
  if (!frameworkChanged(graph)) return;
  report.warn("spec.backendFramework", "cannot change in place: delete the object and create it again");
}

std::vector<std::string_view> serviceKeys(const Value* spec) {
  std::vector<std::string_view> keys;
  const Value* services = json::findObject(spec, "services");
  if (services == nullptr) return keys;
  for (const auto& entry : services->GetObject()) keys.push_back(json::text(entry.name));
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<std::string_view> missing(const std::vector<std::string_view>& all,
                                      const std::vector<std::string_view>& present) {
  std::vector<std::string_view> rest;
  std::set_difference(all.begin(), all.end(), present.begin(), present.end(), std::back_inserter(rest));
  return rest;
}

void servicesImmutable(const Graph& graph, const Report& report) {
  if (graph.old == nullptr) return;
  const auto before = serviceKeys(oldSpec(graph));
  const auto now = serviceKeys(graph.spec);
  // A graph without services has its own error.
  if (before == now || now.empty()) return;
  std::vector<std::string> parts;
  const auto added = missing(now, before);
  const auto removed = missing(before, now);
  if (!added.empty()) parts.push_back(fmt::format("added: {}", fmt::join(added, ", ")));
  if (!removed.empty()) parts.push_back(fmt::format("removed: {}", fmt::join(removed, ", ")));
  report.forbidden("spec.services", fmt::format("services may not be added or removed after creation ({})",
                                                fmt::join(parts, "; ")));
}

void topologyImmutable(const Service& service, const Report& report) {
  const Value* before = oldService(service);
  if (before == nullptr || (model::nodeCount(*before) > 1) == service.multinode()) return;
  report.forbidden(service.at("multinode"),
                   "may not change between one node and several nodes after creation");
}

bool maySetReplicas(const Graph& graph) {
  const std::string account = serviceAccountOf(graph.username);
  if (account.empty()) return false;
  const auto& allowed = graph.policy.scalingAllowed;
  return account == fmt::format("{}/{}", graph.namespaceName, api::kPlannerServiceAccount) ||
         std::find(allowed.begin(), allowed.end(), account) != allowed.end();
}

void replicasOwnedByAdapter(const Service& service, const Report& report) {
  const Value* before = oldService(service);
  const bool adapted = model::hasScalingAdapter(service.spec, service.graph.policy.honoursAutoscaling);
  if (before == nullptr || !adapted || maySetReplicas(service.graph)) return;
  const long long was = integerAt(before, "replicas").value_or(1);
  const long long wanted = integerAt(&service.spec, "replicas").value_or(1);
  if (was == wanted) return;
  report.forbidden(service.at("replicas"),
                   fmt::format("may not change from {} to {}: the service's scaling adapter owns it; "
                               "scale the DynamoGraphDeploymentScalingAdapter",
                               was, wanted));
}

std::string_view restartId(const Value* spec) {
  return json::findText(json::findObject(spec, "restart"), "id");
}

void restartWaitsForRollout(const Graph& graph, const Report& report) {
  if (graph.old == nullptr || restartId(oldSpec(graph)) == restartId(graph.spec)) return;
  const std::string_view phase =
      json::findText(json::findObject(json::findObject(graph.old, "status"), "rollingUpdate"), "phase");
  if (phase != "Pending" && phase != "InProgress") return;
  report.forbidden("spec.restart.id", fmt::format("may not change while a rolling update is {}", phase));
}

constexpr std::array kGraphLocks = {
    GraphCheck{{"dgd.framework-immutable", Severity::Lock, "backendFramework is immutable"},
               frameworkImmutable},
    GraphCheck{{"dgd.services-immutable", Severity::Lock, "services may not be added or removed"},
               servicesImmutable},
    GraphCheck{{"dgd.restart-during-rollout", Severity::Lock,
                "restart.id may not change during a rolling update of workers"},
               restartWaitsForRollout},
    GraphCheck{
        {"dgd.framework-change", Severity::Warning, "a deployment cannot change its framework in place"},
        warnFrameworkChange},
};

constexpr std::array kServiceLocks = {
    ServiceCheck{
        {"dgd.topology-immutable", Severity::Lock, "a service may not change between one node and several"},
        topologyImmutable},
    ServiceCheck{{"dgd.replicas-owned", Severity::Lock,
                  "replicas of a service with a scaling adapter are changed through the adapter"},
                 replicasOwnedByAdapter},
};

constexpr std::array kComponentLocks = {
    GraphCheck{{"dcd.framework-immutable", Severity::Lock, "backendFramework is immutable"},
               frameworkImmutable},
    GraphCheck{
        {"dcd.framework-change", Severity::Warning, "a deployment cannot change its framework in place"},
        warnFrameworkChange},
};

}  // namespace

std::span<const GraphCheck> graphLockChecks() {
  return kGraphLocks;
}

std::span<const ServiceCheck> serviceLockChecks() {
  return kServiceLocks;
}

std::span<const GraphCheck> componentLockChecks() {
  return kComponentLocks;
}

}  // namespace dynamo::rules
