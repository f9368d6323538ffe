// Labels and annotations of users: the values of those that the operator reads, and the syntax of all others
// (quirks adm-Q2, child-Q17, pod-Q26).

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/k8s/semver.h"
#include "common/model/names.h"
#include "common/render/hash.h"
#include "common/rules/graph/deployment_annotations.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr std::array<std::string_view, 2> kExecutors = {"mp", "ray"};
constexpr std::array<std::string_view, 2> kDiscoveryBackends = {"kubernetes", "etcd"};

constexpr Members kGraphAnnotations = "metadata.annotations";

void checkExecutor(const Value* annotations, const At& at, const Report& report) {
  const Value* value = json::find(annotations, api::annotation::kVllmExecutor);
  if (value == nullptr || !value->IsString()) return;
  const std::string_view text = json::text(*value);
  if (equalsIgnoringCase(text, "mp") || equalsIgnoringCase(text, "ray")) return;
  report.notSupported(at.key(api::annotation::kVllmExecutor), text, kExecutors);
}

void checkDiscovery(const Value* annotations, const At& at, const Report& report) {
  const std::string_view text = json::findText(annotations, api::annotation::kDiscoveryBackend);
  if (text.empty()) return;
  if (std::find(kDiscoveryBackends.begin(), kDiscoveryBackends.end(), text) != kDiscoveryBackends.end())
    return;
  report.warn(at.key(api::annotation::kDiscoveryBackend),
              "is neither kubernetes nor etcd: kubernetes is used");
}

/// Warns of a value that is neither "true" nor "false", because it has no effect.
void checkSwitch(const Value* annotations, const At& at, std::string_view key, std::string_view effect,
                 const Report& report) {
  const std::string_view text = json::findText(annotations, key);
  if (text.empty() || text == "true" || text == "false") return;
  report.warn(at.key(key), std::string{effect});
}

constexpr std::string_view kMetricsEffect = R"(only "false" turns metrics off)";

// The graph's metadata

void originVersion(const Graph& graph, const Report& report) {
  const Value* value = json::find(graph.annotations, api::annotation::kOriginVersion);
  if (value == nullptr || !value->IsString() || k8s::parseVersion(json::text(*value))) return;
  const At at = kGraphAnnotations;
  report.invalid(at.key(api::annotation::kOriginVersion), *value,
                 "must be a semantic version, such as 1.0.0");
}

void originVersionKept(const Graph& graph, const Report& report) {
  const Value* before = json::find(json::findObject(json::findObject(graph.old, "metadata"), "annotations"),
                                   api::annotation::kOriginVersion);
  if (before == nullptr) return;
  if (isOperator(graph.username, graph.policy)) return;
  const Value* now = json::find(graph.annotations, api::annotation::kOriginVersion);
  if (json::equal(before, now)) return;
  const At at = kGraphAnnotations;
  report.warn(at.key(api::annotation::kOriginVersion),
              now == nullptr ? "was removed: the graph is now treated as created by an older operator"
                             : "was changed: defaults and multinode vLLM depend on it");
}

void graphExecutor(const Graph& graph, const Report& report) {
  checkExecutor(graph.annotations, kGraphAnnotations, report);
}

void graphDiscovery(const Graph& graph, const Report& report) {
  checkDiscovery(graph.annotations, kGraphAnnotations, report);
}

void enableGrove(const Graph& graph, const Report& report) {
  const std::string_view text = json::findText(graph.annotations, api::annotation::kEnableGrove);
  if (text.empty() || equalsIgnoringCase(text, "true") || equalsIgnoringCase(text, "false")) return;
  const At at = kGraphAnnotations;
  report.warn(at.key(api::annotation::kEnableGrove), R"(only "false" turns Grove off)");
}

void graphMetrics(const Graph& graph, const Report& report) {
  checkSwitch(graph.annotations, kGraphAnnotations, api::annotation::kEnableMetrics, kMetricsEffect, report);
}

/// The queue becomes a label of the pods.
void kaiQueue(const Graph& graph, const Report& report) {
  if (k8s::labelValueProblem(model::kaiQueue(graph.annotations)).empty()) return;
  const At at = kGraphAnnotations;
  report.warn(at.key(api::annotation::kKaiQueue), "is not a valid name of a KAI queue");
}

