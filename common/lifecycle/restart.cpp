#include "common/lifecycle/restart.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;
using Names = std::vector<std::string>;

Names textsOf(const Value* list) {
  Names all;
  if (list == nullptr || !list->IsArray()) return all;
  for (const Value& item : list->GetArray()) all.emplace_back(json::text(item));
  return all;
}

Names sortedServiceNames(const Value& graph) {
  Names names;
  const Value* services = json::findObject(specOf(graph), "services");
  if (services == nullptr) return names;
  for (const auto& service : services->GetObject()) names.emplace_back(json::text(service.name));
  std::sort(names.begin(), names.end());
  return names;
}

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The number of services in `order` up to the last one that is in progress.
std::size_t reachedCount(const Names& order, const Names& inProgress) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (contains(inProgress, order[i])) count = i + 1;
  }
  return count;
}

bool isFinal(std::string_view phase) {
  return phase == phase::kCompleted || phase == phase::kFailed || phase == phase::kSuperseded;
}

RestartStep storedStep(const Value& graph) {
  const Value* status = json::findObject(statusOf(graph), "restart");
  return {std::string{json::findText(status, "observedID")},
          std::string{json::findText(status, "phase")},
          textsOf(json::find(status, "inProgress")),
          {}};
}

bool storedUpdateInProgress(const Value& graph) {
  const std::string_view phase = json::findText(json::findObject(statusOf(graph), "rollingUpdate"), "phase");
  return phase == phase::kPending || phase == phase::kInProgress;
}

class Restart {
 public:
  Restart(const GraphView& view, std::span<const ServiceState> services, std::string_view id)
      : view_(view), services_(services), id_(id) {}

  /// `running`: the services in progress; empty: the restart begins. The strategy may have been sequential so
  /// far, so services that have not started yet start too.
  RestartStep parallel(const Names& all, const Names& running) const {
    Names names;
    for (const std::string& name : all) {
      if (!isDone(name) && (running.empty() || contains(running, name) || !hasStarted(name)))
        names.push_back(name);
    }
    return step(std::move(names));
  }

  /// The next service starts when those in progress are done; there are several if the strategy was parallel
  /// so far. The order may have been edited, so the next service may precede the one that is done. A service
  /// that has restarted does not become part of the restart again when it is not ready for a moment.
  RestartStep sequential(const Names& order, const Names& running) const {
    Names open;
    for (const std::string& name : order) {
      if (contains(running, name) && !isDone(name)) open.push_back(name);
    }
    const std::size_t reached = reachedCount(order, running);
    for (std::size_t i = 0; open.empty() && i < order.size(); ++i) {
      const bool restarted = i < reached && hasStarted(order[i]);
      if (!restarted && !isDone(order[i])) open.push_back(order[i]);
    }
    return step(std::move(open));
  }

 private:
  RestartStep step(Names running) const {
    const std::string_view phase = running.empty() ? phase::kCompleted : phase::kRestarting;
    return {id_, std::string{phase}, std::move(running), {}};
  }

  /// A service is done when its child carries the id and is ready. A service that the graph no longer has
  /// counts as done.
  bool isDone(std::string_view name) const {
    const ServiceState* service = find(name);
    if (service == nullptr) return true;
    if (view_.grove && !podCliqueSetReadiness(view_.podCliqueSet).ready) return false;
    return service->readiness.ready && restartOf(view_, *service) == id_;
  }

  /// Whether the child of the service carries the id.
  bool hasStarted(std::string_view name) const {
    const ServiceState* service = find(name);
    return service != nullptr && restartOf(view_, *service) == id_;
  }

  const ServiceState* find(std::string_view name) const {
    const auto found =
        std::find_if(services_.begin(), services_.end(), [&](const auto& s) { return s.name == name; });
    return found == services_.end() ? nullptr : &*found;
  }

  const GraphView& view_;
  std::span<const ServiceState> services_;
  std::string id_;
};

