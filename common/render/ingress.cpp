#include "common/api/dynamo.h"
#include "common/model/names.h"
#include "common/render/network.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

void setUserMetadata(Value& object, const Value& ingress, const json::Maker& make) {
  for (const std::string_view field : {"labels", "annotations"}) {
    const Value* given = json::findObject(&ingress, field);
    if (given != nullptr) setMetadata(object, field, make.value(*given), make.allocator());
  }
}

Value ingressSpec(const Value& ingress, std::string_view service, const json::Maker& make) {
  const std::string host = ingressHost(ingress);
  Value backend =
      make.object("service", make.object("name", service, "port", make.object("number", api::kFrontendPort)));
  Value path = make.object("path", "/", "pathType", "Prefix", "backend", std::move(backend));
  Value rule = make.object("host", host, "http", make.object("paths", make.list(std::move(path))));
  Value spec = make.object("ingressClassName", json::findText(&ingress, "ingressControllerClassName"),
                           "rules", make.list(std::move(rule)));
  if (const Value* tls = json::findObject(&ingress, "tls")) {
    Value entry = make.object("hosts", make.list(host));
    const std::string_view secret = json::findText(tls, "secretName");
    if (!secret.empty()) make.set(entry, "secretName", secret);
    make.set(spec, "tls", make.list(std::move(entry)));
  }
  return spec;
}

Value virtualServiceSpec(const Value& ingress, std::string_view service, const json::Maker& make) {
  Value destination = make.object("host", service, "port", make.object("number", api::kFrontendPort));
  Value http = make.object("match", make.list(make.object("uri", make.object("prefix", "/"))), "route",
                           make.list(make.object("destination", std::move(destination))));
  return make.object("hosts", make.list(ingressHost(ingress)), "gateways",
                     make.list(json::findText(&ingress, "virtualServiceGateway")), "http",
                     make.list(std::move(http)));
}

}  // namespace

std::string ingressHost(const Value& ingress) {
  std::string host{json::findText(&ingress, "hostPrefix")};
  host += json::findText(&ingress, "host");
  const Value* suffix = json::find(ingress, "hostSuffix");
  return host + '.' + std::string{suffix == nullptr ? "local" : json::text(*suffix)};
}

Value defaultIngress(std::string_view graph, const config::IngressConfig& config, Allocator& allocator) {
  const json::Maker make{allocator};
  Value ingress = make.object("host", graph);
  const bool gateway = !config.virtualServiceGateway.empty();
  if (gateway || !config.controllerClassName.empty()) make.set(ingress, "enabled", true);
  if (gateway) make.set(ingress, "useVirtualService", true);
  if (gateway) make.set(ingress, "virtualServiceGateway", config.virtualServiceGateway);
  if (!config.controllerClassName.empty()) {
    make.set(ingress, "ingressControllerClassName", config.controllerClassName);
  }
  if (!config.controllerTlsSecretName.empty()) {
    make.set(ingress, "tls", make.object("secretName", config.controllerTlsSecretName));
  }
  if (!config.hostSuffix.empty()) make.set(ingress, "hostSuffix", config.hostSuffix);
  return ingress;
}

void renderRoutes(const Value& owner, const Component& component, std::string_view name,
                  const Context& context, Children& children) {
  Allocator& allocator = children.memory();
  if (component.type != api::kFrontend) return;
  const json::Maker make{allocator};
  const Value* given = json::findObject(&component.spec, "ingress");
  // A component deployment of a graph already has the default; a standalone one gets none.
  if (given == nullptr && !component.hosts.grove) return;
  const Value ingress = given != nullptr ? make.value(*given)
                                         : defaultIngress(component.graph, context.config.ingress, allocator);
  if (!json::findBool(&ingress, "enabled").value_or(false)) return;
  const std::string service = model::dashed(name);
  const auto add = [&](std::string_view apiVersion, std::string_view kind, Value&& spec) {
    Value object = makeObject(apiVersion, kind, name, component.namespaceName, allocator);
    setUserMetadata(object, ingress, make);
    setOwner(object, owner, allocator);
    make.set(object, "spec", std::move(spec));
    children.add(std::move(object), component.key);
  };
  if (json::find(ingress, "ingressControllerClassName") != nullptr) {
    add("networking.k8s.io/v1", "Ingress", ingressSpec(ingress, service, make));
  }
  if (!context.config.ingress.virtualServiceGateway.empty() &&
      json::findBool(&ingress, "useVirtualService").value_or(false) &&
      json::find(ingress, "virtualServiceGateway") != nullptr) {
    add("networking.istio.io/v1beta1", "VirtualService", virtualServiceSpec(ingress, service, make));
  }
}

}  // namespace dynamo::render
