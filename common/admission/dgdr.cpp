#include "common/admission/dgdr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "common/admission/alpha_paths.h"
#include "common/admission/alpha_settings.h"
#include "common/admission/graph_override.h"
#include "common/admission/job_override.h"
#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/field/check.h"
#include "common/field/ratchet.h"
#include "common/field/template_text.h"
#include "common/json/parse.h"
#include "common/k8s/names.h"
#include "common/k8s/object.h"
#include "common/rules/pod/pod.h"

namespace dynamo::admission {
namespace {

using field::Findings;
using field::Path;
using field::Report;
using field::Severity;
using json::Value;
using k8s::specOf;

namespace keys = api::dgdr;

std::string_view annotation(const Value& object, std::string_view key) {
  return json::findText(k8s::annotationsOf(object), key);
}

Path annotationPath(std::string_view key) {
  return Path{"metadata.annotations"}.key(key);
}

/// The warning about invisible characters, which come from templates and copied text and belong in no name,
/// image or path. Empty when there are none.
std::string invisibleCharacterWarning(std::string_view text) {
  // No-break space, zero-width space, byte order mark.
  constexpr std::array<std::string_view, 3> kInvisible = {"\xC2\xA0", "\xE2\x80\x8B", "\xEF\xBB\xBF"};
  const auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; })) {
    return "contains a line break";
  }
  if (std::any_of(text.begin(), text.end(), isControl)) return "contains a control character";
  if (!text.empty() && (text.front() == ' ' || text.back() == ' '))
    return "has leading or trailing whitespace";
  const bool invisible = std::any_of(kInvisible.begin(), kInvisible.end(), [&](std::string_view each) {
    return text.find(each) != std::string_view::npos;
  });
  return invisible ? "contains a space that is not ASCII" : std::string{};
}

bool isSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// The API server refuses the profiling Job with such an image.
void imageSpace(const Value& object, const Report& report) {
  const std::string_view image = json::findText(specOf(object), "image");
  if (image.empty() || (!isSpace(image.front()) && !isSpace(image.back()))) return;
  report.invalid("spec.image", image, "must not have leading or trailing whitespace");
}

void image(const Value& object, const Report& report) {
  const std::string_view image = json::findText(specOf(object), "image");
  if (image.empty() || isSpace(image.front()) || isSpace(image.back())) return;
  std::string warning = rules::pod::imageWarning(image);
  if (warning.empty()) warning = invisibleCharacterWarning(image);
  const bool beyond =
      std::any_of(image.begin(), image.end(), [](char c) { return static_cast<unsigned char>(c) > 0x7F; });
  if (warning.empty() && beyond) warning = "contains characters other than ASCII, which no registry allows";
  if (!warning.empty()) report.warn("spec.image", warning);
}

void model(const Value& object, const Report& report) {
  const std::string_view model = json::findText(specOf(object), "model");
  std::string warning = field::notReplaced(model);
  if (warning.empty()) warning = invisibleCharacterWarning(model);
  if (warning.empty() && model.find(' ') != std::string_view::npos) warning = "contains whitespace";
  if (!warning.empty()) report.warn("spec.model", warning);
}

void modelCache(const Value& object, const Report& report) {
  const std::string_view name = json::findText(json::findObject(specOf(object), "modelCache"), "pvcName");
  if (!name.empty()) report.check("spec.modelCache.pvcName", name, k8s::dns1123SubdomainProblem(name));
}

void modelCachePaths(const Value& object, const Report& report) {
  const Value* cache = json::findObject(specOf(object), "modelCache");
  const std::string_view mount = json::findText(cache, "pvcMountPath");
  const std::string_view model = json::findText(cache, "pvcModelPath");
  const bool given = !model.empty() || (!mount.empty() && mount != keys::kDefaultModelCacheMountPath);
  if (given && json::findText(cache, "pvcName").empty()) {
    report.warn("spec.modelCache", "has no effect without pvcName");
  }
  for (const auto& [field, path] : {std::pair{std::string_view{"pvcMountPath"}, mount},
                                    std::pair{std::string_view{"pvcModelPath"}, model}}) {
    const std::string warning = invisibleCharacterWarning(path);
    if (!warning.empty()) report.warn(Path{"spec.modelCache"} / field, warning);
  }
  if (!mount.empty() && mount.front() != '/') {
    report.warn("spec.modelCache.pvcMountPath", "is not an absolute path");
  }
  if (mount.find(':') != std::string_view::npos) {
    report.warn("spec.modelCache.pvcMountPath", "contains ':', which container runtimes refuse");
  }
  if (model.starts_with('/'))
    report.warn("spec.modelCache.pvcModelPath", "should be relative because it is a path inside the claim");
  if (model == ".." || model.starts_with("../") || model.find("/../") != std::string_view::npos) {
    report.warn("spec.modelCache.pvcModelPath", "leads outside the claim");
  }
}

