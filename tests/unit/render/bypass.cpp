#include "tests/unit/render/bypass.h"

#include "common/api/dynamo.h"
#include "common/api/kinds.h"

namespace dynamo::render::test {
namespace {

using json::Allocator;
using json::Value;

void giveReplicas(Value& component, const Value* admitted, Allocator& allocator) {
  const Value* replicas = json::find(admitted, "replicas");
  if (replicas == nullptr || !component.IsObject() || json::find(component, "replicas") != nullptr) return;
  json::set(component, "replicas", json::copy(*replicas, allocator), allocator);
}

}  // namespace

void annotate(Value& object, std::string_view key, std::string_view value, Allocator& allocator) {
  Value& metadata = json::ensureObject(object, "metadata", allocator);
  json::set(json::ensureObject(metadata, "annotations", allocator), key, json::string(value, allocator),
            allocator);
}

Value stamped(const Value& object, const Value& admitted, Allocator& allocator) {
  Value made = json::copy(object, allocator);
  const Value* annotations = json::find(json::find(&admitted, "metadata"), "annotations");
  const std::string_view version = json::findText(annotations, api::annotation::kOriginVersion);
  if (!version.empty()) annotate(made, api::annotation::kOriginVersion, version, allocator);
  Value* spec = json::find(made, "spec");
  if (spec == nullptr) return made;
  const Value* admittedSpec = json::find(admitted, "spec");
  if (json::findText(&object, "kind") == api::kDynamoComponentDeployment) {
    giveReplicas(*spec, admittedSpec, allocator);
    return made;
  }
  Value* services = json::find(*spec, "services");
  if (services == nullptr || !services->IsObject()) return made;
  const Value* admittedServices = json::find(admittedSpec, "services");
  for (auto& service : services->GetObject()) {
    giveReplicas(service.value, json::find(admittedServices, json::text(service.name)), allocator);
  }
  return made;
}

const Value& compared(const Child& child) {
  const bool hands = json::findText(&child.object, "kind") == api::kDynamoComponentDeployment;
  return hands ? *json::find(child.object, "metadata") : child.object;
}

}  // namespace dynamo::render::test