// Services

void serviceMetrics(const Service& service, const Report& report) {
  checkSwitch(service.annotations(), service.at("annotations"), api::annotation::kEnableMetrics,
              kMetricsEffect, report);
}

void pullSecretDiscovery(const Service& service, const Report& report) {
  checkSwitch(service.annotations(), service.at("annotations"), api::annotation::kDisablePullSecretDiscovery,
              R"(only "true" turns off the discovery of pull secrets)", report);
}

void serviceExecutor(const Service& service, const Report& report) {
  checkExecutor(service.annotations(), service.at("annotations"), report);
}

void serviceDiscovery(const Service& service, const Report& report) {
  checkDiscovery(service.annotations(), service.at("annotations"), report);
}

/// Members of a service that have labels and annotations. The empty name stands for the service itself.
constexpr std::array<std::string_view, 3> kHolders = {"", "extraPodMetadata", "ingress"};

At atHolder(const Service& service, std::string_view holder) {
  return holder.empty() ? At{service.path} : service.at(holder);
}

const Value* mapIn(const Service& service, std::string_view holder, std::string_view field) {
  if (holder.empty()) return json::findObject(&service.spec, field);
  // A disabled ingress creates no object, so its metadata is not used.
  const Value* parent = json::findObject(&service.spec, holder);
  if (holder == "ingress" && !json::findBool(parent, "enabled").value_or(false)) return nullptr;
  return json::findObject(parent, field);
}

void labelSyntax(const Service& service, const Report& report) {
  for (const std::string_view name : kHolders) {
    const At holder = atHolder(service, name);
    const At labels = holder / "labels";
    forEachMember(mapIn(service, name, "labels"), [&](std::string_view key, const Value& value) {
      const At at = labels.key(key);
      report.check(at, key, k8s::qualifiedNameProblem(key));
      report.check(at, json::text(value), k8s::labelValueProblem(json::text(value)));
    });
  }
}

void annotationSyntax(const Service& service, const Report& report) {
  for (const std::string_view name : kHolders) {
    const At holder = atHolder(service, name);
    const At annotations = holder / "annotations";
    std::size_t bytes = 0;
    forEachMember(mapIn(service, name, "annotations"), [&](std::string_view key, const Value& value) {
      bytes += key.size() + json::text(value).size();
      report.check(annotations.key(key), key, k8s::annotationKeyProblem(key));
    });
    if (bytes > k8s::kMaxAnnotationBytes) {
      report.tooLong(annotations, fmt::format("may not be more than {} bytes in total (they have {})",
                                              k8s::kMaxAnnotationBytes, bytes));
    }
  }
}

constexpr std::string_view kOverridden = "has no effect because the operator sets it";
constexpr std::string_view kMayBeOverridden = "may be overwritten by the operator";

