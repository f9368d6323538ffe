#include "common/lifecycle/restart.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

std::vector<std::string> texts(const Value* list) {
  std::vector<std::string> all;
  if (list == nullptr || !list->IsArray()) return all;
  for (const Value& item : list->GetArray()) all.emplace_back(json::text(item));
  return all;
}

bool isFinal(std::string_view phase) {
  return phase == phase::kCompleted || phase == phase::kFailed || phase == phase::kSuperseded;
}

class Restart {
 public:
  Restart(const GraphView& view, std::span<const ServiceState> services, std::string_view id)
      : view_(view), services_(services), id_(id) {}

  RestartStep parallel(std::vector<std::string> running) const {
    std::erase_if(running, [&](const std::string& name) { return done(name); });
    return step(std::move(running));
  }

  /// From `current` on; empty: from the beginning.
  RestartStep sequential(const std::vector<std::string>& order, std::string_view current) const {
    auto at = current.empty() ? order.begin() : std::find(order.begin(), order.end(), current);
    while (at != order.end() && done(*at)) ++at;
    return step(at == order.end() ? std::vector<std::string>{} : std::vector{*at});
  }

 private:
  RestartStep step(std::vector<std::string> running) const {
    const std::string_view phase = running.empty() ? phase::kCompleted : phase::kRestarting;
    return {id_, std::string{phase}, std::move(running), {}};
  }

  /// A service that has restarted carries the id, and is ready with it. One that the graph no longer has
  /// holds up nobody.
  bool done(std::string_view name) const {
    const auto found =
        std::find_if(services_.begin(), services_.end(), [&](const auto& s) { return s.name == name; });
    if (found == services_.end()) return true;
    if (view_.grove && !podCliqueSetReadiness(view_.podCliqueSet).ready) return false;
    return found->readiness.ready && restartOf(view_, *found) == id_;
  }

  const GraphView& view_;
  std::span<const ServiceState> services_;
  std::string id_;
};

}  // namespace

RestartStep restartStep(const GraphView& view, std::span<const ServiceState> services, bool workersRoll) {
  const Value* status = json::findObject(statusOf(view.graph), "restart");
  const std::string_view observedId = json::findText(status, "observedID");
  const std::string_view stored = json::findText(status, "phase");
  RestartStep kept{std::string{observedId}, std::string{stored}, texts(json::find(status, "inProgress")), {}};
  const Value* request = json::findObject(specOf(view.graph), "restart");
  const std::string_view id = json::findText(request, "id");
  if (id.empty()) return isFinal(stored) ? kept : RestartStep{};
  if (id == observedId && isFinal(stored)) return kept;
  if (workersRoll) {
    const std::string text = "restart " + std::string{id} + " is left out: workers roll to a new spec";
    return {std::string{id}, std::string{phase::kSuperseded}, {}, {warning("RestartSuperseded", text)}};
  }
  const bool runs =
      std::any_of(services.begin(), services.end(), [](const ServiceState& s) { return s.child != nullptr; });
  if (!runs && id != observedId) return {std::string{id}, std::string{phase::kCompleted}, {}, {}};
  std::vector<std::string> all;
  for (const ServiceState& service : services) all.emplace_back(service.name);
  const Restart restart{view, services, id};
  const Value* strategy = json::findObject(request, "strategy");
  const std::vector<std::string>& running = kept.inProgress;
  const bool begins = id != observedId || running.empty();
  if (json::findText(strategy, "type") == "Parallel") return restart.parallel(begins ? all : running);
  const std::vector<std::string> order = texts(json::find(strategy, "order"));
  return restart.sequential(order.empty() ? all : order, begins ? std::string_view{} : running.front());
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
