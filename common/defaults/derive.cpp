#include "common/defaults/derive.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "common/api/dynamo.h"
#include "common/defaults/units.h"
#include "common/defaults/writer.h"

namespace dynamo::defaults {
namespace {

using json::Allocator;
using json::Value;
using model::Unit;

constexpr std::array<std::string_view, 1> kSharedMemory = {"sharedMemory"};
constexpr std::array<std::string_view, 1> kPodSpec = {"extraPodSpec"};
constexpr std::array<std::string_view, 2> kMainContainer = {"extraPodSpec", "mainContainer"};
constexpr std::array<std::string_view, 3> kLifecycle = {"extraPodSpec", "mainContainer", "lifecycle"};

/// The units for absent fields. Units that complete a value of the user are applied to pods only.
std::vector<Unit> onlyAbsent(std::vector<Unit>&& units) {
  std::erase_if(units, [](const Unit& unit) { return unit.how != Unit::How::Absent; });
  return std::move(units);
}

}  // namespace

model::Completion complete(const Value& component, const Derivation& from, Allocator& allocator) {
  const GraphContext& graphContext = from.graphContext;
  const std::string dynamoNamespace =
      model::dynamoNamespace(json::findBool(&component, "globalDynamoNamespace").value_or(false),
                             graphContext.namespaceName, graphContext.graph);
  const std::string_view own =
      json::findText(json::findObject(&component, "annotations"), api::annotation::kDiscoveryBackend);
  const std::string type{json::findText(&component, "componentType")};
  const model::CompletionInput input{
      from.components,
      from.config,
      type,
      graphContext.graph,
      graphContext.namespaceName,
      dynamoNamespace,
      model::discoveryBackend(own, graphContext.discovery, from.config.discoveryBackend),
      graphContext.envNames};
  return model::complete(component, input, allocator);
}

Value derive(Value& component, const Derivation& from, Allocator& allocator) {
  const std::string source = derivedFrom(component, from.graphContext);
  const bool userLists = from.components.completesUserLists();
  const Value* main = json::find(json::find(&component, "extraPodSpec"), "mainContainer");
  const bool hasEnv = json::find(main, "env") != nullptr;
  model::Completion made = complete(component, from, allocator);
  Writer writer{component, from.node, from.claim, allocator};
  writer.members(kSharedMemory, onlyAbsent(std::move(made.sharedMemory)));
  writer.members(kPodSpec, onlyAbsent(std::move(made.podSpec)));
  if (userLists) writer.items(kPodSpec, "volumes", std::move(made.volumes));
  writer.members(kMainContainer, onlyAbsent(std::move(made.mainContainer)));
  if (userLists) writer.items(kMainContainer, "volumeMounts", std::move(made.volumeMounts));
  const bool takesEnv = userLists || !hasEnv;
  if (from.preStop) {
    writer.members(kLifecycle, std::move(made.lifecycle));
    if (takesEnv) {
      std::move(made.lifecycleEnv.begin(), made.lifecycleEnv.end(), std::back_inserter(made.env));
      std::sort(made.env.begin(), made.env.end(),
                [](const Unit& a, const Unit& b) { return a.name < b.name; });
    } else if (json::find(&component, "envs") == nullptr) {
      writer.items({}, "envs", std::move(made.lifecycleEnv));
    }
  }
  if (takesEnv) writer.items(kMainContainer, "env", std::move(made.env));
  Value trie = writer.take();
  if (!trie.ObjectEmpty()) json::set(trie, kDerivedFrom, json::string(source, allocator), allocator);
  return trie;
}

}  // namespace dynamo::defaults
