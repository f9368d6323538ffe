// The input that the defaults of a component depend on.
#include <algorithm>
#include <array>

#include "common/api/dynamo.h"
#include "common/defaults/derive.h"
#include "common/defaults/digest.h"
#include "common/model/claim_mounts.h"
#include "common/model/graph.h"

namespace dynamo::defaults {
namespace {

using json::Value;

constexpr std::array<std::string_view, 4> kIgnoredMembers = {"replicas", "scalingAdapter", "labels",
                                                             "annotations"};

bool isRelevant(const Value::Member& member) {
  return !member.value.IsNull() && std::find(kIgnoredMembers.begin(), kIgnoredMembers.end(),
                                             json::text(member.name)) == kIgnoredMembers.end();
}

std::string_view discoveryOf(const Value& component) {
  return json::findText(json::findObject(&component, "annotations"), api::annotation::kDiscoveryBackend);
}

}  // namespace

GraphContext graphContextOf(const Value& object, std::string_view fallbackNamespace) {
  const model::ResolvedGraph graph = model::resolveGraph(object, fallbackNamespace);
  GraphContext graphContext{std::string{graph.graphName}, std::string{graph.namespaceName}, {}, {}};
  if (!graph.isGraph) return graphContext;
  graphContext.discovery = json::findText(graph.annotations, api::annotation::kDiscoveryBackend);
  const Value* variables = json::find(graph.spec, "envs");
  if (variables == nullptr || !variables->IsArray()) return graphContext;
  std::vector<std::string_view>& names = graphContext.envNames;
  for (const Value& variable : variables->GetArray()) names.push_back(json::findText(&variable, "name"));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return graphContext;
}

bool sameIntent(const Value& a, const Value& b) {
  if (!a.IsObject() || !b.IsObject()) return json::equal(a, b);
  if (discoveryOf(a) != discoveryOf(b)) return false;
  const auto relevantMembers = [](const Value& v) {
    return std::count_if(v.MemberBegin(), v.MemberEnd(), isRelevant);
  };
  if (relevantMembers(a) != relevantMembers(b)) return false;
  return std::all_of(a.MemberBegin(), a.MemberEnd(), [&](const Value::Member& member) {
    const std::string_view name = json::text(member.name);
    return !isRelevant(member) || model::sameComponentField(name, &member.value, json::find(&b, name));
  });
}

bool samePods(const Value& a, const Value& b) {
  return a.IsObject() && b.IsObject() && model::samePodFields(a, b) &&
         json::findText(&a, "componentType") == json::findText(&b, "componentType");
}

std::string derivedFrom(const Value& component, const GraphContext& graphContext) {
  std::uint64_t members = 0;
  for (const auto& member : component.GetObject()) {
    if (isRelevant(member)) members += chain(hashOf(json::text(member.name)), hashOf(member.value));
  }
  std::uint64_t hash = chain(members, hashOf(discoveryOf(component)));
  for (const std::string* text :
       {&graphContext.graph, &graphContext.namespaceName, &graphContext.discovery}) {
    hash = chain(hash, hashOf(*text));
  }
  for (const std::string_view name : graphContext.envNames) hash = chain(hash, hashOf(name));
  return digestText(hash);
}

}  // namespace dynamo::defaults
