// Labels and annotations that users write: those that mean something, and the syntax of all others
// (quirks adm-Q2, child-Q17, pod-Q26).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/k8s/semver.h"
#include "common/model/names.h"
#include "common/render/hash.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr std::array<std::string_view, 2> kExecutors = {"mp", "ray"};
constexpr std::array<std::string_view, 2> kDiscoveryBackends = {"kubernetes", "etcd"};
constexpr std::array<std::string_view, 2> kStrategies = {"RollingUpdate", "Recreate"};

std::string annotationPath(std::string_view parent, std::string_view key) {
  return fmt::format("{}annotations[{}]", parent, key);
}

void checkExecutor(const Value* annotations, std::string_view parent, const Report& report) {
  const Value* value = json::find(annotations, api::annotation::kVllmExecutor);
  if (value == nullptr || !value->IsString()) return;
  const std::string_view text = json::text(*value);
  if (equalsIgnoringCase(text, "mp") || equalsIgnoringCase(text, "ray")) return;
  report.notSupported(annotationPath(parent, api::annotation::kVllmExecutor), text, kExecutors);
}

void checkDiscovery(const Value* annotations, std::string_view parent, const Report& report) {
  const std::string_view text = json::findText(annotations, api::annotation::kDiscoveryBackend);
  if (text.empty()) return;
  if (std::find(kDiscoveryBackends.begin(), kDiscoveryBackends.end(), text) != kDiscoveryBackends.end())
    return;
  report.warn(annotationPath(parent, api::annotation::kDiscoveryBackend),
              "is neither kubernetes nor etcd: kubernetes is used");
}

/// A word that is neither "true" nor "false" changes nothing, whatever was meant.
void checkSwitch(const Value* annotations, std::string_view parent, std::string_view key,
                 std::string_view effect, const Report& report) {
  const std::string_view text = json::findText(annotations, key);
  if (text.empty() || text == "true" || text == "false") return;
  report.warn(annotationPath(parent, key), std::string{effect});
}

constexpr std::string_view kMetricsEffect = R"(only "false" turns metrics off)";

// The graph's metadata

void originVersion(const Graph& graph, const Report& report) {
  const Value* value = json::find(graph.annotations, api::annotation::kOriginVersion);
  if (value == nullptr || !value->IsString() || k8s::parseVersion(json::text(*value))) return;
  report.invalid(annotationPath("metadata.", api::annotation::kOriginVersion), *value,
                 "must be a semantic version, such as 1.0.0");
}

void originVersionKept(const Graph& graph, const Report& report) {
  const Value* before = json::find(json::findObject(json::findObject(graph.old, "metadata"), "annotations"),
                                   api::annotation::kOriginVersion);
  if (before == nullptr) return;
  if (isOperator(graph.username, graph.policy)) return;
  const Value* now = json::find(graph.annotations, api::annotation::kOriginVersion);
  if (json::equal(before, now)) return;
  report.warn(annotationPath("metadata.", api::annotation::kOriginVersion),
              now == nullptr ? "was removed: the graph is now treated as one of an older operator"
                             : "was changed: defaults and multinode vLLM depend on it");
}

void graphExecutor(const Graph& graph, const Report& report) {
  checkExecutor(graph.annotations, "metadata.", report);
}

void graphDiscovery(const Graph& graph, const Report& report) {
  checkDiscovery(graph.annotations, "metadata.", report);
}

void enableGrove(const Graph& graph, const Report& report) {
  const std::string_view text = json::findText(graph.annotations, api::annotation::kEnableGrove);
  if (text.empty() || equalsIgnoringCase(text, "true") || equalsIgnoringCase(text, "false")) return;
  report.warn(annotationPath("metadata.", api::annotation::kEnableGrove), R"(only "false" turns Grove off)");
}

void graphMetrics(const Graph& graph, const Report& report) {
  checkSwitch(graph.annotations, "metadata.", api::annotation::kEnableMetrics, kMetricsEffect, report);
}

