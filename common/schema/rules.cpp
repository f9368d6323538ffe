#include "common/schema/rules.h"

#include <algorithm>
#include <array>

#include "common/schema/defaults.h"
#include "common/schema/node.h"

namespace dynamo::schema {
namespace {

using json::Value;

bool pvcComplete(const CelInput& in) {
  if (!json::findBool(&in.self, "create").value_or(false)) return true;
  return json::find(in.self, "size") != nullptr && json::find(in.self, "storageClass") != nullptr &&
         json::find(in.self, "volumeAccessMode") != nullptr;
}

bool checkpointSource(const CelInput& in) {
  if (!json::findBool(&in.self, "enabled").value_or(false)) return true;
  const Value* identity = json::find(in.self, "identity");
  return !json::findText(&in.self, "checkpointRef").empty() ||
         (json::find(identity, "model") != nullptr && json::find(identity, "backendFramework") != nullptr);
}

/// Compares the identities with schema defaults, as they would be stored.
bool identityImmutable(const CelInput& in) {
  const Value* before = json::find(json::find(in.old, "spec"), "identity");
  if (before == nullptr) return true;
  const Value* now = json::find(json::find(&in.self, "spec"), "identity");
  if (now == nullptr) return false;
  const Node& schema = *in.node.member("spec")->member("identity");
  json::Document scratch;
  Value a = json::copy(*before, scratch.GetAllocator());
  Value b = json::copy(*now, scratch.GetAllocator());
  applySchemaDefaults(schema, a, scratch.GetAllocator());
  applySchemaDefaults(schema, b, scratch.GetAllocator());
  return json::equal(a, b);
}

bool serviceNotNull(const CelInput& in) {
  return std::none_of(in.self.MemberBegin(), in.self.MemberEnd(),
                      [](const Value::Member& member) { return member.value.IsNull(); });
}

constexpr std::array kRules{
    CelRule{"service-not-null", false, serviceNotNull},
    CelRule{"pvc-complete", false, pvcComplete},
    CelRule{"checkpoint-source", false, checkpointSource},
    CelRule{"identity-immutable", true, identityImmutable},
};

}  // namespace

const CelRule* findCelRule(std::string_view name) {
  const auto found =
      std::find_if(kRules.begin(), kRules.end(), [&](const CelRule& rule) { return rule.name == name; });
  return found == kRules.end() ? nullptr : &*found;
}

}  // namespace dynamo::schema
