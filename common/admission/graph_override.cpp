#include "common/admission/graph_override.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "common/admission/source_path.h"
#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/field/check.h"
#include "common/json/build.h"
#include "common/k8s/names.h"
#include "common/k8s/object.h"
#include "common/render/size.h"
#include "common/rules/pod/pod.h"
#include "common/rules/pod/rules.h"
#include "common/rules/validators.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using field::ErrorType;
using field::FieldError;
using field::Findings;
using json::Value;

constexpr std::string_view kOverride = "spec.overrides.dgd";
constexpr std::string_view kRule = "dgdr-override-graph";
constexpr std::string_view kNameRule = "dgdr-override-name";
constexpr std::string_view kUnknownField = "schema.unknown-field";
constexpr std::string_view kNoEffect = "has no effect";

/// Pod rules that look at a second part of the pod, which the profiler may generate.
constexpr std::array kOfWholePods = {rules::pod::id::kMountVolume, rules::pod::id::kMountPropagation,
                                     rules::pod::id::kProbePortUnknown, rules::pod::id::kResourceClaim,
                                     rules::pod::id::kSleep};

/// The metadata that the generated graph gets; the operator chooses its namespace.
constexpr std::array<std::string_view, 3> kMetadata = {"name", "labels", "annotations"};

template <typename List>
bool contains(const List& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// Nobody reads more, and each is looked for in the user's maps and lists.
constexpr std::size_t kMostFindings = 100;

/// Only what is there can be judged.
bool isMissing(const FieldError& error) {
  return error.type == ErrorType::Required || error.type == ErrorType::NotFound;
}

std::string below(std::string_view path) {
  return path.empty() ? std::string{kOverride} : fmt::format("{}.{}", kOverride, path);
}

/// Services by key, as the rules write them: "spec.services.a.replicas" -> "spec.services[a].replicas".
std::string bracketed(const Value& graph, std::string path) {
  constexpr std::string_view kServices = "spec.services.";
  if (!path.starts_with(kServices)) return path;
  const std::string_view rest = std::string_view{path}.substr(kServices.size());
  std::string_view key;
  field::forEachMember(json::findObject(k8s::specOf(graph), "services"),
                       [&](std::string_view name, const Value&) {
                         const bool whole = rest.size() == name.size() || rest[name.size()] == '.';
                         if (rest.starts_with(name) && whole && name.size() >= key.size()) key = name;
                       });
  if (key.empty()) return path;
  return fmt::format("spec.services[{}]{}", key, rest.substr(key.size()));
}

/// The structure: types, enumerations, bounds. What the schema of the request has told already is left out.
void checkStructure(const Value& graph, Findings& findings) {
  const schema::Node* node = schema::find(api::kV1alpha1, api::kDynamoGraphDeployment);
  for (FieldError& error : schema::validate(*node, graph)) {
    if (findings.errors.size() + findings.warnings.size() >= kMostFindings) return;
    if (isMissing(error) || error.rule.starts_with("schema.cel.")) continue;
    if (error.field.starts_with("metadata")) continue;
    const std::string path = bracketed(graph, error.field);
    if (error.rule == kUnknownField) {
      findings.warn(below(path), fmt::format("{}: {}", kNoEffect, error.detail), error.rule);
      continue;
    }
    // Schema errors name the field once more.
    if (error.detail.starts_with(error.field)) error.detail.replace(0, error.field.size(), below(path));
    error.field = below(path);
    findings.error(std::move(error));
  }
}

void checkMetadata(const Value& request, const Value& graph, Findings& findings) {
  const field::Report report{findings, kRule};
  const Value* metadata = json::findObject(&graph, "metadata");
  const std::string_view own = json::findText(json::find(request, "metadata"), "namespace");
  field::forEachMember(metadata, [&](std::string_view key, const Value& value) {
    const std::string at = fmt::format("{}.metadata.{}", kOverride, key);
    if (key == "namespace") {
      if (json::text(value) == own || own.empty()) return;
      report.warn(at, "has no effect: the deployment is made in the namespace of the request");
    } else if (!contains(kMetadata, key) && !json::isEmpty(value)) {
      report.warn(at, "has no effect: only name, labels and annotations are taken");
    }
  });
  if (const std::string_view name = json::findText(metadata, "name"); !name.empty()) {
    field::Report{findings, kNameRule}.check(below("metadata.name"), name,
                                             k8s::dns1123SubdomainProblem(name));
  }
  field::forEachMember(json::findObject(metadata, "labels"), [&](std::string_view key, const Value&) {
    if (!contains(api::dgdr::kTrackingLabels, key)) return;
    report.warn(fmt::format("{}.metadata.labels[{}]", kOverride, key),
                "the operator sets it; yours is replaced");
  });
  if (json::find(graph, "status") != nullptr) report.warn(below("status"), std::string{kNoEffect});
}

/// A pod template of the parts that are given, at the places where rendering has them.
Value templateOf(const Value& service, json::Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* given = json::findObject(&service, "extraPodSpec");
  Value pod = given == nullptr ? make.object() : json::share(*given, allocator);
  json::remove(pod, "mainContainer");
  const Value* written = json::findObject(given, "mainContainer");
  Value main = written == nullptr ? make.object() : json::share(*written, allocator);
  if (json::findText(&main, "name").empty()) make.set(main, "name", "main");
  if (json::findText(&main, "image").empty()) make.set(main, "image", "main");
  for (const std::string_view probe : {"livenessProbe", "readinessProbe"}) {
    if (const Value* own = json::findObject(&service, probe)) make.set(main, probe, *own);
  }
  json::ensureList(pod, "containers", allocator).PushBack(main, allocator);
  Value made = make.object("spec", std::move(pod));
  if (const Value* metadata = json::findObject(&service, "extraPodMetadata")) {
    make.set(made, "metadata", *metadata);
  }
  return made;
}

void checkPods(const Value& graph, Findings& findings) {
  const Value* spec = k8s::specOf(graph);
  field::forEachMember(json::findObject(spec, "services"), [&](std::string_view key, const Value& service) {
    if (!service.IsObject()) return;
    json::Document document;
    const Value made = templateOf(service, document.GetAllocator());
    const Source source{&service, fmt::format("spec.services[{}]", key), json::find(spec, "envs")};
    Findings found;
    rules::pod::checkPodTemplate(made, "", rules::pod::Workload::Service, found);
    for (FieldError& error : found.errors) {
      if (findings.errors.size() >= kMostFindings) return;
      if (isMissing(error) || contains(kOfWholePods, error.rule)) continue;
      const std::string path = sourcePath(source, made, error.field);
      if (path == source.path) continue;  // of what was made up
      error.field = below(path);
      findings.error(std::move(error));
    }
    for (field::Warning& warning : found.warnings) {
      if (findings.warnings.size() >= kMostFindings) return;
      const std::string path = sourcePath(source, made, warning.field);
      if (contains(kOfWholePods, warning.rule) || path == source.path) continue;
      findings.warn(below(path), std::move(warning.text), std::move(warning.rule));
    }
  });
}

/// The rules of graphs over the override as if it were one.
void checkRules(const Value& request, const Value& graph, Findings& findings) {
  static const rules::GraphPolicy kPolicy;
  json::Document document;
  auto& allocator = document.GetAllocator();
  Value named = json::share(graph, allocator);
  Value& metadata = json::ensureObject(named, "metadata", allocator);
  const std::string_view own = json::findText(json::find(request, "metadata"), "namespace");
  json::set(metadata, "namespace", json::string(own, allocator), allocator);
  Findings found = rules::validateDgdParts({named, nullptr, {}, kPolicy});
  for (FieldError& error : found.errors) {
    if (isMissing(error)) continue;
    error.field = below(error.field);
    findings.error(std::move(error));
  }
  for (field::Warning& warning : found.warnings) {
    findings.warn(below(warning.field), std::move(warning.text), std::move(warning.rule));
  }
}

/// The first that is said of a field is enough.
void onceEach(Findings& findings) {
  std::set<std::string> told;
  std::erase_if(findings.errors, [&](const FieldError& error) { return !told.insert(error.field).second; });
}

}  // namespace

void checkGraphOverride(const Value& request, Findings& findings) {
  const Value* graph = json::findObject(json::findObject(k8s::specOf(request), "overrides"), "dgd");
  if (graph == nullptr || json::findText(graph, "kind") != api::kDynamoGraphDeployment ||
      json::findText(graph, "apiVersion") != api::kV1alpha1) {
    return;
  }
  Findings found;
  for (FieldError& error : render::tooLarge(*graph)) {
    error.field = below(error.field);
    found.error(std::move(error));
  }
  // Looking at more of such a graph is what the bound is for.
  if (found.errors.empty()) {
    checkStructure(*graph, found);
    checkMetadata(request, *graph, found);
    checkRules(request, *graph, found);
    checkPods(*graph, found);
    onceEach(found);
  }
  findings.add(std::move(found));
}

}  // namespace dynamo::admission
