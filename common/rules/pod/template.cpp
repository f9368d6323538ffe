// Pod templates and pod specs: what belongs to no container or volume.

#include <fmt/format.h>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr long long kMaxDeadline = 2147483647;

void restartPolicy(const Report& report, const Value& spec, const At& at, Workload workload) {
  const std::string_view policy = json::findText(&spec, "restartPolicy");
  if (workload == Workload::Service) {
    report.oneOf(at, policy, {"Always"}, id::kRestartPolicy);
  } else if (policy.empty()) {
    report.required(at, id::kRestartPolicy, "pods of a Job need OnFailure or Never");
  } else {
    report.oneOf(at, policy, {"Never", "OnFailure"}, id::kRestartPolicy);
  }
}

void deadlines(const Report& report, const Value& spec, const At& at, Workload workload) {
  const Value* grace = json::find(spec, "terminationGracePeriodSeconds");
  const auto graceSeconds = integer(grace);
  if (graceSeconds && *graceSeconds < 0) {
    report.warn(at / "terminationGracePeriodSeconds", "is negative: one second will be used",
                id::kGracePeriod);
  }
  const Value* deadline = json::find(spec, "activeDeadlineSeconds");
  const At deadlineAt = at / "activeDeadlineSeconds";
  if (deadline == nullptr) return;
  const auto seconds = integer(deadline);
  if (workload == Workload::Service) {
    report.forbidden(deadlineAt, "may only be set in a Job", id::kActiveDeadline);
  } else if (seconds && (*seconds < 1 || *seconds > kMaxDeadline)) {
    report.invalid(deadlineAt, *deadline, fmt::format("must be between 1 and {}, inclusive", kMaxDeadline),
                   id::kActiveDeadline);
  }
}

void names(const Report& report, const Value& spec, const At& at) {
  struct Field {
    std::string_view name;
    std::string (*problem)(std::string_view);
  };
  for (const Field& field :
       {Field{"serviceAccountName", k8s::dns1123SubdomainProblem},
        Field{"priorityClassName", k8s::dns1123SubdomainProblem},
        Field{"runtimeClassName", k8s::dns1123SubdomainProblem},
        Field{"nodeName", k8s::dns1123SubdomainProblem}, Field{"hostname", k8s::dns1123LabelProblem},
        Field{"subdomain", k8s::dns1123LabelProblem},
        Field{"serviceAccount", k8s::dns1123SubdomainProblem}}) {
    // The old name of serviceAccountName counts only without it.
    if (field.name == "serviceAccount" && !json::findText(&spec, "serviceAccountName").empty()) continue;
    const std::string_view name = json::findText(&spec, field.name);
    // The one name of these that the API server knows to be given though empty.
    const bool given = field.name == "runtimeClassName" && json::find(spec, field.name) != nullptr;
    if (name.empty() && !given) continue;
    report.check(at / field.name, name, field.problem(name), id::kNameField);
  }
  const std::string_view scheduler = json::findText(&spec, "schedulerName");
  if (!scheduler.empty() && !k8s::dns1123SubdomainProblem(scheduler).empty()) {
    report.warn(at / "schedulerName",
                fmt::format("{} is not a valid name of a scheduler", field::showValue(scheduler)),
                id::kSchedulerName);
  }
  forEach(json::find(spec, "imagePullSecrets"), at / "imagePullSecrets",
          [&](const Value& secret, const At& place) {
            const std::string_view name = json::findText(&secret, "name");
            if (!k8s::dns1123SubdomainProblem(name).empty()) {
              report.warn(place / "name",
                          fmt::format("{} is not a valid name of a Secret", field::showValue(name)),
                          id::kPullSecret);
            }
          });
}

