// What of a component its defaults depend on.
#include <algorithm>
#include <array>

#include "common/api/dynamo.h"
#include "common/defaults/derive.h"
#include "common/defaults/digest.h"
#include "common/model/graph.h"

namespace dynamo::defaults {
namespace {

using json::Value;

constexpr std::array<std::string_view, 4> kNotCounting = {"replicas", "scalingAdapter", "labels",
                                                          "annotations"};

bool counts(const Value::Member& member) {
  return !member.value.IsNull() &&
         std::find(kNotCounting.begin(), kNotCounting.end(), json::text(member.name)) == kNotCounting.end();
}

std::string_view discoveryOf(const Value& component) {
  return json::findText(json::findObject(&component, "annotations"), api::annotation::kDiscoveryBackend);
}

}  // namespace

Surroundings surroundingsOf(const Value& object, std::string_view fallbackNamespace) {
  const model::Graph graph = model::resolveGraph(object, fallbackNamespace);
  Surroundings around{std::string{graph.graphName}, std::string{graph.namespaceName}, {}, {}};
  if (!graph.isGraph) return around;
  around.discovery = json::findText(graph.annotations, api::annotation::kDiscoveryBackend);
  const Value* variables = json::find(graph.spec, "envs");
  if (variables == nullptr || !variables->IsArray()) return around;
  std::vector<std::string_view>& names = around.envNames;
  for (const Value& variable : variables->GetArray()) names.push_back(json::findText(&variable, "name"));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return around;
}

bool sameIntent(const Value& a, const Value& b) {
  if (!a.IsObject() || !b.IsObject()) return json::equal(a, b);
  if (discoveryOf(a) != discoveryOf(b)) return false;
  const auto countingIn = [](const Value& v) {
    return std::count_if(v.MemberBegin(), v.MemberEnd(), counts);
  };
  if (countingIn(a) != countingIn(b)) return false;
  return std::all_of(a.MemberBegin(), a.MemberEnd(), [&](const Value::Member& member) {
    return !counts(member) || json::equal(&member.value, json::find(&b, json::text(member.name)));
  });
}

std::string derivedFrom(const Value& component, const Surroundings& around) {
  std::uint64_t members = 0;
  for (const auto& member : component.GetObject()) {
    if (counts(member)) members += chain(hashOf(json::text(member.name)), hashOf(member.value));
  }
  std::uint64_t hash = chain(members, hashOf(discoveryOf(component)));
  for (const std::string* text : {&around.graph, &around.namespaceName, &around.discovery}) {
    hash = chain(hash, hashOf(*text));
  }
  for (const std::string_view name : around.envNames) hash = chain(hash, hashOf(name));
  return digestText(hash);
}

}  // namespace dynamo::defaults
