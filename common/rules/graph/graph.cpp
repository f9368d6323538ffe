#include "common/rules/graph/graph.h"

#include <algorithm>
#include <utility>

#include "common/api/dynamo.h"
#include "common/defaults/identity.h"
#include "common/k8s/names.h"
#include "common/render/component.h"
#include "common/render/names.h"

namespace dynamo::rules {
namespace {

using json::Value;

std::string_view graphNameOf(const Graph& graph) {
  if (graph.isGraph()) return graph.name;
  if (graph.graphOwner != nullptr) return json::findText(graph.graphOwner, "name");
  for (const Value* labels :
       {json::findObject(graph.metadata, "labels"), json::findObject(graph.spec, "labels")}) {
    const std::string_view name = json::findText(labels, api::label::kGraph);
    if (!name.empty()) return name;
  }
  return graph.name;
}

Service makeService(const Graph& graph, const Value& spec, std::string path, std::string_view key) {
  Service service{graph, spec, std::move(path), std::string{key}, {}, 1, {}, {}};
  service.type = json::findText(&spec, "componentType");
  service.nodes = render::nodeCount(spec);
  service.framework = render::detectFramework(spec, json::findText(graph.spec, "backendFramework"));
  service.discovery = render::discoveryBackend(
      service.annotations(), graph.isGraph() ? graph.annotations : nullptr, graph.policy.discoveryBackend);
  return service;
}

}  // namespace

bool Service::hasService() const {
  return discovery == "kubernetes" || type == api::kFrontend || type == api::kEpp;
}

bool Service::checkpointed() const {
  return json::findBool(json::findObject(&spec, "checkpoint"), "enabled").value_or(false);
}

Graph::Graph(const Request& request, Kind of)
    : object(request.object),
      old(request.old),
      username(request.username),
      policy(request.policy),
      kind(of),
      metadata(json::findObject(&object, "metadata")),
      spec(json::findObject(&object, "spec")),
      annotations(json::findObject(metadata, "annotations")),
      name(json::findText(metadata, "name")),
      namespaceName(json::findText(metadata, "namespace")),
      graphOwner(of == Kind::Component ? defaults::graphOwner(object) : nullptr) {
  graphName = graphNameOf(*this);
  if (!isGraph()) {
    static const Value kNothing{rapidjson::kObjectType};
    const std::string_view given = json::findText(spec, "serviceName");
    services.push_back(
        makeService(*this, spec == nullptr ? kNothing : *spec, "spec", given.empty() ? name : given));
    return;
  }
  std::vector<std::pair<std::string_view, const Value*>> given;
  forEachMember(json::findObject(spec, "services"), [&](std::string_view key, const Value& value) {
    if (value.IsObject()) given.emplace_back(key, &value);
  });
  std::sort(given.begin(), given.end());
  for (const auto& [key, value] : given) {
    services.push_back(makeService(*this, *value, "spec.services[" + std::string{key} + "]", key));
  }
}

bool Graph::refusesGrove() const {
  return equalsIgnoringCase(json::findText(annotations, api::annotation::kEnableGrove), "false");
}

bool Graph::withoutGrove() const {
  return !isGraph() || policy.groveDisabled || refusesGrove();
}

std::optional<long long> integerAt(const Value* object, std::string_view field) {
  const Value* value = json::find(object, field);
  if (value == nullptr || !value->IsInt64()) return std::nullopt;
  return value->GetInt64();
}

std::vector<std::string_view> textsOf(const Value* list) {
  std::vector<std::string_view> texts;
  if (list == nullptr || !list->IsArray()) return texts;
  for (const Value& item : list->GetArray()) {
    if (item.IsString()) texts.push_back(json::text(item));
  }
  return texts;
}

bool equalsIgnoringCase(std::string_view text, std::string_view lowerCase) {
  return k8s::lowerAscii(text) == lowerCase;
}

std::string serviceAccountOf(std::string_view username) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (!username.starts_with(kPrefix)) return {};
  username.remove_prefix(kPrefix.size());
  const std::size_t colon = username.find(':');
  if (colon == std::string_view::npos || username.find(':', colon + 1) != std::string_view::npos) return {};
  return std::string{username.substr(0, colon)} + '/' + std::string{username.substr(colon + 1)};
}

bool isOperator(std::string_view username, const GraphPolicy& policy) {
  return !policy.operatorAccount.empty() && serviceAccountOf(username) == policy.operatorAccount;
}

}  // namespace dynamo::rules