/// The value to which the operator sets label `key` of the service's pods; empty when it does not set it.
std::string operatorValueOf(const Service& service, std::string_view key) {
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

/// The warning for a user's label that the operator overrides (common/render/metadata.cpp); empty when the
/// label is kept. `ofPods`: the label is in extraPodMetadata.
std::string_view overrideWarning(const Service& service, std::string_view key, std::string_view text,
                                 bool ofPods) {
  const Graph& graph = service.graph;
  const std::string_view withoutGrove = graph.withoutGrove() ? kOverridden : kMayBeOverridden;
  if (key == api::label::kSelector) return kOverridden;
  if (key == api::label::kRestoreTarget) return withoutGrove;
  if (key == api::label::kCheckpointHash) return service.checkpointed() ? kMayBeOverridden : "";
  if (key == api::label::kWorkerHash) {
    if (!api::isWorkerType(service.type)) return {};
    if (graph.isGraph) return withoutGrove;
    return ofPods ? kMayBeOverridden : "";
  }
  if (key == api::label::kDiscoveryBackend || key == api::label::kDiscoveryEnabled) {
    return !ofPods && service.discovery == "kubernetes" ? kMayBeOverridden : "";
  }
  const std::string operatorValue = operatorValueOf(service, key);
  return operatorValue.empty() || operatorValue == text ? "" : kOverridden;
}

void ownedLabels(const Service& service, const Report& report) {
  const auto checkLabels = [&](const Value* labels, const At& holder, bool ofPods) {
    const At at = holder / "labels";
    forEachMember(labels, [&](std::string_view key, const Value& value) {
      if (!key.starts_with("nvidia.com/")) return;
      const std::string_view warning = overrideWarning(service, key, json::text(value), ofPods);
      if (!warning.empty()) report.warn(at.key(key), std::string{warning});
    });
  };
  // The operator writes the labels of component deployments that a graph owns.
  const bool own = service.graph.graphOwner == nullptr;
  if (own) checkLabels(mapIn(service, kHolders[0], "labels"), atHolder(service, kHolders[0]), false);
  checkLabels(mapIn(service, kHolders[1], "labels"), atHolder(service, kHolders[1]), true);
  if (own && !service.graph.isGraph) {
    checkLabels(json::findObject(service.graph.metadata, "labels"), "metadata", false);
  }
}

void ownedAnnotations(const Service& service, const Report& report) {
  if (!service.graph.isGraph) return;
  for (const std::string_view name : {kHolders[0], kHolders[1]}) {
    const Value* map = mapIn(service, name, "annotations");
    const At holder = atHolder(service, name);
    const At annotations = holder / "annotations";
    for (const std::string_view key : {api::annotation::kRestartAt, api::annotation::kBaseModel}) {
      if (json::find(map, key) == nullptr) continue;
      report.warn(annotations.key(key), std::string{kMayBeOverridden});
    }
  }
}

constexpr std::array kGraphChecks = {
    GraphCheck{{"dgd.origin-version", Severity::Error, "the origin version is a semantic version"},
               originVersion},
    GraphCheck{{"dgd.vllm-executor", Severity::Error, "vLLM's executor is mp or ray"}, graphExecutor},
    GraphCheck{{"dgd.origin-version-changed", Severity::Warning, "the origin version should not change"},
               originVersionKept},
    GraphCheck{{"dgd.discovery-backend", Severity::Warning, "the discovery backend is kubernetes or etcd"},
               graphDiscovery},
    GraphCheck{{"dgd.enable-grove", Severity::Warning, "only false turns Grove off"}, enableGrove},
    GraphCheck{{"dgd.enable-metrics", Severity::Warning, "only false turns metrics off"}, graphMetrics},
    GraphCheck{{"dgd.kai-queue", Severity::Warning, "the name of the KAI queue is a label value"}, kaiQueue},
};

constexpr std::array kServiceChecks = {
    ServiceCheck{{"service.vllm-executor", Severity::Error, "vLLM's executor is mp or ray"}, serviceExecutor},
    ServiceCheck{{"service.labels", Severity::Error, "labels have valid keys and values"}, labelSyntax},
    ServiceCheck{{"service.annotations", Severity::Error, "annotations have valid keys and fit in 256 KiB"},
                 annotationSyntax},
    ServiceCheck{{"service.rolling-update", Severity::Error,
                  "annotations of the rolling update are numbers or percentages, not both 0"},
                 rollingUpdate},
    ServiceCheck{{"service.min-ready-seconds", Severity::Error,
                  "the time that a pod must be ready is less than the progress deadline of 600 s"},
                 minReadySeconds},
    ServiceCheck{
        {"service.discovery-backend", Severity::Warning, "the discovery backend is kubernetes or etcd"},
        serviceDiscovery},
    ServiceCheck{
        {"service.deployment-strategy", Severity::Warning, "the strategy is RollingUpdate or Recreate"},
        deploymentStrategy},
    ServiceCheck{{"service.enable-metrics", Severity::Warning, "only false turns metrics off"},
                 serviceMetrics},
    ServiceCheck{{"service.pull-secret-discovery", Severity::Warning,
                  "only true turns the discovery of pull secrets off"},
                 pullSecretDiscovery},
    ServiceCheck{{"service.label-owned", Severity::Warning, "labels that the operator sets have no effect"},
                 ownedLabels},
    ServiceCheck{{"service.annotation-owned", Severity::Warning,
                  "annotations that the operator sets may be overwritten"},
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
