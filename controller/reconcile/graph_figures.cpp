#include "controller/reconcile/graph_figures.h"

#include <algorithm>
#include <optional>

#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/time.h"
#include "common/render/deployment_config.h"

namespace dynamo::controller {
namespace {

using json::Value;

constexpr ObjectGauge kNotReady{"dynamo_operator_graph_not_ready_since_timestamp_seconds",
                                "Since when a graph is not ready, Unix time. A ready graph has no series.",
                                {"name", "reason"}};
constexpr ObjectGauge kRollingUpdate{
    "dynamo_operator_graph_rolling_update_start_timestamp_seconds",
    "Start of a rolling update that has not completed, Unix time. Other graphs have no series.",
    {"name", "phase"}};
constexpr ObjectGauge kDesired{"dynamo_operator_graph_desired_replicas",
                               "Replicas that the services of the graphs of a namespace should have."};
constexpr ObjectGauge kMissing{"dynamo_operator_graph_missing_replicas",
                               "Desired replicas of services that are not ready."};

std::optional<double> unixTimeAt(const Value* object, std::string_view key) {
  const auto time = lifecycle::parseTime(json::findText(object, key));
  if (!time) return std::nullopt;
  return static_cast<double>(time->time_since_epoch().count());
}

/// A PodCliqueScalingGroup has no readyReplicas.
std::int64_t servingReplicas(const Value* status) {
  const bool ready = status != nullptr && json::find(status, "readyReplicas") != nullptr;
  return lifecycle::countAt(status, ready ? "readyReplicas" : "availableReplicas");
}

}  // namespace

void addGraphFigures(const Value& graph, const AddFigure& add) {
  const std::string_view name = lifecycle::nameOf(graph);
  const Value* status = lifecycle::statusOf(graph);
  const Value* ready = lifecycle::findCondition(status, "Ready");
  if (!lifecycle::isTrue(ready)) {
    // The controller has not written a status yet.
    const bool known = ready != nullptr;
    const auto since = known ? unixTimeAt(ready, "lastTransitionTime")
                             : unixTimeAt(lifecycle::metadataOf(graph), "creationTimestamp");
    add(kNotReady, name, known ? json::findText(ready, "reason") : "no_status", since.value_or(0));
  }
  const Value* update = json::findObject(status, "rollingUpdate");
  const std::string_view phase = json::findText(update, "phase");
  const auto start = unixTimeAt(update, "startTime");
  if ((phase == "Pending" || phase == "InProgress") && start) add(kRollingUpdate, name, phase, *start);

  double desired = 0;
  double missing = 0;
  const Value* spec = lifecycle::specOf(graph);
  const Value* services = json::findObject(spec, "services");
  if (services != nullptr) {
    for (const auto& entry : services->GetObject()) {
      const std::string_view service = json::text(entry.name);
      const auto wanted = render::componentReplicas(service, entry.value, json::find(spec, "envs"));
      const std::int64_t serving =
          servingReplicas(json::findObject(json::findObject(status, "services"), service));
      desired += static_cast<double>(wanted);
      missing += static_cast<double>(std::max<std::int64_t>(0, wanted - serving));
    }
  }
  add(kDesired, "", "", desired);
  add(kMissing, "", "", missing);
}

}  // namespace dynamo::controller
