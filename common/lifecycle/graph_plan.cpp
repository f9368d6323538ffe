#include "common/lifecycle/graph_plan.h"

#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

void setOrRemove(Value& status, std::string_view key, const Value& value, Allocator& allocator) {
  if (value.IsNull()) {
    json::remove(status, key);
  } else {
    json::set(status, key, json::share(value, allocator), allocator);
  }
}

}  // namespace

GraphPlan planGraph(const GraphView& view, Time now, Allocator& allocator) {
  GraphPlan plan;
  plan.rollout = view.grove ? leaveRollout(view, now, allocator) : rollWorkers(view, now, allocator);
  const std::vector<ServiceState> services = serviceStates(view);
  plan.restart = restartStep(view, services, plan.rollout.underWay);
  for (const ServiceState& service : services) {
    const std::string_view id = restartOf(view, service);
    if (!id.empty()) plan.observed.restartAt.emplace(service.name, id);
  }
  plan.observed.newReplicas = plan.rollout.newReplicas;
  plan.observed.workerHash = view.workerHash;

  plan.graph = json::share(view.graph, allocator);
  Value& status = json::ensureObject(plan.graph, "status", allocator);
  setOrRemove(status, "rollingUpdate", plan.rollout.status, allocator);
  setOrRemove(status, "restart", json::copy(restartStatus(plan.restart, allocator), allocator), allocator);
  return plan;
}

}  // namespace dynamo::lifecycle