/// Its pods carry the queue as a label.
void kaiQueue(const Graph& graph, const Report& report) {
  if (!k8s::labelValueProblem(model::kaiQueue(graph.annotations)).empty()) {
    report.warn(annotationPath("metadata.", api::annotation::kKaiQueue), "no queue of KAI has such a name");
  }
}

// Services

void serviceMetrics(const Service& service, const Report& report) {
  checkSwitch(service.annotations(), service.path + '.', api::annotation::kEnableMetrics, kMetricsEffect,
              report);
}

void pullSecretDiscovery(const Service& service, const Report& report) {
  checkSwitch(service.annotations(), service.path + '.', api::annotation::kDisablePullSecretDiscovery,
              R"(only "true" turns the discovery off)", report);
}

void serviceExecutor(const Service& service, const Report& report) {
  checkExecutor(service.annotations(), service.path + '.', report);
}

void serviceDiscovery(const Service& service, const Report& report) {
  checkDiscovery(service.annotations(), service.path + '.', report);
}

/// Places where a service's own labels and annotations stand.
constexpr std::array<std::string_view, 3> kMetadataPlaces = {"", "extraPodMetadata.", "ingress."};

const Value* mapAt(const Service& service, std::string_view place, std::string_view field) {
  if (place.empty()) return json::findObject(&service.spec, field);
  place.remove_suffix(1);
  // A disabled Ingress has no metadata.
  const Value* parent = json::findObject(&service.spec, place);
  if (place == "ingress" && !json::findBool(parent, "enabled").value_or(false)) return nullptr;
  return json::findObject(parent, field);
}

void labelSyntax(const Service& service, const Report& report) {
  for (const std::string_view place : kMetadataPlaces) {
    forEachMember(mapAt(service, place, "labels"), [&](std::string_view key, const Value& value) {
      const std::string field = service.at(fmt::format("{}labels[{}]", place, key));
      report.check(field, key, k8s::qualifiedNameProblem(key));
      report.check(field, json::text(value), k8s::labelValueProblem(json::text(value)));
    });
  }
}

void annotationSyntax(const Service& service, const Report& report) {
  for (const std::string_view place : kMetadataPlaces) {
    std::size_t bytes = 0;
    forEachMember(mapAt(service, place, "annotations"), [&](std::string_view key, const Value& value) {
      bytes += key.size() + json::text(value).size();
      report.check(service.at(fmt::format("{}annotations[{}]", place, key)), key,
                   k8s::annotationKeyProblem(key));
    });
    if (bytes > k8s::kMaxAnnotationBytes) {
      report.tooLong(service.at(fmt::format("{}annotations", place)),
                     fmt::format("may not be more than {} bytes together (they have {})",
                                 k8s::kMaxAnnotationBytes, bytes));
    }
  }
}

constexpr std::string_view kNotUsed = "is set by the operator; yours is not used";
constexpr std::string_view kNotAlwaysUsed = "is set by the operator, which may overwrite yours";

/// What the operator sets `key` to on the service's pods; empty when it leaves it to the user.
std::string valueOf(const Service& service, std::string_view key) {
  const Graph& graph = service.graph;
  const std::string_view model = json::findText(json::findObject(&service.spec, "modelRef"), "name");
  const bool global = json::findBool(&service.spec, "globalDynamoNamespace").value_or(false);
  if (key == api::label::kGraph) return std::string{graph.graphName};
  if (key == api::label::kComponent) return service.key;
  if (key == api::label::kNamespace) {
    return model::dynamoNamespace(global, graph.namespaceName, graph.graphName);
  }
  if (key == api::label::kComponentType) return std::string{service.type};
  if (key == api::label::kSubComponentType) {
    return std::string{json::findText(&service.spec, "subComponentType")};
  }
  if (key == api::label::kBaseModelHash && !model.empty()) return render::modelHash(model);
  return {};
}