void gates(const Report& report, const Value& spec, const At& at) {
  forEach(json::find(spec, "readinessGates"), at / "readinessGates", [&](const Value& gate, const At& place) {
    const std::string_view type = json::findText(&gate, "conditionType");
    report.check(place / "conditionType", type, k8s::qualifiedNameProblem(type), id::kGate);
  });
  Seen<> seen;
  forEach(json::find(spec, "schedulingGates"), at / "schedulingGates",
          [&](const Value& gate, const At& place) {
            const std::string_view name = json::findText(&gate, "name");
            report.check(place / "name", name, k8s::qualifiedNameProblem(name), id::kGate);
            if (!seen.add(name)) report.duplicate(place / "name", name, id::kGate);
          });
  const Value* waits = json::find(spec, "schedulingGates");
  if (waits != nullptr && waits->IsArray() && !waits->Empty() && !json::findText(&spec, "nodeName").empty()) {
    report.forbidden(at / "nodeName", "may not be set while the pod has schedulingGates", id::kGatedNode);
  }
}

void claims(const Report& report, const Value& spec, const At& at) {
  Seen<> seen;
  const Value* list = json::find(spec, "resourceClaims");
  if (list == nullptr) return;
  report.needsVersion(at, "1.34");
  forEach(list, at, [&](const Value& claim, const At& place) {
    const std::string_view name = json::findText(&claim, "name");
    if (name.empty()) {
      report.required(place / "name", id::kPodClaim);
    } else {
      report.check(place / "name", name, k8s::dns1123LabelProblem(name), id::kPodClaim);
      if (!seen.add(name)) report.duplicate(place / "name", name, id::kPodClaim);
    }
    const Value* own = json::find(claim, "resourceClaimName");
    const Value* fromTemplate = json::find(claim, "resourceClaimTemplateName");
    if (own == nullptr && fromTemplate == nullptr) {
      report.required(place, id::kPodClaim, "one of resourceClaimName, resourceClaimTemplateName");
    } else if (own != nullptr && fromTemplate != nullptr) {
      report.forbidden(place / "resourceClaimTemplateName",
                       "may not be given together with resourceClaimName", id::kPodClaim);
    }
    for (const std::string_view field : {"resourceClaimName", "resourceClaimTemplateName"}) {
      const Value* given = json::find(claim, field);
      if (given == nullptr || !given->IsString()) continue;
      report.check(place / field, json::text(*given), k8s::dns1123SubdomainProblem(json::text(*given)),
                   id::kPodClaim);
    }
  });
}

void rest(const Report& report, const Value& spec, const At& at) {
  report.oneOfGiven(at / "preemptionPolicy", json::find(spec, "preemptionPolicy"),
                    {"Never", "PreemptLowerPriority"}, id::kEnum);
  const Value* ephemeral = json::find(spec, "ephemeralContainers");
  if (ephemeral != nullptr && ephemeral->IsArray() && !ephemeral->Empty()) {
    report.forbidden(at / "ephemeralContainers", "may not be set in a pod template", id::kEphemeral);
  }
  overhead(report, json::find(spec, "overhead"), at / "overhead");
  if (json::find(spec, "priority") != nullptr) {
    report.warn(at / "priority", "is set by the priority class; pods with another value are refused",
                id::kPriority);
  }
  if (json::findText(&spec, "preemptionPolicy") == "Never" &&
      json::findText(&spec, "priorityClassName").empty()) {
    report.warn(at / "preemptionPolicy", "is set by the priority class; pods with another value are refused",
                id::kPriority);
  }
}

void hostnameOverride(const Report& report, const Value& spec, const At& at, const PodFacts& facts) {
  constexpr std::size_t kMaxHostname = 64;
  const Value* given = json::find(spec, "hostnameOverride");
  if (given == nullptr || !given->IsString()) return;
  report.needsGate(at, "HostnameOverride");
  if (json::findBool(&spec, "setHostnameAsFQDN") == true) {
    report.forbidden(at, "may not be set when setHostnameAsFQDN is true", id::kHostnameOverride);
  }
  if (facts.hostNetwork) {
    report.forbidden(at, "may not be set when hostNetwork is true", id::kHostnameOverride);
  }
  const std::string_view name = json::text(*given);
  if (name.size() > kMaxHostname) report.tooLong(at, kMaxHostname, id::kHostnameOverride);
  report.check(at, name, k8s::dns1123SubdomainProblem(name), id::kHostnameOverride);
}

