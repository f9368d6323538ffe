// Decisions conv-Q2, life-Q1, life-Q3, life-Q6, life-Q18, life-Q19.
#include "common/lifecycle/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/api/dgdr.h"
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/names.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/request_status.h"
#include "common/render/profiler_config.h"
#include "common/text/yaml.h"
#include "common/text/yaml_writer.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

constexpr std::chrono::seconds kJobMayBeLate{60};

std::string_view annotationOf(const Value& object, std::string_view key) {
  return json::findText(annotationsOf(object), key);
}

/// Labels by which the objects of a request are found.
void track(Value& object, const Value& request, const json::Maker& make) {
  Value& metadata = json::ensureObject(object, "metadata", make.allocator());
  Value& labels = json::ensureObject(metadata, "labels", make.allocator());
  make.set(labels, api::dgdr::kTrackingLabels[0], nameOf(request));
  make.set(labels, api::dgdr::kTrackingLabels[1], namespaceOf(request));
  make.set(labels, api::dgdr::kTrackingLabels[2], api::kOperatorName);
}

void layOver(Value& below, const Value* above, const json::Maker& make) {
  if (above == nullptr || !above->IsObject()) return;
  for (const auto& member : above->GetObject())
    make.set(below, json::text(member.name), make.value(member.value));
}

/// A request of a release that had other fields is stored without a model (decision conv-Q9).
bool hasModel(const Value& request) {
  return !json::findText(specOf(request), "model").empty();
}

/// The overrides of a v1alpha1 request; an empty object if there are none.
json::Document deploymentOverrides(const Value& request) {
  json::Document overrides;
  const std::string_view text = annotationOf(request, api::dgdr::kDeploymentOverrides);
  if (text.empty() || json::parse(text, overrides) || !overrides.IsObject()) overrides.SetObject();
  return overrides;
}

std::string_view graphName(const Value& generated, const json::Document& overrides) {
  const std::string_view chosen = json::findText(&overrides, "name");
  return chosen.empty() ? nameOf(generated) : chosen;
}

}  // namespace

RequestStep requestStep(const Value& request) {
  const std::string_view now = requestPhase(request);
  if (now == request_phase::kPending)
    return isObserved(request) && hasModel(request) ? RequestStep::CreateJob : RequestStep::Validate;
  if (now == request_phase::kProfiling) return RequestStep::FollowJob;
  if (now == request_phase::kDeploying && !json::findBool(specOf(request), "autoApply").value_or(true))
    return RequestStep::KeepGraph;
  const bool isNamed = !json::findText(statusOf(request), "dgdName").empty();
  if (now == request_phase::kDeploying && (!isNamed || !annotationOf(request, kGeneratedGraph).empty()))
    return RequestStep::CreateGraph;
  if (now == request_phase::kDeploying || now == request_phase::kDeployed) return RequestStep::FollowGraph;
  return now == request_phase::kReady || now == request_phase::kFailed ? RequestStep::Nothing
                                                                       : RequestStep::Fail;
}

std::vector<std::string> requestProblems(const Value& request, const render::Children& profiling,
                                         bool hasClaim, const std::string& hardware) {
  std::vector<std::string> problems;
  const Value* spec = specOf(request);
  if (json::findText(spec, "searchStrategy") == "thorough" && json::findText(spec, "backend") == "auto")
    problems.emplace_back("spec.searchStrategy thorough needs one engine in spec.backend instead of auto");
  if (!hasModel(request)) problems.emplace_back("spec.model: Required value");
  const std::string_view claim = json::findText(json::findObject(spec, "modelCache"), "pvcName");
  if (!claim.empty() && !hasClaim)
    problems.push_back(
        fmt::format("model cache PVC {} not found in namespace {}", claim, namespaceOf(request)));
  for (const field::FieldError& error : profiling.errors) {
    if (hardware.empty() || error.rule != std::string_view{render::kHardwareRule})
      problems.push_back(error.message());
  }
  if (!hardware.empty()) problems.push_back(hardware);
  return problems;
}

bool mayBeLate(const Value& request, Time now) {
  const Value* profiling = findCondition(statusOf(request), "Profiling");
  const auto since = parseTime(json::findText(profiling, "lastTransitionTime"));
  return since && now < *since + kJobMayBeLate;
}

std::string_view toldError(const Value& configMap) {
  return json::findText(json::findObject(&configMap, "data"), api::dgdr::kCopierErrorKey);
}

bool mayRepeat(const Value& request, const Value& job) {
  const Value* overrides = json::findObject(specOf(request), "overrides");
  const Value* chosen = json::find(json::findObject(overrides, "profilingJob"), "backoffLimit");
  return chosen == nullptr && countAt(statusOf(job), "failed") > 0 &&
         numberAt(specOf(job), "backoffLimit", 0) > 0;
}

Value withoutRetries(Allocator& allocator) {
  const json::Maker make{allocator};
  return make.object("spec", make.object("backoffLimit", 0));
}

std::size_t roomForOutput(const Value& request) {
  std::size_t others = kGeneratedGraph.size() + kAdditionalResources.size();
  if (const Value* annotations = annotationsOf(request)) {
    for (const auto& each : annotations->GetObject()) {
      const std::string_view key = json::text(each.name);
      if (key != kGeneratedGraph && key != kAdditionalResources)
        others += key.size() + json::text(each.value).size();
    }
  }
  const std::size_t left = k8s::kMaxAnnotationBytes - std::min(others, k8s::kMaxAnnotationBytes);
  return std::min(left, kMaxGraphBytes);
}

