#include "common/lifecycle/graph_plan.h"

#include <utility>

#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {

GraphPlan planGraph(const GraphView& view, Time now, json::Allocator& allocator) {
  GraphPlan plan;
  plan.rollingUpdate =
      view.grove ? endRollingUpdate(view, now, allocator) : advanceRollingUpdate(view, now, allocator);
  const bool workersRoll = plan.rollingUpdate.inProgress;
  const std::vector<ServiceState> services = serviceStates(view);
  plan.restart = restartStep(view, services, workersRoll);
  RestartAnnotations present;
  for (const ServiceState& service : services) {
    if (service.child != nullptr) present.emplace(service.name, restartOf(view, service));
  }
  plan.inputs.restartAnnotations = restartAnnotations(view.graph, plan.restart, workersRoll, present);
  plan.inputs.workerReplicas = plan.rollingUpdate.newReplicas;
  plan.inputs.workerHash = view.workerHash;
  if (view.grove && view.podCliqueSet != nullptr && !isBeingDeleted(*view.podCliqueSet))
    plan.inputs.podCliqueSet = view.podCliqueSet;
  plan.inputs.pickerHash = plan.rollingUpdate.pickerHash;
  return plan;
}

}  // namespace dynamo::lifecycle
