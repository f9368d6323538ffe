// spec.restart of a graph.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr Members kOrderPath = "spec.restart.strategy.order";

const Value* restartOf(const Graph& graph) {
  return json::findObject(graph.spec, "restart");
}

const Value* strategyOf(const Graph& graph) {
  return json::findObject(restartOf(graph), "strategy");
}

bool isParallel(const Graph& graph) {
  return json::findText(strategyOf(graph), "type") == "Parallel";
}

const Value* orderOf(const Graph& graph) {
  const Value* order = json::find(strategyOf(graph), "order");
  return isEmptyList(order) ? nullptr : order;
}

void idRequired(const Graph& graph, const Report& report) {
  if (restartOf(graph) == nullptr || !json::findText(restartOf(graph), "id").empty()) return;
  report.required("spec.restart.id", "must be set: any new value restarts the graph");
}

void parallelHasNoOrder(const Graph& graph, const Report& report) {
  if (!isParallel(graph) || orderOf(graph) == nullptr) return;
  report.forbidden(kOrderPath, "may not be set when type is Parallel, which restarts all services at once");
}

/// The keys of spec.services, including those of null services.
std::vector<std::string_view> serviceNames(const Graph& graph) {
  std::vector<std::string_view> names;
  const Value* services = json::findObject(graph.spec, "services");
  if (services == nullptr) return names;
  for (const auto& entry : services->GetObject()) names.push_back(json::text(entry.name));
  std::sort(names.begin(), names.end());
  return names;
}

/// An order must be a permutation of all services.
void orderIsComplete(const Graph& graph, const Report& report) {
  const Value* order = orderOf(graph);
  if (isParallel(graph) || order == nullptr) return;
  const std::vector<std::string_view> known = serviceNames(graph);
  Suggestions didYouMean{known};
  const At orderAt = kOrderPath;
  std::set<std::string_view> named;
  std::size_t wrong = 0;
  for (rapidjson::SizeType i = 0; i < order->Size(); ++i) {
    if (!(*order)[i].IsString()) continue;
    const std::string_view name = json::text((*order)[i]);
    const At field = orderAt[i];
    const bool isNew = named.insert(name).second;
    wrong += !isNew || !std::binary_search(known.begin(), known.end(), name) ? 1 : 0;
    if (!isNew) {
      report.duplicate(field, name);
    } else if (!std::binary_search(known.begin(), known.end(), name)) {
      report.notFound(field, name, fmt::format("no service has this name{}", didYouMean(name)));
    }
  }
  std::vector<std::string_view> left;
  std::copy_if(known.begin(), known.end(), std::back_inserter(left),
               [&](std::string_view name) { return !named.contains(name); });
  // A wrong name is probably a misspelt missing one, which is not reported again.
  if (left.size() <= wrong) return;
  report.refused(kOrderPath, fmt::format("must name every service; missing: {}", fmt::join(left, ", ")));
}

/// Nothing runs yet. Later releases refuse such a graph.
void restartsNothing(const Graph& graph, const Report& report) {
  if (graph.old != nullptr || json::findText(restartOf(graph), "id").empty()) return;
  report.warn("spec.restart", "restarts nothing in a new graph: leave it out until the graph runs");
}

constexpr std::array kChecks = {
    GraphCheck{{"dgd.restart-id", Severity::Error, "a restart has an id"}, idRequired},
    GraphCheck{{"dgd.restart-parallel", Severity::Error, "a parallel restart has no order"},
               parallelHasNoOrder},
    GraphCheck{{"dgd.restart-order", Severity::Error, "an order names every service once"}, orderIsComplete},
    GraphCheck{{"dgd.restart-new", Severity::Warning, "a restart is of a graph that exists"},
               restartsNothing},
};

}  // namespace

std::span<const GraphCheck> restartChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
