#include "common/admission/request.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "common/admission/alpha_paths.h"
#include "common/admission/never_starts.h"
#include "common/api/dgdr.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/names.h"
#include "common/k8s/object.h"
#include "common/podrules/pod.h"
#include "common/validation/check.h"

namespace dynamo::admission {
namespace {

using json::Value;
using k8s::specOf;
using validation::Findings;
using validation::Report;
using validation::Severity;

namespace keys = api::dgdr;

constexpr std::string_view kJob = "spec.overrides.profilingJob";

std::string_view annotation(const Value& object, std::string_view key) {
  return json::findText(k8s::annotationsOf(object), key);
}

std::string annotationPath(std::string_view key) {
  return fmt::format("metadata.annotations[{}]", key);
}

const Value* jobOf(const Value& object) {
  return json::findObject(json::findObject(specOf(object), "overrides"), "profilingJob");
}

// The profiling Job

// What of an override goes into the Job (pod-level claims: life-Q25); the rest is never looked at. All of it
// is taken whole, but for the profiler's container and the pod around it.
constexpr std::array<std::string_view, 6> kJobFields = {
    "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished",
    "completions",  "parallelism",           "suspend"};
constexpr std::array<std::string_view, 15> kPodFields = {"tolerations",
                                                         "nodeSelector",
                                                         "topologySpreadConstraints",
                                                         "affinity",
                                                         "runtimeClassName",
                                                         "dnsConfig",
                                                         "terminationGracePeriodSeconds",
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

template <std::size_t N>
Value only(const std::array<std::string_view, N>& fields, const Value* from, json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value kept = make.object();
  for (const std::string_view field : fields) {
    if (const Value* value = json::find(from, field)) make.set(kept, field, *value);
  }
  return kept;
}

// What the Job has of its own, as far as an override can collide with it, refer to it or leave it to the
// operator.
constexpr std::string_view kProfiler = "profiler";
constexpr std::string_view kCopier = "output-copier";

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
  if (!annotation(request, keys::kConfigMapRef).empty()) names.emplace_back("profiling-config");
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
void addSecurity(Value& pod, json::Allocator& allocator) {
  Value& context = json::ensureObject(pod, "securityContext", allocator);
  if (json::find(context, "runAsNonRoot") != nullptr) return;
  json::set(context, "runAsNonRoot", Value{true}, allocator);
}

/// The Job with what is used of the override, at the same paths.
Value mergedJob(const Value& request, const Value& job, json::Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* podTemplate = json::findObject(&job, "template");
  const Value* podSpec = json::findObject(podTemplate, "spec");
  Value pod = only(kPodFields, podSpec, allocator);
  make.set(pod, "restartPolicy", "Never");
  make.set(pod, "containers",
           make.list(profilerOf(podSpec, allocator), make.object("name", kCopier, "image", kCopier)));
  addVolumes(pod, volumesOf(request), allocator);
  addSecurity(pod, allocator);
  Value whole = make.object("spec", std::move(pod));
  if (const Value* metadata = json::findObject(podTemplate, "metadata")) {
    make.set(whole, "metadata", *metadata);
  }
  Value used = only(kJobFields, &job, allocator);
  make.set(used, "template", std::move(whole));
  return used;
}

void jobOverride(const Value& object, Findings& findings) {
  const Value* job = jobOf(object);
  if (job == nullptr) return;
  json::Document document;
  const Value merged = mergedJob(object, *job, document.GetAllocator());
  podrules::checkJob(merged, std::string{kJob}, findings);
  refuseWhatNeverStarts(merged, fmt::format("{}.", kJob), findings);
}

void image(const Value& object, const Report& report) {
  const std::string_view image = json::findText(specOf(object), "image");
  if (const std::string doubt = podrules::imageDoubt(image); !image.empty() && !doubt.empty()) {
    report.warn("spec.image", doubt);
  }
}

void modelCache(const Value& object, const Report& report) {
  const std::string_view name = json::findText(json::findObject(specOf(object), "modelCache"), "pvcName");
  if (!name.empty()) report.check("spec.modelCache.pvcName", name, k8s::dns1123SubdomainProblem(name));
}

void modelCacheOdd(const Value& object, const Report& report) {
  const Value* cache = json::findObject(specOf(object), "modelCache");
  const std::string_view mount = json::findText(cache, "pvcMountPath");
  const std::string_view model = json::findText(cache, "pvcModelPath");
  const bool given = !model.empty() || (!mount.empty() && mount != keys::kDefaultModelCacheMountPath);
  if (given && json::findText(cache, "pvcName").empty()) {
    report.warn("spec.modelCache", "has no effect without pvcName");
  }
  if (!mount.empty() && mount.front() != '/') {
    report.warn("spec.modelCache.pvcMountPath", "is not an absolute path");
  }
  if (mount.find(':') != std::string_view::npos) {
    report.warn("spec.modelCache.pvcMountPath", "holds ':', which container runtimes refuse");
  }
  if (model.starts_with('/')) report.warn("spec.modelCache.pvcModelPath", "is a path inside the claim");
  if (model == ".." || model.starts_with("../") || model.find("/../") != std::string_view::npos) {
    report.warn("spec.modelCache.pvcModelPath", "leaves the claim");
  }
}

// The profiler

void workloadOnce(const Value& object, const Report& report) {
  const Value* workload = json::findObject(specOf(object), "workload");
  if (json::find(workload, "concurrency") == nullptr || json::find(workload, "requestRate") == nullptr)
    return;
  report.warn("spec.workload.requestRate", "give it or concurrency: the profiler takes one of them");
}

void slaComplete(const Value& object, const Report& report) {
  const Value* sla = json::findObject(specOf(object), "sla");
  const bool first = json::find(sla, "ttft") != nullptr;
  const bool each = json::find(sla, "itl") != nullptr;
  if (json::find(sla, "e2eLatency") != nullptr) {
    for (const std::string_view field : {"ttft", "itl"}) {
      if (json::find(sla, field) == nullptr) continue;
      report.warn(fmt::format("spec.sla.{}", field), "is not used: e2eLatency is");
    }
  } else if (first != each) {
    report.warn(fmt::format("spec.sla.{}", first ? "itl" : "ttft"),
                fmt::format("is missing: the profiler wants it beside {}", first ? "ttft" : "itl"));
  }
}

// Settings of v1alpha1, in annotations of v1beta1

void outputClaim(const Value& object, const Report& report) {
  const std::string_view name = annotation(object, keys::kOutputPvc);
  if (!name.empty()) report.check(annotationPath(keys::kOutputPvc), name, k8s::dns1123SubdomainProblem(name));
}

void deploymentOverrides(const Value& object, const Report& report) {
  json::Document overrides;
  const std::string_view text = annotation(object, keys::kDeploymentOverrides);
  if (text.empty() || json::parse(text, overrides)) return;
  const std::string path = annotationPath(keys::kDeploymentOverrides);
  const std::string_view name = json::findText(&overrides, "name");
  if (!name.empty()) report.check(path + ".name", name, k8s::dns1123SubdomainProblem(name));
  validation::forEachMember(json::findObject(&overrides, "labels"),
                            [&](std::string_view key, const Value& value) {
                              const std::string at = fmt::format("{}.labels[{}]", path, key);
                              report.check(at, key, k8s::qualifiedNameProblem(key));
                              report.check(at, json::text(value), k8s::labelValueProblem(json::text(value)));
                            });
  validation::forEachMember(
      json::findObject(&overrides, "annotations"), [&](std::string_view key, const Value&) {
        report.check(fmt::format("{}.annotations[{}]", path, key), key, k8s::annotationKeyProblem(key));
      });
}

using RequestCheck = validation::Check<Value>;

constexpr std::array kChecks = {
    RequestCheck{{"dgdr-image", Severity::Warning, "the profiler's image has a name that can be"}, image},
    RequestCheck{{"dgdr-model-cache", Severity::Error, "a model cache is a claim"}, modelCache},
    RequestCheck{{"dgdr-output-claim", Severity::Error, "results are kept in a claim"}, outputClaim},
    RequestCheck{{"dgdr-overrides-metadata", Severity::Error,
                  "the generated deployment gets a good name, labels and annotations"},
                 deploymentOverrides},
    RequestCheck{{"dgdr-model-cache-odd", Severity::Warning, "paths of a model cache are sane"},
                 modelCacheOdd},
    RequestCheck{{"dgdr-workload-once", Severity::Warning, "traffic is given as concurrency or as a rate"},
                 workloadOnce},
    RequestCheck{{"dgdr-sla-complete", Severity::Warning, "targets are ttft and itl, or e2eLatency"},
                 slaComplete},
};

constexpr auto kRules = validation::rulesIn(kChecks);

Findings runAll(const Value& object) {
  Findings findings;
  jobOverride(object, findings);
  validation::runChecks<Value>(kChecks, object, findings);
  return findings;
}

}  // namespace

std::span<const validation::Rule> requestRules() {
  return kRules;
}

Findings validateRequest(const validation::DgdrRequest& request) {
  Findings all = validation::validateDgdr(request);
  if (request.old == nullptr || !k8s::isBeingDeleted(request.object)) {
    Findings more = runAll(request.object);
    if (request.old != nullptr && !more.errors.empty()) {
      more = validation::ratchet(std::move(more), runAll(*request.old), request.object, *request.old);
    }
    all.add(std::move(more));
  }
  if (request.clientVersion == "v1alpha1" && !(all.errors.empty() && all.warnings.empty())) {
    const AlphaPaths toAlpha{request.object};
    for (validation::FieldError& error : all.errors) toAlpha(error.field);
    for (validation::Warning& warning : all.warnings) toAlpha(warning.field);
  }
  all.sort();
  return all;
}

}  // namespace dynamo::admission
