// Environment variables of services and graphs (quirks pod-Q29, child-Q31, a1-Q10). Their sources are checked
// in the rendered pods.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/model/names.h"
#include "common/render/deployment_config.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

/// A list of variables and its field path.
struct List {
  const Value* value;
  At at;
};

const Value* sidecarOf(const Service& service) {
  return json::findObject(&service.spec, "frontendSidecar");
}

List ownList(const Service& service) {
  return {service.member("envs"), service.at("envs")};
}

List sidecarList(const Service& service) {
  return {json::find(sidecarOf(service), "envs"), service.at("frontendSidecar.envs")};
}

/// Calls `each(variable, name, place)`.
template <typename Each>
void forEachVariable(const Value* list, const At& at, Each each) {
  forEachObject(list, [&](const Value& variable, std::size_t i) {
    each(variable, json::findText(&variable, "name"), at[i]);
  });
}

/// A check of one list of variables, used for the envs of the graph and of its services.
using ListCheck = void (*)(const Value* list, const At& at, const Report& report);

template <ListCheck check>
void ofGraph(const Graph& graph, const Report& report) {
  check(json::find(graph.spec, "envs"), "spec.envs", report);
}

template <ListCheck check>
void ofService(const Service& service, const Report& report) {
  for (const List& list : {ownList(service), sidecarList(service)}) check(list.value, list.at, report);
}

void names(const Value* list, const At& variables, const Report& report) {
  forEachVariable(list, variables, [&](const Value&, std::string_view name, const At& at) {
    if (name.empty()) return report.required(at / "name", "must be the name of the variable");
    const std::string problem = k8s::envNameProblem(name);
    if (!problem.empty()) report.invalid(at / "name", k8s::shownEnvName(name), problem);
  });
}

void strictNames(const Value* list, const At& variables, const Report& report) {
  forEachVariable(list, variables, [&](const Value&, std::string_view name, const At& at) {
    if (name.empty() || !k8s::envNameProblem(name).empty()) return;
    const std::string problem = k8s::strictEnvNameProblem(name);
    if (!problem.empty()) report.warn(at / "name", problem);
  });
}

void repeated(const Value* list, const At& variables, const Report& report) {
  std::set<std::string_view> seen;
  forEachVariable(list, variables, [&](const Value&, std::string_view name, const At& at) {
    if (name.empty() || seen.insert(name).second) return;
    report.warn(at / "name", fmt::format("{} is already set above; the last value is used",
                                         showValue(k8s::shownEnvName(name))));
  });
}

/// A variable that tells a pod its identity. Users may tune other variables of the operator, such as ports.
struct Identity {
  std::string_view name;
  std::string_view fieldPath;  ///< empty for a literal value
};
constexpr std::array<Identity, 9> kIdentities = {{{"DYN_NAMESPACE", ""},
                                                  {"DYN_COMPONENT", ""},
                                                  {"DYN_PARENT_DGD_K8S_NAME", ""},
                                                  {"DYN_PARENT_DGD_K8S_NAMESPACE", ""},
                                                  {"DYN_NAMESPACE_PREFIX", ""},
                                                  {"DYN_DISCOVERY_BACKEND", ""},
                                                  {"POD_NAME", "metadata.name"},
                                                  {"POD_NAMESPACE", "metadata.namespace"},
                                                  {"POD_UID", "metadata.uid"}}};

/// The literal value that the operator gives a variable of kIdentities in a container of `type`; nullopt when
/// it sets none.
std::optional<std::string> operatorValue(std::string_view name, const Service& service,
                                         std::string_view type) {
  const Graph& graph = service.graph;
  const auto dynamoNamespace = [&] {
    const bool global = json::findBool(&service.spec, "globalDynamoNamespace").value_or(false);
    return model::dynamoNamespace(global, graph.namespaceName, graph.graphName);
  };
  if (name == "DYN_NAMESPACE") return dynamoNamespace();
  if (name == "DYN_COMPONENT") return std::string{type};
  if (name == "DYN_PARENT_DGD_K8S_NAME") return std::string{graph.graphName};
  if (name == "DYN_PARENT_DGD_K8S_NAMESPACE") return std::string{graph.namespaceName};
  if (name == "DYN_NAMESPACE_PREFIX" && type == api::kFrontend) return dynamoNamespace();
  if (name == "DYN_DISCOVERY_BACKEND" && service.discovery != "etcd") return "kubernetes";
  return std::nullopt;
}

/// Whether the variable replaces one to which the operator gives another value.
bool replacesIdentity(const Value& variable, const Service& service, std::string_view type) {
  const std::string_view name = json::findText(&variable, "name");
  const auto* known = std::find_if(kIdentities.begin(), kIdentities.end(),
                                   [&](const Identity& each) { return each.name == name; });
  if (known == kIdentities.end()) return false;
  if (known->fieldPath.empty()) {
    const auto text = operatorValue(name, service, type);
    return text && *text != json::findText(&variable, "value");
  }
  const Value* field = json::findObject(json::findObject(&variable, "valueFrom"), "fieldRef");
  return json::findText(field, "fieldPath") != known->fieldPath;
}

void warnReplacedIdentity(const At& variable, std::string_view name, const Report& report) {
  report.warn(variable / "name", fmt::format("replaces the value that the operator sets for {}", name));
}

