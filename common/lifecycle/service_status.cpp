// Quirks ctl-Q4, ctl-Q42.
#include "common/lifecycle/service_status.h"

#include <algorithm>
#include <set>

#include "common/json/build.h"
#include "common/lifecycle/grove_limits.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/rolling_update.h"
#include "common/render/checkpoint.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kCounts[] = {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"};

/// Grove's kinds always have counts. They are zero while the clique does not exist.
Value cliqueStatus(const GraphView& view, const ServiceState& service, const json::Maker& make) {
  Value made = make.object("componentKind", service.kind, "componentName", service.childName,
                           "componentNames", make.list(service.childName));
  const Value* status = service.child == nullptr ? nullptr : statusOf(*service.child);
  const std::string_view serving = service.kind == "PodClique" ? "readyReplicas" : "availableReplicas";
  for (const std::string_view count :
       {std::string_view{"replicas"}, std::string_view{"updatedReplicas"}, serving})
    make.set(made, count, countAt(status, count));
  if (const auto minimum = workerMinAvailable(view, service)) make.set(made, "minAvailable", *minimum);
  return made;
}

/// Adds the counts of the old generations, except updatedReplicas.
void addOld(Value& service, const std::vector<const Value*>& old, const json::Maker& make) {
  std::set<std::string, std::less<>> names;
  const auto addNames = [&](const Value& of) {
    const Value* list = json::find(of, "componentNames");
    if (list == nullptr || !list->IsArray()) return;
    for (const Value& name : list->GetArray()) names.emplace(json::text(name));
  };
  addNames(service);
  for (const Value* component : old) {
    const Value* counts = json::findObject(statusOf(*component), "service");
    if (counts == nullptr) continue;
    addNames(*counts);
    for (const std::string_view count : kCounts) {
      if (count == "updatedReplicas" || json::find(*counts, count) == nullptr) continue;
      make.set(service, count, countAt(&service, count) + countAt(counts, count));
    }
  }
  Value list = make.list();
  for (const std::string& name : names) make.push(list, name);
  make.set(service, "componentNames", std::move(list));
}

Value componentStatus(const ServiceState& service, const std::vector<const Value*>& old,
                      const json::Maker& make) {
  const Value* status = service.child == nullptr ? nullptr : statusOf(*service.child);
  const Value* own = json::findObject(status, "service");
  if (own == nullptr && old.empty()) return Value{};
  Value made;
  if (own != nullptr) {
    made = make.value(*own);
  } else {
    const Value* counts = json::findObject(statusOf(*old.front()), "service");
    if (counts == nullptr) return Value{};
    made = make.object("componentKind", json::findText(counts, "componentKind"), "componentName",
                       service.childName, "replicas", 0, "updatedReplicas", 0);
  }
  if (!old.empty()) addOld(made, old, make);
  return made;
}

}  // namespace

Value servicesStatus(const GraphView& view, std::span<const ServiceState> services, bool rolling,
                     Allocator& allocator) {
  const json::Maker make{allocator};
  Value all = make.object();
  const std::vector<const Value*> components = rolling ? ownComponents(view) : std::vector<const Value*>{};
  for (const ServiceState& service : services) {
    std::vector<const Value*> old;
    if (service.worker) old = oldGenerations(components, service.name, view.workerHash);
    Value status = view.grove ? cliqueStatus(view, service, make) : componentStatus(service, old, make);
    if (!status.IsNull()) make.set(all, service.name, std::move(status));
  }
  return all.ObjectEmpty() ? Value{} : std::move(all);
}

Value checkpointsStatus(const GraphView& view, std::span<const ServiceState> services, Allocator& allocator) {
  const json::Maker make{allocator};
  Value all = make.object();
  for (const ServiceState& service : services) {
    if (service.spec == nullptr) continue;
    const render::CheckpointUse use = render::resolveCheckpoint(
        *service.spec, json::findText(metadataOf(view.graph), "namespace"), view.facts);
    if (!use.enabled) continue;
    Value status = make.object();
    if (!use.name.empty()) make.set(status, "checkpointName", use.name);
    if (!use.hash.empty()) make.set(status, "identityHash", use.hash);
    if (use.ready) make.set(status, "ready", true);
    make.set(all, service.name, std::move(status));
  }
  return all.ObjectEmpty() ? Value{} : std::move(all);
}

}  // namespace dynamo::lifecycle
