#include "common/admission/graph_override.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/admission/field_advice.h"
#include "common/admission/metadata.h"
#include "common/api/contains.h"
#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/field/check.h"
#include "common/json/build.h"
#include "common/k8s/object.h"
#include "common/model/graph.h"
#include "common/model/origin.h"
#include "common/render/size.h"
#include "common/rules/pod/pod.h"
#include "common/rules/pod/rules.h"
#include "common/rules/validators.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using api::contains;
using field::ErrorType;
using field::FieldError;
using field::Findings;
using field::Path;
using json::Value;
using model::Origin;
using model::Origins;

constexpr field::Members kOverride = "spec.overrides.dgd";
constexpr std::string_view kRule = "dgdr-override-graph";
constexpr std::string_view kNameRule = "dgdr-override-name";
constexpr std::string_view kUnknownField = "schema.unknown-field";
constexpr std::string_view kSchedulerRule = "dgd.grove-scheduler";
constexpr std::string_view kNoEffect = "has no effect";

/// Pod rules that depend on another part of the pod, which the profiler may generate.
constexpr std::array kWholePodRules = {rules::pod::id::kMountVolume, rules::pod::id::kMountPropagation,
                                       rules::pod::id::kProbePortUnknown, rules::pod::id::kResourceClaim,
                                       rules::pod::id::kSleep};

/// The metadata that the generated graph gets; the operator chooses its namespace.
constexpr std::array<std::string_view, 3> kMetadata = {"name", "labels", "annotations"};

/// Each finding is matched against the user's maps and lists, and nobody reads more than this.
constexpr std::size_t kMaxFindings = 100;

/// Whether something is missing, which the profiler may generate.
bool isMissing(const FieldError& error) {
  return error.type == ErrorType::Required || error.type == ErrorType::NotFound;
}

/// The path in the request of a field of the override.
Path below(const Path& path) {
  return Path{path}.prepend(Path{kOverride});
}

/// A path of the schema in which the key of the service is printed as the rules print it:
/// "spec.services.a.labels.k" -> "spec.services[a].labels.k".
Path printAsRules(const Path& path) {
  if (path.keys() == field::Keys::Bracketed) return path;
  const auto service = model::serviceIn(path);
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

/// Checks types, enumerations and bounds. Findings that the schema of the request has too are left out.
void checkStructure(const Value& graph, Findings& findings) {
  static const Path kMetadataPath{"metadata"};
  const schema::Node* node = schema::find(api::kV1alpha1, api::kDynamoGraphDeployment);
  std::vector<FieldError> errors = schema::validate(*node, graph);
  explainUnknownFields(api::kDynamoGraphDeployment, "v1alpha1", graph, errors);
  for (FieldError& error : errors) {
    if (findings.errors.size() + findings.warnings.size() >= kMaxFindings) return;
    if (isMissing(error) || error.rule.starts_with("schema.cel.")) continue;
    if (error.field.isWithin(kMetadataPath)) continue;
    error.field = below(printAsRules(error.field));
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
  // API servers check the metadata of embedded objects. The name must be one of a graph besides.
  std::vector<FieldError> errors = nameErrors(graph);
  const bool badNamespace = std::any_of(errors.begin(), errors.end(), [](const FieldError& error) {
    return error.field == Path{"metadata.namespace"};
  });
  for (FieldError& error : errors) {
    if (error.field == Path{"metadata.name"}) error.rule = kNameRule;
    error.field = below(error.field);
    findings.error(std::move(error));
  }
  field::forEachMember(metadata, [&](std::string_view key, const Value& value) {
    const Path at = Path{kOverride} / "metadata" / key;
    if (key == "namespace") {
      if (badNamespace || json::text(value) == own || own.empty()) return;
      report.warn(at, "has no effect because the deployment is created in the namespace of the request");
    } else if (!contains(kMetadata, key) && !json::isEmpty(value)) {
      report.warn(at, "has no effect because only name, labels and annotations are used");
    }
  });
  field::forEachMember(json::findObject(metadata, "labels"), [&](std::string_view key, const Value&) {
    if (!contains(api::dgdr::kTrackingLabels, key)) return;
    report.warn((Path{kOverride} / "metadata.labels").key(key), "has no effect because the operator sets it");
  });
  if (json::find(graph, "status") != nullptr) report.warn(below(Path{"status"}), std::string{kNoEffect});
}

/// A pod template of the parts that are given, at the places where rendering has them. Unless `origins` is
/// nullptr, it gets their fields in the service.
Value templateOf(const Value& service, Origins* origins, json::Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* given = json::findObject(&service, "extraPodSpec");
  Value pod = given == nullptr ? make.object() : json::share(*given, allocator);
  json::remove(pod, "mainContainer");
  const Value* written = json::findObject(given, "mainContainer");
  Value main = written == nullptr ? make.object() : json::share(*written, allocator);
  Value& containers = json::ensureList(pod, "containers", allocator);
  Path mainAt;
  if (origins != nullptr) {
    mainAt = Path{"spec.containers"}[containers.Size()];
    origins->byOperator({});
    origins->user(Path{"metadata"}, Path{"extraPodMetadata"});
    origins->user(Path{"spec"}, Path{"extraPodSpec"});
    origins->user(mainAt, Path{"extraPodSpec.mainContainer"});
  }
  for (const std::string_view made : {"name", "image"}) {
    if (!json::findText(&main, made).empty()) continue;
    make.set(main, made, "main");
    if (origins != nullptr) origins->byOperator(mainAt / made);
  }
  for (const std::string_view probe : {"livenessProbe", "readinessProbe"}) {
    const Value* own = json::findObject(&service, probe);
    if (own == nullptr) continue;
    make.set(main, probe, *own);
    if (origins != nullptr) origins->user(mainAt / probe, Path{probe});
  }
  containers.PushBack(main, allocator);
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
    Findings found;
    rules::pod::checkPodTemplate(templateOf(service, nullptr, document.GetAllocator()), {},
                                 rules::pod::Workload::Service, found);
    std::erase_if(found.errors, [](const FieldError& error) {
      return isMissing(error) || contains(kWholePodRules, error.rule);
    });
    std::erase_if(found.warnings,
                  [](const field::Warning& warning) { return contains(kWholePodRules, warning.rule); });
    if (found.errors.empty() && found.warnings.empty()) return;
    Origins origins;
    templateOf(service, &origins, document.GetAllocator());
    const Path path = below(Path{"spec.services"}.key(key));
    for (FieldError& error : found.errors) {
      if (findings.errors.size() >= kMaxFindings) return;
      const Origin origin = origins.of(error.field);
      if (origin.source == Origin::Source::Operator) continue;  // of what was made up
      error.field = path / origin.field;
      findings.error(std::move(error));
    }
    for (field::Warning& warning : found.warnings) {
      if (findings.warnings.size() >= kMaxFindings) return;
      const Origin origin = origins.of(warning.field);
      if (origin.source == Origin::Source::Operator) continue;
      findings.warn(path / origin.field, std::move(warning.text), std::move(warning.rule));
    }
  });
}

