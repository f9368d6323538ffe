// Names and label values of children are derived from the names of graphs and services (quirks child-Q8,
// child-Q19, pod-Q27). The rules reject only names that the API server would reject in a child.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "common/api/dynamo.h"
#include "common/json/ascii.h"
#include "common/k8s/names.h"
#include "common/model/names.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

constexpr std::string_view kHashShown = "-<8 digits>";
constexpr std::size_t kHashLength = 9;  // "-" and 8 hex digits

/// A name or label value of a child that contains the name of the graph or service.
struct Derived {
  std::string what;   ///< "Service"
  std::string shown;  ///< the resulting name, with a placeholder for the hash
  std::size_t length = 0;
};

Derived derived(std::string what, std::string name) {
  const std::size_t length = name.size();
  return {std::move(what), std::move(name), length};
}

bool tooLong(const Derived& name) {
  return name.length > k8s::kMaxLabelLength;
}

std::string clause(const Derived& name) {
  return fmt::format("{} {} would have {} bytes, at most {} are allowed", name.what, showValue(name.shown),
                     name.length, k8s::kMaxLabelLength);
}

// The graph's own name

/// The label value or name that leaves the least room for the graph's name; nullopt when all fit.
std::optional<Derived> longestOfGraph(const Graph& graph) {
  std::vector<Derived> all;
  all.push_back(derived(fmt::format("label {}", api::label::kGraph), std::string{graph.graphName}));
  const auto any = [&](auto what) { return std::any_of(graph.services.begin(), graph.services.end(), what); };
  const bool ownNamespace =
      any([](const Service& s) { return !json::findBool(&s.spec, "globalDynamoNamespace").value_or(false); });
  if (ownNamespace && !graph.namespaceName.empty()) {
    all.push_back(derived(fmt::format("label {}", api::label::kNamespace),
                          model::dynamoNamespace(false, graph.namespaceName, graph.graphName)));
  }
  const auto longest = std::max_element(
      all.begin(), all.end(), [](const Derived& a, const Derived& b) { return a.length < b.length; });
  return tooLong(*longest) ? std::optional{*longest} : std::nullopt;
}

void graphNameLength(const Graph& graph, const Report& report) {
  if (graph.graphName.empty()) return;
  const auto longest = longestOfGraph(graph);
  if (!longest) return;
  const std::size_t room = k8s::kMaxLabelLength + graph.graphName.size() - longest->length;
  report.tooLong("metadata.name", fmt::format("may not be more than {} bytes (it has {}): {}", room,
                                              graph.graphName.size(), clause(*longest)));
}

bool startsWithDigit(std::string_view name) {
  return !name.empty() && json::isDigit(name.front());
}

void graphNameStart(const Graph& graph, const Report& report) {
  if (!startsWithDigit(graph.name)) return;
  for (const Service& service : graph.services) {
    const bool set = graph.withoutGrove() && service.multinode() && !graph.policy.lwsDisabled;
    if (!service.hasService() && !set) continue;
    const std::string child =
        graph.isGraph ? model::componentName(graph.name, service.key) : std::string{graph.name};
    report.invalid(
        "metadata.name", graph.name,
        fmt::format("must start with a letter: {} {} is named after it",
                    service.hasService() ? "Service" : "LeaderWorkerSet", showValue(model::dashed(child))));
    return;
  }
}

// Service keys

void keySyntax(const Service& service, const Report& report) {
  if (service.key.empty())
    return report.invalid(service.path, service.key, "the name of a service must not be empty");
  if (const std::string problem = k8s::labelValueProblem(service.key); !problem.empty()) {
    report.invalid(service.path, service.key,
                   fmt::format("is used as the value of label {}: {}", api::label::kComponent, problem));
    return;
  }
  if (service.graph.name.empty()) return;
  const std::string name = model::componentName(service.graph.name, service.key);
  const std::string problem = k8s::dns1123SubdomainProblem(name);
  if (problem.empty()) return;
  report.invalid(service.path, service.key,
                 fmt::format("names its children {}: {}", showValue(name), problem));
}

void keysDistinct(const Graph& graph, const Report& report) {
  std::map<std::string, std::string_view, std::less<>> seen;
  for (const Service& service : graph.services) {
    const std::string name = model::dashed(k8s::lowerAscii(service.key));
    const auto [first, isNew] = seen.emplace(name, service.key);
    if (isNew) continue;
    report.duplicate(service.path, service.key,
                     fmt::format("its children would have the same names as those of {}", first->second));
  }
}

/// Grove rejects a PodCliqueSet in which two cliques have the same name.
void cliquesDistinct(const Graph& graph, const Report& report) {
  if (graph.withoutGrove()) return;
  std::map<std::string, const Service*, std::less<>> seen;
  for (const Service& service : graph.services) {
    const std::string base = k8s::lowerAscii(service.key);
    for (const std::string_view role : {"-ldr", "-wkr"}) {
      const std::string name = service.multinode() ? base + std::string{role} : base;
      const auto [first, isNew] = seen.emplace(name, &service);
      // keysDistinct() reports equal keys.
      if (isNew || k8s::lowerAscii(first->second->key) == base) continue;
      report.duplicate(
          service.path, service.key,
          fmt::format("its Grove clique {} would have the same name as one of {}", name, first->second->key));
      break;
    }
  }
}

