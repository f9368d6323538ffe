#include "common/model/claim_mounts.h"

#include <algorithm>
#include <array>

#include "common/json/build.h"

namespace dynamo::model {
namespace {

using json::Value;

constexpr std::string_view kCache = "useAsCompilationCache";

/// Fields of a component that do not belong to its pods, and fields that the graph adds.
constexpr std::array<std::string_view, 13> kNotInPods = {
    "annotations", "labels",      "serviceName",     "componentType", "subComponentType",
    "replicas",    "autoscaling", "scalingAdapter",  "ingress",       "dynamoNamespace",
    "modelRef",    "eppConfig",   "backendFramework"};

/// Whether every member of `a` but a false `useAsCompilationCache` equals that of `b`.
bool includes(const Value& a, const Value& b) {
  return std::all_of(a.MemberBegin(), a.MemberEnd(), [&](const Value::Member& member) {
    const std::string_view name = json::text(member.name);
    return (name == kCache && member.value.IsFalse()) || json::equal(&member.value, json::find(&b, name));
  });
}

/// Whether every pod field of `a` equals that of `b`.
bool includesPodFields(const Value& a, const Value& b) {
  return std::all_of(a.MemberBegin(), a.MemberEnd(), [&](const Value::Member& member) {
    const std::string_view name = json::text(member.name);
    return !isPodField(name) || json::isEmpty(member.value) ||
           sameComponentField(name, &member.value, json::find(&b, name));
  });
}

}  // namespace

bool sameClaimMount(const Value& a, const Value& b) {
  if (!a.IsObject() || !b.IsObject()) return json::equal(a, b);
  return includes(a, b) && includes(b, a);
}

bool isPodField(std::string_view name) {
  return std::find(kNotInPods.begin(), kNotInPods.end(), name) == kNotInPods.end();
}

bool sameComponentField(std::string_view name, const Value* a, const Value* b) {
  if (name != "volumeMounts" || a == nullptr || b == nullptr || !a->IsArray() || !b->IsArray()) {
    return json::equal(a, b);
  }
  return std::equal(a->Begin(), a->End(), b->Begin(), b->End(), sameClaimMount);
}

bool samePodFields(const Value& a, const Value& b) {
  return includesPodFields(a, b) && includesPodFields(b, a);
}

}  // namespace dynamo::model