/// What becomes of a user's label (common/render/metadata.cpp); empty when it stays. `ofPods`: it stands in
/// extraPodMetadata.
std::string_view fateOf(const Service& service, std::string_view key, std::string_view text, bool ofPods) {
  const Graph& graph = service.graph;
  const std::string_view withoutGrove = graph.withoutGrove() ? kNotUsed : kNotAlwaysUsed;
  if (key == api::label::kSelector) return kNotUsed;
  if (key == api::label::kRestoreTarget) return withoutGrove;
  if (key == api::label::kCheckpointHash) return service.checkpointed() ? kNotAlwaysUsed : "";
  if (key == api::label::kWorkerHash) {
    if (!api::isWorkerType(service.type)) return {};
    if (graph.isGraph) return withoutGrove;
    return ofPods ? kNotAlwaysUsed : "";
  }
  if (key == api::label::kDiscoveryBackend || key == api::label::kDiscoveryEnabled) {
    return !ofPods && service.discovery == "kubernetes" ? kNotAlwaysUsed : "";
  }
  const std::string ours = valueOf(service, key);
  return ours.empty() || ours == text ? "" : kNotUsed;
}

void ownedLabels(const Service& service, const Report& report) {
  const auto look = [&](const Value* labels, const std::string& parent, bool ofPods) {
    forEachMember(labels, [&](std::string_view key, const Value& value) {
      if (!key.starts_with("nvidia.com/")) return;
      const std::string_view fate = fateOf(service, key, json::text(value), ofPods);
      if (!fate.empty()) report.warn(fmt::format("{}labels[{}]", parent, key), std::string{fate});
    });
  };
  // The operator itself writes the labels of component deployments of a graph.
  const bool own = service.graph.graphOwner == nullptr;
  if (own) look(mapAt(service, kMetadataPlaces[0], "labels"), service.at(""), false);
  look(mapAt(service, kMetadataPlaces[1], "labels"), service.at(kMetadataPlaces[1]), true);
  if (own && !service.graph.isGraph) {
    look(json::findObject(service.graph.metadata, "labels"), "metadata.", false);
  }
}

void ownedAnnotations(const Service& service, const Report& report) {
  if (!service.graph.isGraph) return;
  for (const std::string_view place : {kMetadataPlaces[0], kMetadataPlaces[1]}) {
    const Value* map = mapAt(service, place, "annotations");
    for (const std::string_view key : {api::annotation::kRestartAt, api::annotation::kBaseModel}) {
      if (json::find(map, key) == nullptr) continue;
      report.warn(service.at(annotationPath(place, key)), std::string{kNotAlwaysUsed});
    }
  }
}

// What Deployments read

const Value* effectiveAnnotation(const Service& service, std::string_view key, std::string& field) {
  for (const std::string_view place : {kMetadataPlaces[1], kMetadataPlaces[0]}) {
    const Value* value = json::find(mapAt(service, place, "annotations"), key);
    if (value == nullptr) continue;
    field = service.at(annotationPath(place, key));
    return value;
  }
  return nullptr;
}

/// Pods, or percent of the replicas; nullopt when it is neither.
std::optional<long long> amount(std::string_view text) {
  // Go reads a sign before a number, and Deployments get the number; their API has none before a percentage.
  const bool sign = text.starts_with('+');
  if (sign) text.remove_prefix(1);
  if (sign && (text.starts_with('-') || text.ends_with('%'))) return std::nullopt;
  long long number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest{parsed.ptr, static_cast<std::size_t>(text.data() + text.size() - parsed.ptr)};
  const bool good = parsed.ec == std::errc{} && number >= 0 && number <= std::numeric_limits<int>::max() &&
                    (rest.empty() || rest == "%");
  return good ? std::optional{number} : std::nullopt;
}

bool isRecreated(const Service& service) {
  return json::findText(service.annotations(), api::annotation::kDeploymentStrategy) == "Recreate";
}