void graphIdentity(const Graph& graph, const Report& report) {
  forEachVariable(json::find(graph.spec, "envs"), "spec.envs",
                  [&](const Value& variable, std::string_view name, const At& at) {
                    const auto replaces = [&](const Service& service) {
                      return replacesIdentity(variable, service, service.type);
                    };
                    if (!std::any_of(graph.services.begin(), graph.services.end(), replaces)) return;
                    warnReplacedIdentity(at, name, report);
                  });
}

void identity(const Service& service, const Report& report) {
  // The operator writes these variables itself when a graph owns the component deployment.
  if (!service.graph.isGraph && service.graph.graphOwner != nullptr) return;
  for (const auto& [list, type] :
       {std::pair{ownList(service), service.type}, std::pair{sidecarList(service), api::kFrontend}}) {
    const std::string_view ofType = type;
    forEachVariable(list.value, list.at, [&](const Value& variable, std::string_view name, const At& at) {
      if (replacesIdentity(variable, service, ofType)) warnReplacedIdentity(at, name, report);
    });
  }
}

/// The names in references $(NAME) of `text`. "$$" is an escaped dollar sign.
std::vector<std::string_view> references(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '$') continue;
    if (text[i + 1] == '(') {
      const std::size_t close = text.find(')', i);
      if (close == std::string_view::npos) break;
      names.push_back(text.substr(i + 2, close - i - 2));
      i = close;
    } else if (text[i + 1] == '$') {
      ++i;
    }
  }
  return names;
}

/// The kubelet expands only references to earlier variables, and the operator sorts variables by name.
void referenceOrder(const Service& service, const Report& report) {
  const std::array<List, 3> lists = {
      List{json::find(service.graph.spec, "envs"), "spec.envs"}, ownList(service),
      List{json::find(service.mainContainer(), "env"), service.at("extraPodSpec.mainContainer.env")}};
  std::set<std::string_view> known;
  for (const List& list : lists) {
    forEachVariable(list.value, list.at,
                    [&](const Value&, std::string_view name, const At&) { known.insert(name); });
  }
  for (const List& list : lists) {
    forEachVariable(list.value, list.at, [&](const Value& variable, std::string_view name, const At& at) {
      for (const std::string_view wanted : references(json::findText(&variable, "value"))) {
        if (wanted <= name || !known.contains(wanted)) continue;
        report.warn(at / "value",
                    fmt::format("refers to {}, which is not expanded: variables are sorted by name",
                                k8s::shownEnvName(wanted)));
      }
    });
  }
}

/// Only component deployments read DYN_DEPLOYMENT_CONFIG; elsewhere it is an ordinary variable. Rendering
/// reports mistakes inside the JSON.
void deploymentConfig(const Service& service, const Report& report) {
  if (!service.graph.isGraph || !service.graph.withoutGrove()) return;
  const auto source = render::deploymentConfigSource(service.member("envs"), service.at("envs"),
                                                     json::find(service.graph.spec, "envs"));
  json::Document config;
  if (!source || render::readDeploymentConfig(source->text, config)) return;
  report.warn(source->path, "has no effect because it is not a JSON object");
}

void secretNames(const Service& service, const Report& report) {
  for (const bool sidecar : {false, true}) {
    const Value* holder = sidecar ? sidecarOf(service) : &service.spec;
    const At at = service.at(sidecar ? Members{"frontendSidecar.envFromSecret"} : Members{"envFromSecret"});
    const Value* secret = json::find(holder, "envFromSecret");
    if (secret == nullptr || !secret->IsString()) continue;
    if (secret->GetStringLength() == 0) {
      report.required(at, "must name a Secret");
    } else {
      report.check(at, json::text(secret), k8s::dns1123SubdomainProblem(json::text(secret)));
    }
  }
}

constexpr std::array kGraphChecks = {
    GraphCheck{{"dgd.env-name", Severity::Error, "variables have names that the API server accepts"},
               ofGraph<names>},
    GraphCheck{{"dgd.env-name-strict", Severity::Warning, "API servers before 1.32 refuse the name"},
               ofGraph<strictNames>},
    GraphCheck{{"dgd.env-repeated", Severity::Warning,
                "of several variables with the same name the last one is used"},
               ofGraph<repeated>},
    GraphCheck{{"dgd.env-identity", Severity::Warning,
                "the operator sets the variables that identify a pod and its graph"},
               graphIdentity},
};

constexpr std::array kServiceChecks = {
    ServiceCheck{{"service.env-name", Severity::Error, "variables have names that the API server accepts"},
                 ofService<names>},
    ServiceCheck{{"service.env-from-secret", Severity::Error, "envFromSecret names a Secret"}, secretNames},
    ServiceCheck{{"service.env-order", Severity::Warning,
                  "variables are sorted by name: a reference to a later one is not expanded"},
                 referenceOrder},
    ServiceCheck{{"service.deployment-config", Severity::Warning,
                  "DYN_DEPLOYMENT_CONFIG has no effect unless it is a JSON object"},
                 deploymentConfig},
    ServiceCheck{{"service.env-repeated", Severity::Warning,
                  "of several variables with the same name the last one is used"},
                 ofService<repeated>},
    ServiceCheck{{"service.env-identity", Severity::Warning,
                  "the operator sets the variables that identify a pod and its graph"},
                 identity},
    ServiceCheck{{"service.env-name-strict", Severity::Warning, "API servers before 1.32 refuse the name"},
                 ofService<strictNames>},
};

}  // namespace

std::span<const GraphCheck> graphEnvChecks() {
  return kGraphChecks;
}

std::span<const ServiceCheck> serviceEnvChecks() {
  return kServiceChecks;
}

}  // namespace dynamo::rules
