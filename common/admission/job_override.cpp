#include "common/admission/job_override.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "common/admission/never_starts.h"
#include "common/api/dgdr.h"
#include "common/field/check.h"
#include "common/json/build.h"
#include "common/k8s/object.h"
#include "common/rules/pod/pod.h"

namespace dynamo::admission {
namespace {

using field::At;
using field::Findings;
using field::Members;
using field::Report;
using json::Value;
using k8s::specOf;

namespace keys = api::dgdr;

constexpr Members kJob = "spec.overrides.profilingJob";
constexpr std::string_view kRule = "dgdr-override-job";
constexpr std::string_view kNotTaken = "has no effect: the profiling Job does not take it over";

// What of an override goes into the Job; the rest is never looked at. All of it is taken whole, but for the
// profiler's container and the pod around it. Claims of the pod are taken because those of the container are
// (life-Q25).
constexpr std::array<std::string_view, 6> kJobFields = {
    "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished",
    "completions",  "parallelism",           "suspend"};
constexpr std::array<std::string_view, 16> kPodFields = {"tolerations",
                                                         "nodeSelector",
                                                         "topologySpreadConstraints",
                                                         "affinity",
                                                         "runtimeClassName",
                                                         "dnsConfig",
                                                         "terminationGracePeriodSeconds",
                                                         "automountServiceAccountToken",
                                                         "priorityClassName",
                                                         "serviceAccountName",
                                                         "dnsPolicy",
                                                         "imagePullSecrets",
                                                         "securityContext",
                                                         "volumes",
                                                         "resourceClaims",
                                                         "initContainers"};
constexpr std::array<std::string_view, 6> kContainerFields = {"image", "resources",    "securityContext",
                                                              "env",   "volumeMounts", "envFrom"};
constexpr std::array<std::string_view, 11> kSecurityFields = {
    "runAsNonRoot",       "runAsUser",      "runAsGroup",          "fsGroup",
    "supplementalGroups", "sysctls",        "fsGroupChangePolicy", "seccompProfile",
    "appArmorProfile",    "seLinuxOptions", "windowsOptions"};
constexpr std::array<std::string_view, 2> kMetadataFields = {"labels", "annotations"};

template <typename Fields>
bool contains(const Fields& fields, std::string_view name) {
  return std::find(fields.begin(), fields.end(), name) != fields.end();
}

template <std::size_t N>
Value only(const std::array<std::string_view, N>& fields, const Value* from, json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value kept = make.object();
  for (const std::string_view field : fields) {
    if (const Value* value = json::find(from, field)) make.set(kept, field, json::share(*value, allocator));
  }
  return kept;
}

// What the Job has of its own, as far as an override can collide with it, refer to it or leave it
// to the operator.
constexpr std::string_view kProfiler = "profiler";
constexpr std::string_view kCopier = "output-copier";
constexpr std::string_view kRestartPolicy = "Never";

Value profilerOf(const Value* podSpec, json::Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* containers = json::find(podSpec, "containers");
  const bool given = containers != nullptr && containers->IsArray() && !containers->Empty();
  Value profiler = only(kContainerFields, given ? &(*containers)[0] : nullptr, allocator);
  make.set(profiler, "name", kProfiler);
  if (json::findText(&profiler, "image").empty()) make.set(profiler, "image", kProfiler);
  return profiler;
}

std::vector<std::string_view> volumesOf(const Value& request) {
  std::vector<std::string_view> names{"profiling-output"};
  const Value* cache = json::findObject(specOf(request), "modelCache");
  if (!json::findText(cache, "pvcName").empty()) names.emplace_back("model-cache");
  if (!json::findText(k8s::annotationsOf(request), keys::kConfigMapRef).empty())
    names.emplace_back("profiling-config");
  return names;
}

/// The volumes of the override keep their places.
void addVolumes(Value& pod, const std::vector<std::string_view>& names, json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value& volumes = json::ensureList(pod, "volumes", allocator);
  for (const std::string_view name : names) {
    if (json::findNamed(&volumes, name) != nullptr) continue;
    make.push(volumes, make.object("name", name, "persistentVolumeClaim", make.object("claimName", name)));
  }
}

/// The pod may not be root, unless the override says so; the rest of its context needs no judgement.
void setSecurity(Value& pod, const Value* podSpec, json::Allocator& allocator) {
  Value context = only(kSecurityFields, json::findObject(podSpec, "securityContext"), allocator);
  if (json::find(context, "runAsNonRoot") == nullptr)
    json::set(context, "runAsNonRoot", Value{true}, allocator);
  json::set(pod, "securityContext", std::move(context), allocator);
}

/// The Job with what is used of the override, at the same paths.
Value mergedJob(const Value& request, const Value& job, json::Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* podTemplate = json::findObject(&job, "template");
  const Value* podSpec = json::findObject(podTemplate, "spec");
  Value pod = only(kPodFields, podSpec, allocator);
  make.set(pod, "restartPolicy", kRestartPolicy);
  make.set(pod, "containers",
           make.list(profilerOf(podSpec, allocator), make.object("name", kCopier, "image", kCopier)));
  addVolumes(pod, volumesOf(request), allocator);
  setSecurity(pod, podSpec, allocator);
  Value whole = make.object("spec", std::move(pod));
  if (const Value* metadata = json::findObject(podTemplate, "metadata")) {
    make.set(whole, "metadata", *metadata);
  }
  Value used = only(kJobFields, &job, allocator);
  make.set(used, "template", std::move(whole));
  return used;
}

// What is not taken over

/// Warns of members of `object` that are none of `fields`, nor `besides`. Empty ones say nothing.
template <typename Fields>
void warnOfOthers(const Value* object, const At& at, const Fields& fields, std::string_view besides,
                  const Report& report) {
  field::forEachMember(object, [&](std::string_view name, const Value& value) {
    if (name == besides || contains(fields, name) || json::isEmpty(value)) return;
    report.warn(at / name, std::string{kNotTaken});
  });
}

void ignoredLabels(const Value* metadata, const At& labels, const Report& report) {
  field::forEachMember(json::findObject(metadata, "labels"), [&](std::string_view key, const Value&) {
    if (!contains(keys::kTrackingLabels, key) && !contains(keys::kJobLabels, key)) return;
    report.warn(labels.key(key), "has no effect: the operator sets this label itself");
  });
}

void ignoredOfContainers(const Value* podSpec, const At& containers, const Report& report) {
  field::forEachObject(json::find(podSpec, "containers"), [&](const Value& container, std::size_t i) {
    const At at = containers[i];
    if (i == 0) {
      warnOfOthers(&container, at, kContainerFields, "name", report);
    } else {
      report.warn(at, "has no effect: only the first container is taken over");
    }
  });
}

/// Everything that the merge leaves out, each at its path.
void ignored(const Value& job, const Report& report) {
  const At at = kJob;
  warnOfOthers(&job, at, kJobFields, "template", report);
  const Value* podTemplate = json::findObject(&job, "template");
  const Value* metadata = json::findObject(podTemplate, "metadata");
  const At metadataAt = at / "template.metadata";
  warnOfOthers(metadata, metadataAt, kMetadataFields, {}, report);
  ignoredLabels(metadata, metadataAt / "labels", report);
  const Value* podSpec = json::findObject(podTemplate, "spec");
  const At specAt = at / "template.spec";
  field::forEachMember(podSpec, [&](std::string_view name, const Value& value) {
    const bool asItIs = name == "restartPolicy" && json::text(value) == kRestartPolicy;
    if (name == "containers" || asItIs || contains(kPodFields, name) || json::isEmpty(value)) return;
    report.warn(specAt / name, std::string{kNotTaken});
  });
  warnOfOthers(json::findObject(podSpec, "securityContext"), specAt / "securityContext", kSecurityFields, {},
               report);
  ignoredOfContainers(podSpec, specAt / "containers", report);
}

}  // namespace

void checkJobOverride(const Value& request, Findings& findings) {
  const Value* job = json::findObject(json::findObject(specOf(request), "overrides"), "profilingJob");
  if (job == nullptr) return;
  json::Document document;
  const Value merged = mergedJob(request, *job, document.GetAllocator());
  rules::pod::checkJob(merged, kJob, findings);
  refuseWhatNeverStarts(merged, kJob, findings);
  ignored(*job, Report{findings, kRule});
}

}  // namespace dynamo::admission