// The profiler

void workloadOnce(const Value& object, const Report& report) {
  const Value* workload = json::findObject(specOf(object), "workload");
  if (json::find(workload, "concurrency") == nullptr || json::find(workload, "requestRate") == nullptr)
    return;
  report.warn("spec.workload.requestRate",
              "is set together with concurrency: the profiler uses only one of them");
}

void slaComplete(const Value& object, const Report& report) {
  const Value* sla = json::findObject(specOf(object), "sla");
  const bool first = json::find(sla, "ttft") != nullptr;
  const bool each = json::find(sla, "itl") != nullptr;
  if (json::find(sla, "e2eLatency") != nullptr) {
    for (const std::string_view field : {"ttft", "itl"}) {
      if (json::find(sla, field) == nullptr) continue;
      report.warn(Path{"spec.sla"} / field, "has no effect when e2eLatency is set");
    }
  } else if (first != each) {
    report.warn(Path{"spec.sla"} / std::string_view{first ? "itl" : "ttft"},
                fmt::format("should be set: the profiler needs it together with {}", first ? "ttft" : "itl"));
  }
}

// Settings of v1alpha1, in annotations of v1beta1

void outputClaim(const Value& object, const Report& report) {
  const std::string_view name = annotation(object, keys::kOutputPvc);
  if (!name.empty()) report.check(annotationPath(keys::kOutputPvc), name, k8s::dns1123SubdomainProblem(name));
}

void configMapRef(const Value& object, const Report& report) {
  json::Document reference;
  const std::string_view text = annotation(object, keys::kConfigMapRef);
  if (text.empty() || json::parse(text, reference) || !reference.IsObject()) return;
  const Path path = annotationPath(keys::kConfigMapRef);
  const std::string_view name = json::findText(&reference, "name");
  if (name.empty()) {
    report.required(path / "name", "must name a ConfigMap");
  } else {
    report.check(path / "name", name, k8s::dns1123SubdomainProblem(name));
  }
  const std::string_view key = json::findText(&reference, "key");
  if (!key.empty()) report.check(path / "key", key, k8s::configMapKeyProblem(key));
}

void deploymentOverrides(const Value& object, const Report& report) {
  json::Document overrides;
  const std::string_view text = annotation(object, keys::kDeploymentOverrides);
  if (text.empty() || json::parse(text, overrides)) return;
  const Path path = annotationPath(keys::kDeploymentOverrides);
  const std::string_view name = json::findText(&overrides, "name");
  if (!name.empty()) report.check(path / "name", name, k8s::dns1123SubdomainProblem(name));
  field::forEachMember(json::findObject(&overrides, "labels"), [&](std::string_view key, const Value& value) {
    const Path at = (path / "labels").key(key);
    report.check(at, key, k8s::qualifiedNameProblem(key));
    report.check(at, json::text(value), k8s::labelValueProblem(json::text(value)));
  });
  field::forEachMember(json::findObject(&overrides, "annotations"), [&](std::string_view key, const Value&) {
    report.check((path / "annotations").key(key), key, k8s::annotationKeyProblem(key));
  });
}

using RequestCheck = field::Check<Value>;

