#include "common/lifecycle/missing_references.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// Calls `each(service, claim)` for every claim that a service mounts.
template <typename Each>
void forEachMountedClaim(const Value& graph, Each each) {
  const Value* services = json::findObject(specOf(graph), "services");
  if (services == nullptr) return;
  for (const auto& service : services->GetObject()) {
    const Value* mounts = json::find(&service.value, "volumeMounts");
    if (mounts == nullptr || !mounts->IsArray()) continue;
    for (const Value& mount : mounts->GetArray()) {
      const std::string_view name = json::findText(&mount, "name");
      if (!name.empty()) each(json::text(service.name), name);
    }
  }
}

template <typename Each>
void forEachListedClaim(const Value& graph, Each each) {
  const Value* list = json::find(specOf(graph), "pvcs");
  if (list == nullptr || !list->IsArray()) return;
  for (const Value& claim : list->GetArray()) {
    const std::string_view name = json::findText(&claim, "name");
    if (!name.empty()) each(name, json::findBool(&claim, "create").value_or(false));
  }
}

/// A claim that the graph creates is never missing.
void addMissingClaims(const Value& graph, std::span<const Value* const> claims,
                      std::vector<Ending>& missing) {
  std::set<std::string_view> known;  // claims that exist or are reported
  for (const Value* claim : claims) known.insert(nameOf(*claim));
  forEachListedClaim(graph, [&](std::string_view name, bool create) {
    if (create) known.insert(name);
  });
  const auto add = [&](std::string message) {
    missing.emplace_back(Permanent{std::move(message), kNotFoundError});
  };
  forEachListedClaim(graph, [&](std::string_view name, bool) {
    if (known.insert(name).second) add(fmt::format("PersistentVolumeClaim \"{}\" does not exist", name));
  });
  forEachMountedClaim(graph, [&](std::string_view service, std::string_view name) {
    if (!known.insert(name).second) return;
    add(fmt::format("service {} mounts PersistentVolumeClaim \"{}\", which does not exist", service, name));
  });
}

void addMissingCheckpoint(std::string_view namespaceName, std::string_view service, const Value& spec,
                          const render::FactsView& facts, std::vector<Ending>& missing) {
  const Value* checkpoint = json::findObject(&spec, "checkpoint");
  const std::string_view name = json::findText(checkpoint, "checkpointRef");
  if (name.empty() || !json::findBool(checkpoint, "enabled").value_or(false)) return;
  if (facts.checkpointNamed(namespaceName, name) != nullptr) return;
  missing.emplace_back(Permanent{
      fmt::format("service {} refers to DynamoCheckpoint \"{}\", which does not exist", service, name),
      kNotFoundError});
}

}  // namespace

std::vector<std::string_view> claimsOf(const Value& graph) {
  std::vector<std::string_view> names;
  std::set<std::string_view> seen;
  const auto add = [&](std::string_view name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  forEachListedClaim(graph, [&](std::string_view name, bool) { add(name); });
  forEachMountedClaim(graph, [&](std::string_view, std::string_view name) { add(name); });
  return names;
}

std::vector<Ending> missingReferences(const Value& graph, std::span<const Value* const> claims,
                                      const render::FactsView& facts) {
  std::vector<Ending> missing;
  addMissingClaims(graph, claims, missing);
  const Value* services = json::findObject(specOf(graph), "services");
  if (services == nullptr) return missing;
  for (const auto& service : services->GetObject()) {
    addMissingCheckpoint(json::findText(metadataOf(graph), "namespace"), json::text(service.name),
                         service.value, facts, missing);
  }
  return missing;
}

}  // namespace dynamo::lifecycle