bool flag(const Value& spec, std::string_view name) {
  return json::findBool(&spec, name).value_or(false);
}

}  // namespace

PodFacts::PodFacts(const Value& podSpec)
    : hostNetwork{flag(podSpec, "hostNetwork")},
      hostUsers{json::findBool(&podSpec, "hostUsers").value_or(true)},
      restartsNever{json::findText(&podSpec, "restartPolicy") == "Never"} {
  if (const Value* system = json::findObject(&podSpec, "os")) os = json::findText(system, "name");
  const At nowhere{""};
  forEach(json::find(podSpec, "volumes"), nowhere,
          [&](const Value& one, const At&) { volumes.try_emplace(json::findText(&one, "name"), &one); });
  forEach(json::find(podSpec, "resourceClaims"), nowhere,
          [&](const Value& claim, const At&) { claims.insert(json::findText(&claim, "name")); });
  gracePeriod = integer(json::find(podSpec, "terminationGracePeriodSeconds"));
}

const Value* PodFacts::volume(std::string_view name) const {
  const auto found = volumes.find(name);
  return found == volumes.end() ? nullptr : found->second;
}

void podSpec(const Report& report, const Value& spec, const At& at, Workload workload) {
  if (!spec.IsObject()) return;
  const PodFacts facts{spec};
  containers(report, spec, at, facts);
  volumes(report, json::find(spec, "volumes"), at / "volumes");
  restartPolicy(report, spec, at / "restartPolicy", workload);
  deadlines(report, spec, at, workload);
  names(report, spec, at);
  labels(report, json::find(spec, "nodeSelector"), at / "nodeSelector");
  podSecurity(report, json::find(spec, "securityContext"), at / "securityContext");
  podSysctls(report, spec, at);
  if (flag(spec, "hostPID") && flag(spec, "shareProcessNamespace")) {
    report.forbidden(at / "shareProcessNamespace", "may not be true together with hostPID",
                     id::kShareProcesses);
  }
  hostUsers(report, spec, at, facts);
  hostProcesses(report, spec, at, facts);
  operatingSystem(report, spec, at, facts);
  hostnameOverride(report, spec, at / "hostnameOverride", facts);
  podResources(report, spec, at, facts);
  dns(report, spec, at);
  hostAliases(report, json::find(spec, "hostAliases"), at / "hostAliases");
  tolerations(report, json::find(spec, "tolerations"), at / "tolerations");
  affinity(report, json::find(spec, "affinity"), at / "affinity");
  topologySpread(report, json::find(spec, "topologySpreadConstraints"), at / "topologySpreadConstraints");
  gates(report, spec, at);
  claims(report, spec, at / "resourceClaims");
  rest(report, spec, at);
}

void podTemplate(const Report& report, const Value* podTemplate, const At& at, Workload workload) {
  const At metadataAt = at / "metadata";
  const Value* metadata = podTemplate == nullptr ? nullptr : json::findObject(podTemplate, "metadata");
  labels(report, json::find(metadata, "labels"), metadataAt / "labels");
  const Value* spec = podTemplate == nullptr ? nullptr : json::find(*podTemplate, "spec");
  annotations(report, json::find(metadata, "annotations"), metadataAt / "annotations");
  podAnnotations(report, json::find(metadata, "annotations"), spec, metadataAt / "annotations");
  if (spec == nullptr)
    return report.required(at / "spec", id::kContainers, "a pod with at least one container");
  podSpec(report, *spec, at / "spec", workload);
}

void checkPodTemplate(const Value& podTemplateValue, const std::string& path, Workload workload,
                      field::Findings& findings) {
  podTemplate(Report{findings}, &podTemplateValue, At{path}, workload);
}

}  // namespace dynamo::rules::pod
