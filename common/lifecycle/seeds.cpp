#include "common/lifecycle/seeds.h"

#include "common/api/kinds.h"

namespace dynamo::lifecycle {

json::Value withoutSeeds(const json::Value& child, json::Allocator& allocator) {
  json::Value applied = json::alias(child);
  if (json::findText(&child, "kind") != api::kDynamoGraphDeploymentScalingAdapter) return applied;
  json::own(applied, allocator);
  json::Value* spec = json::find(applied, "spec");
  if (spec == nullptr) return applied;
  json::own(*spec, allocator);
  json::remove(*spec, "replicas");
  return applied;
}

}  // namespace dynamo::lifecycle
