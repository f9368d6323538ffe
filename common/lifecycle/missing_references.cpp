#include "common/lifecycle/missing_references.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

void addMissingClaims(const Value& graph, std::span<const Value* const> claims,
                      std::vector<Failure>& missing) {
  const Value* list = json::find(specOf(graph), "pvcs");
  if (list == nullptr || !list->IsArray()) return;
  for (const Value& claim : list->GetArray()) {
    const std::string_view name = json::findText(&claim, "name");
    if (name.empty() || json::findBool(&claim, "create").value_or(false)) continue;
    const bool exists =
        std::any_of(claims.begin(), claims.end(), [&](const Value* c) { return nameOf(*c) == name; });
    if (!exists)
      missing.push_back(
          {fmt::format("PersistentVolumeClaim \"{}\" does not exist", name), false, kNotFoundError});
  }
}

void addMissingCheckpoint(std::string_view namespaceName, std::string_view service, const Value& spec,
                          const render::FactsView& facts, std::vector<Failure>& missing) {
  const Value* checkpoint = json::findObject(&spec, "checkpoint");
  const std::string_view name = json::findText(checkpoint, "checkpointRef");
  if (name.empty() || !json::findBool(checkpoint, "enabled").value_or(false)) return;
  if (facts.checkpointNamed(namespaceName, name) != nullptr) return;
  missing.push_back(
      {fmt::format("service {} refers to DynamoCheckpoint \"{}\", which does not exist", service, name),
       false, kNotFoundError});
}

}  // namespace

std::vector<Failure> missingReferences(const Value& graph, std::span<const Value* const> claims,
                                       const render::FactsView& facts) {
  std::vector<Failure> missing;
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