Value annotationsPatch(const Value& request, const ProfilingOutput& output, std::size_t room,
                       Allocator& allocator) {
  const json::Maker make{allocator};
  const std::string graph = text::toYaml(output.graph);
  const std::string additional = additionalText(output);
  Value annotations = make.object();
  const auto set = [&](std::string_view key, std::string_view text, bool fits) {
    if (fits) {
      make.set(annotations, key, text);
    } else if (!annotationOf(request, key).empty()) {  // that of another output
      make.set(annotations, key, Value{});
    }
  };
  set(kGeneratedGraph, graph, graph.size() <= room);
  set(kAdditionalResources, additional, !additional.empty() && graph.size() + additional.size() <= room);
  return make.object("metadata", make.object("annotations", std::move(annotations)));
}

std::string graphNameOf(const Value& request, const Value& generated) {
  const json::Document overrides = deploymentOverrides(request);
  return std::string{graphName(generated, overrides)};
}

std::string graphNamespaceOf(const Value& request) {
  const json::Document overrides = deploymentOverrides(request);
  const std::string_view chosen = json::findText(&overrides, "namespace");
  return std::string{chosen.empty() ? namespaceOf(request) : chosen};
}

std::string graphNamespaceProblem(const Value& request, bool mayBeAnother) {
  const std::string wanted = graphNamespaceOf(request);
  if (mayBeAnother || wanted == namespaceOf(request)) return "";
  return fmt::format("spec.deploymentOverrides.namespace: Forbidden: the graph may not be created in {}",
                     wanted);
}

std::variant<Value, std::string> generatedGraph(const Value& request, Allocator& allocator) {
  const json::Maker make{allocator};
  text::Expansion left = kOutputExpansion;
  const std::string_view text = annotationOf(request, kGeneratedGraph);
  const text::TextDocuments read = text::parseDocuments(text, left);
  if (read.error) return fmt::format("annotation {}: {}", kGeneratedGraph, read.error->message());
  const Value* found = read.documents.size() == 1 ? &read.documents.front().value : nullptr;
  if (text.empty())  // an older release has left it in the status only (decision life-Q37)
    found = json::findObject(json::findObject(statusOf(request), "profilingResults"), "selectedConfig");
  if (json::findText(found, "kind") != api::kDynamoGraphDeployment)
    return fmt::format("annotation {} has no DynamoGraphDeployment", kGeneratedGraph);
  const Value& given = *found;
  const json::Document overrides = deploymentOverrides(request);
  Value graph =
      make.object("apiVersion", api::kV1alpha1, "kind", api::kDynamoGraphDeployment, "metadata",
                  make.object("name", graphName(given, overrides), "namespace", graphNamespaceOf(request)));
  Value& metadata = *json::find(graph, "metadata");
  for (const std::string_view map : {"labels", "annotations"}) {
    Value merged = make.object();
    layOver(merged, json::findObject(metadataOf(given), map), make);
    layOver(merged, json::findObject(&overrides, map), make);
    if (!merged.ObjectEmpty()) make.set(metadata, map, std::move(merged));
  }
  track(graph, request, make);
  if (const Value* spec = specOf(given)) make.set(graph, "spec", make.value(*spec));
  return graph;
}

std::vector<Value> additionalDocuments(const Value& request, Allocator& allocator) {
  std::vector<Value> documents;
  text::Expansion left = kOutputExpansion;
  const text::TextDocuments read = text::parseDocuments(annotationOf(request, kAdditionalResources), left);
  documents.reserve(read.documents.size());
  for (const text::TextDocument& document : read.documents)
    documents.push_back(json::copy(document.value, allocator));
  return documents;
}

std::vector<Value> additionalConfigMaps(const Value& request, const std::vector<Value>& documents,
                                        const Value* graph, Allocator& allocator) {
  const json::Maker make{allocator};
  std::vector<Value> made;
  for (const Value& document : documents) {
    if (json::findText(&document, "kind") != "ConfigMap") continue;
    Value object = make.value(document);
    make.set(object, "apiVersion", "v1");
    track(object, request, make);
    Value& metadata = *json::find(object, "metadata");
    make.set(metadata, "namespace", graph != nullptr ? namespaceOf(*graph) : graphNamespaceOf(request));
    json::remove(metadata, "ownerReferences");
    if (graph != nullptr) {
      make.set(metadata, "ownerReferences",
               make.list(make.object("apiVersion", api::kV1alpha1, "kind", api::kDynamoGraphDeployment,
                                     "name", nameOf(*graph), "uid", uidOf(*graph), "controller", true,
                                     "blockOwnerDeletion", true)));
    }
    made.push_back(std::move(object));
  }
  return made;
}

bool hasAnnotations(const Value& request, const Value& patch) {
  const Value* wanted = json::findObject(json::findObject(&patch, "metadata"), "annotations");
  const Value* stored = json::findObject(metadataOf(request), "annotations");
  for (rapidjson::SizeType i = 0; wanted != nullptr && i < wanted->MemberCount(); ++i) {
    const auto& [name, value] = wanted->MemberBegin()[i];
    const Value* found = json::find(stored, json::text(name));
    if (value.IsNull() ? found != nullptr : found == nullptr || *found != value) return false;
  }
  return true;
}

bool isOfRequest(const Value& object, const Value& request) {
  return labelOf(object, api::dgdr::kTrackingLabels[0]) == nameOf(request) &&
         labelOf(object, api::dgdr::kTrackingLabels[1]) == namespaceOf(request);
}

bool isOlderThanRequest(const Value& object, const Value& request) {
  // Both times are of the API server.
  const auto createdAt = [](const Value& each) {
    return parseTime(json::findText(metadataOf(each), "creationTimestamp"));
  };
  const auto since = createdAt(request);
  const auto created = createdAt(object);
  return !since || !created || *created < *since;
}

}  // namespace dynamo::lifecycle
