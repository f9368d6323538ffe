// In which order the services of a graph restart, and which restart is due.
// Quirk ctl-Q19.
#include <algorithm>

#include "common/api/dynamo.h"
#include "common/render/graph_component.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Value;

std::vector<std::string> serviceNames(const Value& graph) {
  std::vector<std::string> names;
  const Value* services = json::findObject(specOf(graph), "services");
  if (services == nullptr) return names;
  for (const auto& service : services->GetObject()) names.emplace_back(json::text(service.name));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> texts(const Value* list) {
  std::vector<std::string> all;
  if (list == nullptr || !list->IsArray()) return all;
  for (const Value& item : list->GetArray()) all.emplace_back(json::text(item));
  return all;
}

/// The status from which a restart of `id` goes on: the graph's, or that of one which begins now.
const Value& statusOf(std::string_view id, const Value* status) {
  static const Value kBegins{rapidjson::kObjectType};
  const bool begins = status == nullptr || (!id.empty() && json::findText(status, "observedID") != id);
  return begins ? kBegins : *status;
}

/// Whether a restart in this phase stays as it is.
bool isFinal(std::string_view phase) {
  return phase == "Completed" || phase == "Failed" || phase == "Superseded";
}

bool workersRoll(const Value& graph) {
  const Value* update = json::findObject(json::findObject(&graph, "status"), "rollingUpdate");
  const std::string_view phase = json::findText(update, "phase");
  return phase == "Pending" || phase == "InProgress";
}

/// The services, in the order of a sequential restart, that have had their turn or have it now.
std::vector<std::string> startedSoFar(std::vector<std::string> order, const Value& status) {
  const std::vector<std::string> running = texts(json::find(status, "inProgress"));
  const std::string_view phase = json::findText(&status, "phase");
  std::size_t count = 1;
  if (phase != "Pending" && !running.empty()) {
    count = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (std::find(running.begin(), running.end(), order[i]) != running.end()) count = i + 1;
    }
  }
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace

std::map<std::string, std::string> restartAnnotations(const Value& graph, const Observed& observed) {
  std::map<std::string, std::string> result;
  for (const auto& [service, id] : observed.restartAt) {
    if (!id.empty()) result[service] = id;
  }
  const Value* restart = json::findObject(specOf(graph), "restart");
  std::string_view id = json::findText(restart, "id");
  const bool removed = id.empty();
  const Value& status = statusOf(id, json::findObject(json::findObject(&graph, "status"), "restart"));
  const std::string_view observedId = json::findText(&status, "observedID");
  const std::string_view phase = json::findText(&status, "phase");
  if (removed && isFinal(phase)) id = observedId;  // one under way is forgotten with its request
  const bool ended = id == observedId && isFinal(phase);
  const bool superseded = ended ? phase == "Superseded" : workersRoll(graph);
  if (id.empty() || superseded) return result;
  const std::vector<std::string> all = serviceNames(graph);
  std::vector<std::string> chosen = all;
  const Value* strategy = json::findObject(restart, "strategy");
  const bool done = removed || (id == observedId && phase == "Completed");
  if (!done && json::findText(strategy, "type") != "Parallel") {
    std::vector<std::string> order = texts(json::find(strategy, "order"));
    chosen = startedSoFar(order.empty() ? all : order, status);
  }
  for (const std::string& service : chosen) result[service] = id;
  return result;
}

}  // namespace dynamo::render