void rollingUpdate(const Service& service, const Report& report) {
  // LeaderWorkerSets do not read these, nor does Grove: where it may run the pods this is only a warning.
  if (service.multinode() || isRecreated(service)) return;
  const bool certain = service.graph.withoutGrove();
  const auto tell = [&](const std::string& at, std::string_view text, std::string_view problem) {
    if (!certain) {
      report.warn(at, fmt::format("without Grove: {}", problem));
    } else if (text.empty()) {
      report.refused(at, std::string{problem});
    } else {
      report.invalid(at, text, std::string{problem});
    }
  };
  bool zero = true;
  std::string field;
  for (const std::string_view key : {api::annotation::kMaxSurge, api::annotation::kMaxUnavailable}) {
    const Value* value = effectiveAnnotation(service, key, field);
    const std::string_view text = value == nullptr ? std::string_view{} : json::text(*value);
    if (text.empty()) {
      zero = false;
      continue;
    }
    const std::optional<long long> given = amount(text);
    if (!given) {
      tell(field, text, "must be a number of pods or a percentage, such as 1 or 25%");
    } else if (key == api::annotation::kMaxUnavailable && text.ends_with('%') && *given > 100) {
      tell(field, text, "must be at most 100%");
    }
    zero = zero && given == 0;
  }
  if (zero) tell(field, {}, "may not be 0 when max-surge is 0, too");
}

void deploymentStrategy(const Service& service, const Report& report) {
  const std::string_view text = json::findText(service.annotations(), api::annotation::kDeploymentStrategy);
  if (text.empty() || std::find(kStrategies.begin(), kStrategies.end(), text) != kStrategies.end()) return;
  report.warn(service.at(annotationPath("", api::annotation::kDeploymentStrategy)),
              "is neither RollingUpdate nor Recreate: RollingUpdate is used");
}

constexpr std::array kGraphChecks = {
    GraphCheck{{"dgd.origin-version", Severity::Error, "the origin version is a semantic version"},
               originVersion},
    GraphCheck{{"dgd.vllm-executor", Severity::Error, "vLLM's executor is mp or ray"}, graphExecutor},
    GraphCheck{{"dgd.origin-version-changed", Severity::Warning, "the origin version should stay"},
               originVersionKept},
    GraphCheck{{"dgd.discovery-backend", Severity::Warning, "discovery is by kubernetes or etcd"},
               graphDiscovery},
    GraphCheck{{"dgd.enable-grove", Severity::Warning, "only false turns Grove off"}, enableGrove},
    GraphCheck{{"dgd.enable-metrics", Severity::Warning, "only false turns metrics off"}, graphMetrics},
    GraphCheck{{"dgd.kai-queue", Severity::Warning, "the queue of KAI is a label's value"}, kaiQueue},
};

constexpr std::array kServiceChecks = {
    ServiceCheck{{"service.vllm-executor", Severity::Error, "vLLM's executor is mp or ray"}, serviceExecutor},
    ServiceCheck{{"service.labels", Severity::Error, "labels have good keys and values"}, labelSyntax},
    ServiceCheck{{"service.annotations", Severity::Error, "annotations have good keys and fit in 256 KiB"},
                 annotationSyntax},
    ServiceCheck{{"service.rolling-update", Severity::Error,
                  "annotations of the rolling update are numbers or percentages, not both 0"},
                 rollingUpdate},
    ServiceCheck{{"service.discovery-backend", Severity::Warning, "discovery is by kubernetes or etcd"},
                 serviceDiscovery},
    ServiceCheck{
        {"service.deployment-strategy", Severity::Warning, "the strategy is RollingUpdate or Recreate"},
        deploymentStrategy},
    ServiceCheck{{"service.enable-metrics", Severity::Warning, "only false turns metrics off"},
                 serviceMetrics},
    ServiceCheck{{"service.pull-secret-discovery", Severity::Warning,
                  "only true turns the discovery of pull secrets off"},
                 pullSecretDiscovery},
    ServiceCheck{{"service.label-owned", Severity::Warning, "labels that the operator sets itself"},
                 ownedLabels},
    ServiceCheck{{"service.annotation-owned", Severity::Warning, "annotations that the operator sets itself"},
                 ownedAnnotations},
};

}  // namespace

std::span<const GraphCheck> graphAnnotationChecks() {
  return kGraphChecks;
}

std::span<const ServiceCheck> serviceMetadataChecks() {
  return kServiceChecks;
}

}  // namespace dynamo::rules