/// The overlong name that the component pathway derives from the name of a DynamoComponentDeployment; nullopt
/// when all names fit.
std::optional<Derived> overlongChildName(const Service& service, Derived name) {
  if (!service.multinode()) {
    name.what = service.hasService() ? "Service" : fmt::format("label {}", api::label::kSelector);
  } else if (service.graph.policy.lwsDisabled) {
    if (!service.hasService()) return std::nullopt;
    name.what = "Service";
  } else {
    const long long last = std::max(integerAt(&service.spec, "replicas").value_or(1), 1LL) - 1;
    const std::string index = fmt::format("-{}", last);
    name.what = "LeaderWorkerSet";
    name.shown += index;
    name.length += index.size();
  }
  name.shown = model::dashed(name.shown);
  return tooLong(name) ? std::optional{name} : std::nullopt;
}

void keyLength(const Service& service, const Report& report) {
  const Graph& graph = service.graph;
  // Where Grove may run the graph, groveKeyLength() has a lower limit.
  if (graph.name.empty() || !graph.withoutGrove()) return;
  Derived name = derived("", model::componentName(graph.name, service.key));
  if (api::isWorkerType(service.type)) {
    name.shown += kHashShown;
    name.length += kHashLength;
  }
  if (const auto longest = overlongChildName(service, std::move(name))) {
    report.tooLong(service.path,
                   fmt::format("{}: shorten the name of the graph or of the service", clause(*longest)),
                   service.key);
  }
}

void groveKeyLength(const Service& service, const Report& report) {
  if (service.graph.withoutGrove()) return;
  const std::size_t graph = service.graph.name.size();
  const std::size_t key = service.key.size();
  constexpr std::string_view kLeaderSuffix = "-ldr";
  const std::size_t length =
      graph + key + (service.multinode() ? key + kLeaderSuffix.size() : std::size_t{0});
  if (length <= api::kMaxGroveName) return;
  report.tooLong(
      service.path,
      fmt::format("graph {} ({} bytes) and service {} ({} bytes{}) together have {} bytes, at most {} are "
                  "allowed in names of Grove pods",
                  showValue(service.graph.name), graph, showValue(service.key), key,
                  service.multinode() ? ", counted twice, plus \"-ldr\"" : "", length, api::kMaxGroveName),
      service.key);
}

// DynamoComponentDeployments

void componentNameLength(const Graph& graph, const Report& report) {
  // standaloneNameLength() reports the lower limit that labels set.
  if (graph.name.empty() || (graph.graphName == graph.name && longestOfGraph(graph))) return;
  const auto longest = overlongChildName(graph.services.front(), derived("", std::string{graph.name}));
  if (!longest) return;
  const std::size_t room = k8s::kMaxLabelLength + graph.name.size() - longest->length;
  report.tooLong("metadata.name", fmt::format("may not be more than {} bytes (it has {}): {}", room,
                                              graph.name.size(), clause(*longest)));
}

void standaloneNameLength(const Graph& graph, const Report& report) {
  // The name of another graph is checked with that graph.
  if (graph.graphName == graph.name) graphNameLength(graph, report);
}

void serviceNameSyntax(const Graph& graph, const Report& report) {
  const std::string_view given = json::findText(graph.spec, "serviceName");
  const std::string problem = k8s::labelValueProblem(given);
  if (problem.empty()) return;
  report.invalid("spec.serviceName", given,
                 fmt::format("is used as the value of label {}: {}", api::label::kComponent, problem));
}

constexpr std::array kGraphNameChecks = {
    GraphCheck{{"dgd.name-length", Severity::Error, "labels made of the graph's name have at most 63 bytes"},
               graphNameLength},
    GraphCheck{{"dgd.name-start", Severity::Error, "names of Services start with a letter"}, graphNameStart},
    GraphCheck{{"dgd.service-names-distinct", Severity::Error,
                "children of two services may not have the same names"},
               keysDistinct},
    GraphCheck{{"dgd.grove-clique-names", Severity::Error,
                "cliques of two services may not have the same names where Grove may be used"},
               cliquesDistinct},
};

constexpr std::array kServiceNameChecks = {
    ServiceCheck{{"dgd.service-name", Severity::Error,
                  "a service's name is a valid label value and part of valid names of children"},
                 keySyntax},
    ServiceCheck{
        {"dgd.service-name-length", Severity::Error, "names of a service's children have at most 63 bytes"},
        keyLength},
    ServiceCheck{{"dgd.grove-name-length", Severity::Error,
                  "graph and service names together have at most 45 bytes where Grove may be used"},
                 groveKeyLength},
};

constexpr std::array kComponentNameChecks = {
    GraphCheck{{"dcd.name-length", Severity::Error, "names of children have at most 63 bytes"},
               componentNameLength},
    GraphCheck{{"dcd.graph-name-length", Severity::Error,
                "labels made of the name have at most 63 bytes in a component deployment without an owner"},
               standaloneNameLength},
    GraphCheck{{"dcd.name-start", Severity::Error, "names of Services start with a letter"}, graphNameStart},
    GraphCheck{{"dcd.service-name", Severity::Error, "serviceName is a label value"}, serviceNameSyntax},
};

}  // namespace

std::span<const GraphCheck> graphNameChecks() {
  return kGraphNameChecks;
}

std::span<const ServiceCheck> graphServiceNameChecks() {
  return kServiceNameChecks;
}

std::span<const GraphCheck> componentNameChecks() {
  return kComponentNameChecks;
}

}  // namespace dynamo::rules