constexpr std::array kChecks = {
    RequestCheck{
        {"dgdr-image-space", Severity::Error, "the profiler's image has no leading or trailing whitespace"},
        imageSpace},
    RequestCheck{{"dgdr-image", Severity::Warning, "the profiler's image has a name that registries accept"},
                 image},
    RequestCheck{
        {"dgdr-model-space", Severity::Warning, "a model's name has no whitespace and is no placeholder"},
        model},
    RequestCheck{{"dgdr-model-cache", Severity::Error, "the claim of a model cache has a valid name"},
                 modelCache},
    RequestCheck{{"dgdr-output-claim", Severity::Error, "the claim for results has a valid name"},
                 outputClaim},
    RequestCheck{{"dgdr-config-map", Severity::Error, "a mounted ConfigMap has a valid name and key"},
                 configMapRef},
    RequestCheck{{"dgdr-overrides-metadata", Severity::Error,
                  "the generated deployment gets a valid name, labels and annotations"},
                 deploymentOverrides},
    RequestCheck{{"dgdr-model-cache-odd", Severity::Warning,
                  "paths of a model cache stay inside the claim and can be mounted"},
                 modelCachePaths},
    RequestCheck{{"dgdr-workload-once", Severity::Warning, "traffic is given as concurrency or as a rate"},
                 workloadOnce},
    RequestCheck{{"dgdr-sla-complete", Severity::Warning, "SLA targets are ttft and itl, or e2eLatency"},
                 slaComplete},
};

/// Rules that are not in the table. Each covers a part of the request.
constexpr std::array kPartRules = {
    field::Rule{"dgdr-override-job", Severity::Warning,
                "the settings of overrides.profilingJob are applied to the profiling Job"},
    field::Rule{"dgdr-override-graph", Severity::Warning,
                "the settings of overrides.dgd are applied to the generated graph"},
    field::Rule{"dgdr-override-name", Severity::Error, "the generated graph gets a valid name"},
    field::Rule{"dgdr-ineffective-field", Severity::Warning,
                "v1alpha1 settings that the profiler no longer reads"},
};

constexpr auto kRules = [] {
  constexpr auto kTable = field::rulesIn(kChecks);
  std::array<field::Rule, kTable.size() + kPartRules.size()> rules{};
  std::copy(kPartRules.begin(), kPartRules.end(), std::copy(kTable.begin(), kTable.end(), rules.begin()));
  return rules;
}();

Findings runAll(const Value& object, const rules::GraphPolicy& policy) {
  Findings findings;
  checkProfilingJob(object, findings);
  checkGraphOverride(object, policy, findings);
  field::runChecks<Value>(kChecks, object, findings);
  return findings;
}

/// Whether the request has settings of v1alpha1 that v1beta1 keeps in annotations.
bool carriesAlpha(const Value& object) {
  constexpr std::array kCarriers = {keys::kProfilingConfig, keys::kConfigMapRef, keys::kAlphaSpecRemainder};
  return std::any_of(kCarriers.begin(), kCarriers.end(),
                     [&](std::string_view key) { return !annotation(object, key).empty(); });
}

/// Translates the paths of findings to v1alpha1 and adds warnings about settings that only v1alpha1 has. An
/// update that does not change the spec does not repeat those warnings.
void presentAsAlpha(const rules::DgdrWrite& request, Findings& all) {
  const bool written =
      carriesAlpha(request.object) &&
      (request.old == nullptr || (!k8s::isBeingDeleted(request.object) && rules::specChanged(request)));
  if (!written && all.errors.empty() && all.warnings.empty()) return;
  json::Document document;
  Value alpha;
  // Conversion fails for an object without a kind, which then has no v1alpha1 spellings.
  static_cast<void>(conversion::convertDgdr(request.object, api::kV1alpha1, alpha, document.GetAllocator()));
  const AlphaPaths toAlpha{alpha};
  for (field::FieldError& error : all.errors) toAlpha(error.field);
  for (field::Warning& warning : all.warnings) toAlpha(warning.field);
  if (!written) return;
  Findings more;
  checkAlphaSettings(alpha, more);
  // A setting that has no effect is not also reported as missing.
  std::erase_if(all.warnings, [&](const field::Warning& warning) {
    return std::any_of(more.warnings.begin(), more.warnings.end(),
                       [&](const field::Warning& other) { return other.field == warning.field; });
  });
  all.add(std::move(more));
}

}  // namespace

std::span<const field::Rule> dgdrRules() {
  return kRules;
}

Findings validateDgdr(const rules::DgdrWrite& request) {
  Findings all = rules::validateDgdr(request);
  if (request.old == nullptr || !k8s::isBeingDeleted(request.object)) {
    Findings more = runAll(request.object, request.policy.graph);
    if (request.old != nullptr && !more.errors.empty()) {
      more = field::ratchet(std::move(more), runAll(*request.old, request.policy.graph), request.object,
                            *request.old);
    }
    all.add(std::move(more));
  }
  if (request.clientVersion == "v1alpha1") presentAsAlpha(request, all);
  all.sort();
  return all;
}

}  // namespace dynamo::admission
