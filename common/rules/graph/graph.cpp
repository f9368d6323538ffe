#include "common/rules/graph/graph.h"

#include <utility>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/model/pathway.h"

namespace dynamo::rules {
using json::Value;

bool Service::hasService() const {
  return discovery == "kubernetes" || type == api::kFrontend || type == api::kEpp;
}

bool Service::checkpointed() const {
  return json::findBool(json::findObject(&spec, "checkpoint"), "enabled").value_or(false);
}

Graph::Graph(const Write& write, Kind kind)
    : model::ResolvedGraph(model::resolveGraphAs(write.object, kind == Kind::Graph)),
      old(write.old),
      username(write.username),
      policy(write.policy) {
  for (model::Component& component : model::resolveComponents(*this, policy.discoveryBackend)) {
    services.push_back({std::move(component), *this});
  }
}

bool Graph::withoutGrove() const {
  return !isGraph || policy.groveDisabled || model::refusesGrove(annotations);
}

bool Graph::onGrove() const {
  if (withoutGrove()) return false;
  const std::string_view asked = json::findText(annotations, api::annotation::kEnableGrove);
  const Value* status = json::findObject(json::findObject(old, "status"), "services");
  if (status != nullptr && k8s::lowerAscii(asked) != "true") {
    for (const auto& service : status->GetObject()) {
      // A graph keeps its pathway while it has children (child-Q23).
      const std::string_view kind = json::findText(&service.value, "componentKind");
      if (!kind.empty()) return kind == "PodClique" || kind == "PodCliqueScalingGroup";
    }
  }
  return policy.groveCertain;
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
