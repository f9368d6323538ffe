// The KAI queue of a graph is an annotation of the graph (decision dec-22).

#include <array>

#include "common/api/dynamo.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr std::array kKeys = {api::label::kKaiQueue, api::annotation::kKaiQueue};

/// Warns of a queue in `map` that is not the queue of the pods. With Grove the operator replaces the label.
void checkMap(const Graph& graph, const Value* map, const At& at, const Report& report) {
  const std::string_view queue = json::findText(graph.annotations, api::annotation::kKaiQueue);
  for (const std::string_view key : kKeys) {
    const Value* given = json::find(map, key);
    if (given == nullptr || (!queue.empty() && json::text(*given) == queue)) continue;
    report.warn(at.key(key),
                "does not select the queue: use the annotation nvidia.com/kai-scheduler-queue of the graph");
  }
}

void queueElsewhere(const Graph& graph, const Report& report) {
  const At metadata = "metadata";
  const At labels = metadata / "labels";
  checkMap(graph, json::findObject(graph.metadata, "labels"), labels, report);
  const Value* annotation = json::find(graph.annotations, api::label::kKaiQueue);
  const At annotations = metadata / "annotations";
  if (annotation != nullptr && json::find(graph.annotations, api::annotation::kKaiQueue) == nullptr) {
    report.warn(annotations.key(api::label::kKaiQueue),
                "does not select the queue: use the annotation nvidia.com/kai-scheduler-queue");
  }
  for (const Service& service : graph.services) {
    // Without Grove the scheduler of the pod reads the label.
    const bool ownScheduler = !json::findText(service.podSpec(), "schedulerName").empty();
    const Value* pod = json::findObject(&service.spec, "extraPodMetadata");
    for (const std::string_view kind : {"labels", "annotations"}) {
      if (kind == "labels" && graph.withoutGrove() && ownScheduler) continue;
      const At own = service.path;
      checkMap(graph, json::findObject(&service.spec, kind), own / kind, report);
      const At ofPods = service.at("extraPodMetadata");
      checkMap(graph, json::findObject(pod, kind), ofPods / kind, report);
    }
  }
}

constexpr std::array kChecks = {
    GraphCheck{{"dgd.kai-queue-place", Severity::Warning, "the KAI queue is an annotation of the graph"},
               queueElsewhere},
};

}  // namespace

std::span<const GraphCheck> kaiQueueChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