/// Whether two services name different schedulers. The profiler may give one to those that name none.
bool namesTwoSchedulers(const Value& graph) {
  std::set<std::string_view> names;
  field::forEachMember(json::findObject(k8s::specOf(graph), "services"),
                       [&](std::string_view, const Value& service) {
                         const Value* pod = json::findObject(&service, "extraPodSpec");
                         names.insert(json::findText(pod, "schedulerName"));
                       });
  names.erase(std::string_view{});
  return names.size() > 1;
}

/// Applies the rules of graphs to the override.
void checkRules(const Value& request, const Value& graph, const rules::GraphPolicy& policy,
                Findings& findings) {
  json::Document document;
  auto& allocator = document.GetAllocator();
  Value named = json::share(graph, allocator);
  // Names of children are made of the names in metadata, whose errors are told there.
  repairMetadata(named, allocator);
  Value& metadata = json::ensureObject(named, "metadata", allocator);
  const std::string_view own = json::findText(json::find(request, "metadata"), "namespace");
  json::set(metadata, "namespace", json::string(own, allocator), allocator);
  Findings found = rules::validateDgdParts({named, nullptr, {}, policy});
  for (FieldError& error : found.errors) {
    if (isMissing(error)) continue;
    if (error.rule == kSchedulerRule && !namesTwoSchedulers(graph)) {
      findings.warn(below(error.field), std::move(error.detail), std::move(error.rule));
      continue;
    }
    error.field = below(error.field);
    findings.error(std::move(error));
  }
  for (field::Warning& warning : found.warnings) {
    findings.warn(below(warning.field), std::move(warning.text), std::move(warning.rule));
  }
}

/// Keeps the first error of each field.
void keepFirstPerField(Findings& findings) {
  std::set<Path> seen;
  std::erase_if(findings.errors, [&](const FieldError& error) { return !seen.insert(error.field).second; });
}

}  // namespace

void checkGraphOverride(const Value& request, const rules::GraphPolicy& policy, Findings& findings) {
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
  // The bound exists so that such a graph is not checked further.
  if (found.errors.empty()) {
    checkStructure(*graph, found);
    checkMetadata(request, *graph, found);
    checkRules(request, *graph, policy, found);
    checkPods(*graph, found);
    keepFirstPerField(found);
  }
  findings.add(std::move(found));
}

}  // namespace dynamo::admission
