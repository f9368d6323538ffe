#include "controller/view/checkpoint_users.h"

#include <algorithm>
#include <string_view>

#include "common/api/kinds.h"
#include "common/lifecycle/object.h"
#include "common/render/hash.h"

namespace dynamo::view {
namespace {

using json::Value;
using lifecycle::nameOf;
using lifecycle::specOf;
using lifecycle::statusOf;

bool usesBySpec(const Value& service, std::string_view name, std::string_view hash) {
  const Value* given = json::findObject(&service, "checkpoint");
  if (!json::findBool(given, "enabled").value_or(false)) return false;
  const std::string_view reference = json::findText(given, "checkpointRef");
  if (!reference.empty()) return reference == name;
  const Value* identity = json::findObject(given, "identity");
  return identity != nullptr && render::identityHash(*identity) == hash;
}

}  // namespace

std::string identityHashOf(const Value& checkpoint) {
  const std::string_view stored = json::findText(statusOf(checkpoint), "identityHash");
  const Value* identity = json::findObject(specOf(checkpoint), "identity");
  return !stored.empty() || identity == nullptr ? std::string{stored} : render::identityHash(*identity);
}

std::vector<CheckpointUser> usersOf(const Value& checkpoint, std::span<const Value* const> objects) {
  const std::string hash = identityHashOf(checkpoint);
  std::vector<CheckpointUser> users;
  for (const Value* graph : objects) {
    const Value* services = json::findObject(specOf(*graph), "services");
    if (json::findText(graph, "kind") != api::kDynamoGraphDeployment || services == nullptr ||
        lifecycle::namespaceOf(*graph) != lifecycle::namespaceOf(checkpoint))
      continue;
    const Value* observed = json::findObject(statusOf(*graph), "checkpoints");
    CheckpointUser user{.graph = graph, .services = {}};
    for (const auto& entry : services->GetObject()) {
      const std::string_view used =
          json::findText(json::findObject(observed, json::text(entry.name)), "checkpointName");
      const bool uses =
          used.empty() ? usesBySpec(entry.value, nameOf(checkpoint), hash) : used == nameOf(checkpoint);
      if (uses) user.services.emplace_back(json::text(entry.name));
    }
    if (!user.services.empty()) users.push_back(std::move(user));
  }
  std::sort(users.begin(), users.end(), [](const CheckpointUser& a, const CheckpointUser& b) {
    return nameOf(*a.graph) < nameOf(*b.graph);
  });
  return users;
}

}  // namespace dynamo::view