/// The services of a sequential restart that have restarted or restart now, if nobody has edited the order.
Names startedServices(Names order, const RestartStep& step) {
  const bool begins = step.phase == phase::kPending || step.inProgress.empty();
  const std::size_t count = begins ? 1 : reachedCount(order, step.inProgress);
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace

RestartStep restartStep(const GraphView& view, std::span<const ServiceState> services, bool workersRoll) {
  RestartStep stored = storedStep(view.graph);
  const Value* request = json::findObject(specOf(view.graph), "restart");
  const std::string_view id = json::findText(request, "id");
  if (id.empty()) return isFinal(stored.phase) ? stored : RestartStep{};
  if (id == stored.observedId && isFinal(stored.phase)) return stored;
  if (workersRoll) {
    const std::string text =
        "restart " + std::string{id} + " is superseded by a rolling update of the workers";
    return {std::string{id}, std::string{phase::kSuperseded}, {}, {warning("RestartSuperseded", text)}};
  }
  const bool hasChildren =
      std::any_of(services.begin(), services.end(), [](const ServiceState& s) { return s.child != nullptr; });
  if (!hasChildren && id != stored.observedId) {
    return {std::string{id}, std::string{phase::kCompleted}, {}, {}};
  }
  Names all;
  for (const ServiceState& service : services) all.emplace_back(service.name);
  const Restart restart{view, services, id};
  const Value* strategy = json::findObject(request, "strategy");
  const Names& running = stored.inProgress;
  const bool begins = id != stored.observedId || running.empty();
  const Names none;
  if (json::findText(strategy, "type") == "Parallel") return restart.parallel(all, begins ? none : running);
  const Names order = textsOf(json::find(strategy, "order"));
  return restart.sequential(order.empty() ? all : order, begins ? none : running);
}

RestartAnnotations restartAnnotations(const Value& graph, const RestartStep& step, bool workersRoll,
                                      const RestartAnnotations& present) {
  RestartAnnotations result;
  for (const auto& [service, id] : present) {
    if (!id.empty()) result[service] = id;
  }
  const Value* request = json::findObject(specOf(graph), "restart");
  std::string_view id = json::findText(request, "id");
  const bool removed = id.empty();
  // A status of another id says nothing about this restart: it is about to begin.
  const RestartStep current = removed || step.observedId == id ? step : RestartStep{};
  // A finished restart keeps its annotations when its request is removed; an unfinished one is dropped.
  if (removed && isFinal(current.phase)) id = current.observedId;
  const bool ended = id == current.observedId && isFinal(current.phase);
  const bool superseded = ended ? current.phase == phase::kSuperseded : workersRoll;
  if (id.empty() || superseded) return result;
  const Names all = sortedServiceNames(graph);
  Names restarted = all;
  const Value* strategy = json::findObject(request, "strategy");
  const bool completed = removed || (id == current.observedId && current.phase == phase::kCompleted);
  if (!completed && json::findText(strategy, "type") != "Parallel") {
    const Names order = textsOf(json::find(strategy, "order"));
    restarted = startedServices(order.empty() ? all : order, current);
    // A service that precedes the current one only since the order was edited restarts later.
    std::erase_if(restarted, [&](const std::string& name) {
      const auto found = present.find(name);
      return !current.inProgress.empty() && !contains(current.inProgress, name) && found != present.end() &&
             found->second != id;
    });
  }
  for (const std::string& service : restarted) result[service] = id;
  return result;
}

RestartAnnotations storedRestartAnnotations(const Value& graph) {
  return restartAnnotations(graph, storedStep(graph), storedUpdateInProgress(graph), {});
}

Value restartStatus(const RestartStep& step, json::Allocator& allocator) {
  if (step.observedId.empty()) return Value{};
  const json::Maker make{allocator};
  Value status = make.object("observedID", step.observedId, "phase", step.phase);
  if (step.inProgress.empty()) return status;
  Value list = make.list();
  for (const std::string& name : step.inProgress) make.push(list, name);
  make.set(status, "inProgress", std::move(list));
  return status;
}

}  // namespace dynamo::lifecycle
