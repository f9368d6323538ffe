#include "common/api/dynamo.h"
#include "common/model/names.h"
#include "common/render/hash.h"
#include "common/render/network.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

Value portOf(std::string_view type, const json::Maker& make) {
  if (type == api::kFrontend) {
    return make.object("name", "http", "port", api::kFrontendPort, "targetPort", "http", "protocol", "TCP");
  }
  if (type == api::kEpp) {
    return make.object("name", "grpc", "port", api::kEppGrpcPort, "targetPort", api::kEppGrpcPort, "protocol",
                       "TCP", "appProtocol", "http2");
  }
  return make.object("name", "system", "port", api::kSystemPort, "targetPort", "system", "protocol", "TCP");
}

}  // namespace

void renderComponentService(const Value& owner, const Component& component, std::string_view name,
                            Value&& labels, Value&& annotations, bool leaderOnly, Children& children) {
  Allocator& allocator = children.memory();
  const json::Maker make{allocator};
  const bool discovered = component.discovery == "kubernetes";
  const std::string_view type = component.type;
  if (!discovered && type != api::kFrontend && type != api::kEpp) return;
  if (discovered) {
    make.set(labels, api::label::kDiscoveryBackend, "kubernetes");
    make.set(labels, api::label::kDiscoveryEnabled, "true");
  }
  Value selector =
      make.object(api::label::kNamespace, component.dynamoNamespace, api::label::kComponent, component.key);
  if (!type.empty()) make.set(selector, api::label::kComponentType, type);
  if (leaderOnly && component.multinode()) make.set(selector, api::label::kRole, "leader");
  Value service = makeObject("v1", "Service", name, component.namespaceName, allocator);
  setMetadata(service, "labels", std::move(labels), allocator);
  setMetadata(service, "annotations", std::move(annotations), allocator);
  setOwner(service, owner, allocator);
  make.set(service, "spec",
           make.object("ports", make.list(portOf(type, make)), "selector", std::move(selector)));
  children.add(std::move(service), component.key);
}

void renderModelService(const Value& owner, std::string_view model, bool controller, Children& children) {
  Allocator& allocator = children.memory();
  const json::Maker make{allocator};
  const std::string hash = modelHash(model);
  const std::string name = std::string{kModelServicePrefix} + hash;
  for (const Child& child : children.items) {
    if (child.key.name == name && child.key.kind == "Service") return;
  }
  Value service = makeObject("v1", "Service", name, namespaceOf(owner), allocator);
  setMetadata(service, "labels",
              make.object(api::label::kBaseModelHash, hash, api::label::kManagedBy, api::kOperatorName),
              allocator);
  setMetadata(service, "annotations", make.object(api::annotation::kBaseModel, model), allocator);
  setOwner(service, owner, allocator, controller);
  make.set(
      service, "spec",
      make.object("clusterIP", "None", "selector", make.object(api::label::kBaseModelHash, hash), "ports",
                  make.list(make.object("name", "system", "port", api::kSystemPort, "targetPort",
                                        api::kSystemPort, "protocol", "TCP"))));
  children.add(std::move(service));
}

}  // namespace dynamo::render
