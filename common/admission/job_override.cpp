#include "common/admission/job_override.h"

#include <optional>
#include <string>
#include <utility>

#include "common/admission/never_starts.h"
#include "common/admission/validate.h"
#include "common/field/check.h"
#include "common/json/build.h"
#include "common/k8s/object.h"
#include "common/render/profiling_job.h"
#include "common/render/profiling_override.h"
#include "common/rules/pod/pod.h"
#include "common/rules/pod/rules.h"

namespace dynamo::admission {
namespace {

using field::At;
using field::Findings;
using field::Members;
using field::Path;
using field::PathView;
using field::Report;
using json::Value;
using k8s::specOf;
using render::OverridePart;

constexpr Members kOverride = "spec.overrides.profilingJob";
constexpr std::string_view kRule = "dgdr-override-job";
constexpr std::string_view kNotTaken = "has no effect: the profiling Job does not take it over";

// The Job

/// The Job's spec as a controller would create it. The configuration only gives it addresses and the copier's
/// image, of which nothing is told here: any will do.
Value trialJob(const Value& request, json::Allocator& allocator) {
  const auto settings = usualSettings();
  const render::Context usual = settings->context();
  const render::Context trial{usual.config, usual.defaults, usual.facts, std::nullopt, "trial"};
  return render::profilingJobSpec(request, trial, allocator);
}

/// Where the user wrote what stands at `path` of the Job; nullopt: it is the operator's, or a rule about
/// requests tells of it.
std::optional<Path> userField(const Value& job, const Value* override, PathView path, std::string_view rule) {
  if (override != nullptr) {
    if (std::optional<Path> found = render::overridePath(job, *override, path)) return kOverride / *found;
  }
  // The paths of the operator's own mounts differ, but for the one that the user may choose.
  const Path mounts = Path{"template.spec.containers"}[0] / "volumeMounts";
  const bool mounted = rule == rules::pod::id::kMountPath && path.isWithin(mounts);
  return mounted ? std::optional{Path{"spec.modelCache.pvcMountPath"}} : std::nullopt;
}

void judgeJob(const Value& request, const Value* override, Findings& findings) {
  json::Document document;
  const Value job = trialJob(request, document.GetAllocator());
  Findings found;
  rules::pod::checkJob(job, {}, found);
  rejectUnstartable(job, {}, found);
  for (field::FieldError& error : found.errors) {
    std::optional<Path> field = userField(job, override, error.field, error.rule);
    if (!field) continue;
    if (!field->isWithin(Path{kOverride})) error.detail += ": the operator mounts something there";
    error.field = std::move(*field);
    findings.error(std::move(error));
  }
  for (field::Warning& warning : found.warnings) {
    std::optional<Path> field = userField(job, override, warning.field, warning.rule);
    if (field) findings.warn(std::move(*field), std::move(warning.text), std::move(warning.rule));
  }
}

// What is not taken over

/// Warns of the members of `object` that are not taken over, but for `besides`. Empty ones say nothing.
void ignoredOf(OverridePart part, const Value* object, const At& at, std::string_view besides,
               const Report& report) {
  field::forEachMember(object, [&](std::string_view name, const Value& value) {
    if (name == besides || render::howTaken(part, name) || json::isEmpty(value)) return;
    // It is what the Job has anyway.
    if (part == OverridePart::Pod && name == "restartPolicy" && json::text(value) == "Never") return;
    report.warn(at / name, std::string{kNotTaken});
  });
}

void ignoredLabels(const Value* metadata, const At& labels, const Report& report) {
  field::forEachMember(json::findObject(metadata, "labels"), [&](std::string_view key, const Value&) {
    if (!render::isOperatorLabel(key)) return;
    report.warn(labels.key(key), "has no effect: the operator sets this label itself");
  });
}

void ignoredOfContainers(const Value* podSpec, const At& containers, const Report& report) {
  field::forEachObject(json::find(podSpec, "containers"), [&](const Value& container, std::size_t i) {
    const At at = containers[i];
    if (i == 0) {
      ignoredOf(OverridePart::Profiler, &container, at, "name", report);
    } else {
      report.warn(at, "has no effect: only the first container is taken over");
    }
  });
}

/// Everything that the merge leaves out, each at its path.
void ignored(const Value& job, const Report& report) {
  const At at = kOverride;
  ignoredOf(OverridePart::Job, &job, at, "template", report);
  const Value* podTemplate = json::findObject(&job, "template");
  const Value* metadata = json::findObject(podTemplate, "metadata");
  const At metadataAt = at / "template.metadata";
  ignoredOf(OverridePart::PodMetadata, metadata, metadataAt, {}, report);
  ignoredLabels(metadata, metadataAt / "labels", report);
  const Value* podSpec = json::findObject(podTemplate, "spec");
  const At specAt = at / "template.spec";
  ignoredOf(OverridePart::Pod, podSpec, specAt, "containers", report);
  ignoredOf(OverridePart::PodSecurity, json::findObject(podSpec, "securityContext"),
            specAt / "securityContext", {}, report);
  ignoredOfContainers(podSpec, specAt / "containers", report);
}

}  // namespace

void checkProfilingJob(const Value& request, Findings& findings) {
  const Value* spec = specOf(request);
  const Value* override = json::findObject(json::findObject(spec, "overrides"), "profilingJob");
  // Without both, all that is the user's in the Job has rules of its own.
  const bool cached = !json::findText(json::findObject(spec, "modelCache"), "pvcName").empty();
  if (override == nullptr && !cached) return;
  judgeJob(request, override, findings);
  if (override != nullptr) ignored(*override, Report{findings, kRule});
}

}  // namespace dynamo::admission
