#include "common/lifecycle/grove_limits.h"

#include <fmt/format.h>

#include "common/k8s/names.h"
#include "common/lifecycle/object.h"
#include "common/model/graph.h"
#include "common/render/live_cliques.h"

namespace dynamo::lifecycle {

using json::Value;

namespace {

constexpr std::string_view kScalingGroup = "PodCliqueScalingGroup";

void add(std::string& text, const std::string& sentence) {
  text += fmt::format("{}{}", text.empty() ? "" : "; ", sentence);
}

}  // namespace

bool keepsReplicas(const ServiceState& service) {
  return service.kind == kScalingGroup && service.desired == 0 && service.child != nullptr &&
         countAt(specOf(*service.child), "replicas", 1) > 0;
}

bool needsOneReplica(const Value& graph, std::string_view service) {
  const Value* status = json::findObject(json::findObject(statusOf(graph), "services"), service);
  return json::findText(status, "componentKind") == kScalingGroup;
}

std::optional<std::int64_t> workerMinAvailable(const GraphView& view, const ServiceState& service) {
  if (!view.grove || view.podCliqueSet == nullptr || service.kind != kScalingGroup) return std::nullopt;
  return render::LiveCliques{view.podCliqueSet}.minAvailable(k8s::lowerAscii(service.name) + "-wkr");
}

std::string groveLimits(const GraphView& view) {
  std::string text;
  if (!view.grove || view.podCliqueSet == nullptr) return text;
  const std::string way = fmt::format("delete PodCliqueSet {} to make it anew", nameOf(*view.podCliqueSet));
  for (const ServiceState& service : serviceStates(view)) {
    const auto minimum = workerMinAvailable(view, service);
    if (!minimum || service.spec == nullptr) continue;
    const std::int64_t workers = model::nodeCount(*service.spec) - 1;
    if (*minimum < workers) {
      add(text, fmt::format("Grove starts a replica of {} with {} of {} workers, because minAvailable cannot "
                            "change: {}",
                            service.name, *minimum, workers, way));
    }
  }
  for (const auto& [name, other] : render::confusedCliques(render::LiveCliques{view.podCliqueSet}.order())) {
    add(text,
        fmt::format("Grove gives clique {} the pods of clique {}, because its name ends with that name: "
                    "{}",
                    name, other, way));
  }
  return text;
}

}  // namespace dynamo::lifecycle
