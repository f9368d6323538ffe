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
using field::Path;
using json::Value;

constexpr field::Members kOverride = "spec.overrides.dgd";
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

/// The path in the request of what stands at `path` of the graph.
Path below(const Path& path) {
  return Path{path}.prepend(Path{kOverride});
}

/// An error of the schema with the service's key as the rules print it, and other keys of maps as schemas do:
/// "spec.services.a.labels.k" -> "spec.services[a].labels.k".
Path printedAsRules(const Path& path) {
  if (path.keys() == field::Keys::Bracketed) return path;
  const auto service = serviceIn(path);
  Path printed;
  for (const field::Segment segment : path.view()) {
    const bool key = !segment.isIndex() && service && segment.name.data() == service->data();
    printed.append(
        segment.isIndex()
            ? segment
            : field::Segment{key ? field::Segment::Kind::Key : field::Segment::Kind::Member, segment.name});
  }
  return printed;
}

/// The structure: types, enumerations, bounds. What the schema of the request has told already is left out.
void checkStructure(const Value& graph, Findings& findings) {
  static const Path kMetadataPath{"metadata"};
  const schema::Node* node = schema::find(api::kV1alpha1, api::kDynamoGraphDeployment);
  for (FieldError& error : schema::validate(*node, graph)) {
    if (findings.errors.size() + findings.warnings.size() >= kMostFindings) return;
    if (isMissing(error) || error.rule.starts_with("schema.cel.")) continue;
    if (error.field.isWithin(kMetadataPath)) continue;
    error.field = below(printedAsRules(error.field));
    if (error.rule == kUnknownField) {
      findings.warn(error.field, fmt::format("{}: {}", kNoEffect, error.detail), error.rule);
      continue;
    }
    findings.error(std::move(error));
  }
}

void checkMetadata(const Value& request, const Value& graph, Findings& findings) {
  const field::Report report{findings, kRule};
  const Value* metadata = json::findObject(&graph, "metadata");
  const std::string_view own = json::findText(json::find(request, "metadata"), "namespace");
  field::forEachMember(metadata, [&](std::string_view key, const Value& value) {
    const Path at = Path{kOverride} / "metadata" / key;
    if (key == "namespace") {
      if (json::text(value) == own || own.empty()) return;
      report.warn(at, "has no effect: the deployment is made in the namespace of the request");
    } else if (!contains(kMetadata, key) && !json::isEmpty(value)) {
      report.warn(at, "has no effect: only name, labels and annotations are taken");
    }
  });
  if (const std::string_view name = json::findText(metadata, "name"); !name.empty()) {
    field::Report{findings, kNameRule}.check(below(Path{"metadata.name"}), name,
                                             k8s::dns1123SubdomainProblem(name));
  }
  field::forEachMember(json::findObject(metadata, "labels"), [&](std::string_view key, const Value&) {
    if (!contains(api::dgdr::kTrackingLabels, key)) return;
    report.warn((Path{kOverride} / "metadata.labels").key(key), "the operator sets it; yours is replaced");
  });
  if (json::find(graph, "status") != nullptr) report.warn(below(Path{"status"}), std::string{kNoEffect});
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
    const Source source{&service, Path{"spec.services"}.key(key), json::find(spec, "envs")};
    Findings found;
    rules::pod::checkPodTemplate(made, {}, rules::pod::Workload::Service, found);
    for (FieldError& error : found.errors) {
      if (findings.errors.size() >= kMostFindings) return;
      if (isMissing(error) || contains(kOfWholePods, error.rule)) continue;
      const Path path = sourcePath(source, made, error.field);
      if (path == source.path) continue;  // of what was made up
      error.field = below(path);
      findings.error(std::move(error));
    }
    for (field::Warning& warning : found.warnings) {
      if (findings.warnings.size() >= kMostFindings) return;
      const Path path = sourcePath(source, made, warning.field);
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
  std::set<Path> told;
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
