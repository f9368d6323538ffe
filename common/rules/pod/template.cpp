// Pod templates and pod specs, except their containers and volumes.

#include <fmt/format.h>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr long long kMaxDeadline = 2147483647;

void restartPolicy(const Reports& report, const Value& spec, const At& at, Workload workload) {
  const std::string_view policy = json::findText(&spec, "restartPolicy");
  if (workload == Workload::Service) {
    oneOf(report(id::kRestartPolicy), at, policy, {"Always"});
  } else if (policy.empty()) {
    report(id::kRestartPolicy).required(at, "must be OnFailure or Never in a Job");
  } else {
    oneOf(report(id::kRestartPolicy), at, policy, {"Never", "OnFailure"});
  }
}

void deadlines(const Reports& report, const Value& spec, const At& at, Workload workload) {
  const Value* grace = json::find(spec, "terminationGracePeriodSeconds");
  const auto graceSeconds = integer(grace);
  if (graceSeconds && *graceSeconds < 0) {
    report(id::kGracePeriod)
        .warn(at / "terminationGracePeriodSeconds",
              "must be >= 0; negative values are invalid and will be treated as 1");
  }
  const Value* deadline = json::find(spec, "activeDeadlineSeconds");
  const At deadlineAt = at / "activeDeadlineSeconds";
  if (deadline == nullptr) return;
  const auto seconds = integer(deadline);
  if (workload == Workload::Service) {
    report(id::kActiveDeadline).forbidden(deadlineAt, "may only be set in a Job");
  } else if (seconds && (*seconds < 1 || *seconds > kMaxDeadline)) {
    report(id::kActiveDeadline)
        .invalid(deadlineAt, *deadline, fmt::format("must be between 1 and {}, inclusive", kMaxDeadline));
  }
}

void names(const Reports& report, const Value& spec, const At& at) {
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
    // serviceAccount is the old name of serviceAccountName, and is read only without it.
    if (field.name == "serviceAccount" && !json::findText(&spec, "serviceAccountName").empty()) continue;
    const std::string_view name = json::findText(&spec, field.name);
    // runtimeClassName is a pointer, so the API server checks it even if it is empty.
    const bool given = field.name == "runtimeClassName" && json::find(spec, field.name) != nullptr;
    if (name.empty() && !given) continue;
    report(id::kNameField).check(at / field.name, name, field.problem(name));
  }
  const std::string_view scheduler = json::findText(&spec, "schedulerName");
  if (!scheduler.empty() && !k8s::dns1123SubdomainProblem(scheduler).empty()) {
    report(id::kSchedulerName)
        .warn(at / "schedulerName",
              fmt::format("{} is not a valid scheduler name", field::showValue(scheduler)));
  }
  forEach(json::find(spec, "imagePullSecrets"), at / "imagePullSecrets",
          [&](const Value& secret, const At& place) {
            const std::string_view name = json::findText(&secret, "name");
            if (!k8s::dns1123SubdomainProblem(name).empty()) {
              report(id::kPullSecret)
                  .warn(place / "name", fmt::format("{} is not a valid Secret name", field::showValue(name)));
            }
          });
}

void gates(const Reports& report, const Value& spec, const At& at) {
  forEach(json::find(spec, "readinessGates"), at / "readinessGates", [&](const Value& gate, const At& place) {
    const std::string_view type = json::findText(&gate, "conditionType");
    report(id::kGate).check(place / "conditionType", type, k8s::qualifiedNameProblem(type));
  });
  Seen<> seen;
  forEach(json::find(spec, "schedulingGates"), at / "schedulingGates",
          [&](const Value& gate, const At& place) {
            const std::string_view name = json::findText(&gate, "name");
            report(id::kGate).check(place / "name", name, k8s::qualifiedNameProblem(name));
            if (!seen.add(name)) report(id::kGate).duplicate(place / "name", name);
          });
  const Value* waits = json::find(spec, "schedulingGates");
  if (waits != nullptr && waits->IsArray() && !waits->Empty() && !json::findText(&spec, "nodeName").empty()) {
    report(id::kGatedNode)
        .forbidden(at / "nodeName", "cannot be set until all schedulingGates have been cleared");
  }
}

void claims(const Reports& report, const Value& spec, const At& at) {
  Seen<> seen;
  const Value* list = json::find(spec, "resourceClaims");
  if (list == nullptr) return;
  needsVersion(report, at, "1.34");
  forEach(list, at, [&](const Value& claim, const At& place) {
    const std::string_view name = json::findText(&claim, "name");
    if (name.empty()) {
      report(id::kPodClaim).required(place / "name");
    } else {
      report(id::kPodClaim).check(place / "name", name, k8s::dns1123LabelProblem(name));
      if (!seen.add(name)) report(id::kPodClaim).duplicate(place / "name", name);
    }
    const Value* own = json::find(claim, "resourceClaimName");
    const Value* fromTemplate = json::find(claim, "resourceClaimTemplateName");
    if (own == nullptr && fromTemplate == nullptr) {
      report(id::kPodClaim)
          .required(place, "must specify one of: resourceClaimName, resourceClaimTemplateName");
    } else if (own != nullptr && fromTemplate != nullptr) {
      report(id::kPodClaim)
          .forbidden(place / "resourceClaimTemplateName", "may not be set together with resourceClaimName");
    }
    for (const std::string_view field : {"resourceClaimName", "resourceClaimTemplateName"}) {
      const Value* given = json::find(claim, field);
      if (given == nullptr || !given->IsString()) continue;
      report(id::kPodClaim)
          .check(place / field, json::text(*given), k8s::dns1123SubdomainProblem(json::text(*given)));
    }
  });
}

void remainingFields(const Reports& report, const Value& spec, const At& at) {
  oneOfGiven(report(id::kEnum), at / "preemptionPolicy", json::find(spec, "preemptionPolicy"),
             {"Never", "PreemptLowerPriority"});
  const Value* ephemeral = json::find(spec, "ephemeralContainers");
  if (ephemeral != nullptr && ephemeral->IsArray() && !ephemeral->Empty()) {
    report(id::kEphemeral).forbidden(at / "ephemeralContainers", "may not be set in a pod template");
  }
  overhead(report, json::find(spec, "overhead"), at / "overhead");
  if (json::find(spec, "priority") != nullptr) {
    report(id::kPriority)
        .warn(at / "priority", "is set by the priority class; pods with another value are refused");
  }
  if (json::findText(&spec, "preemptionPolicy") == "Never" &&
      json::findText(&spec, "priorityClassName").empty()) {
    report(id::kPriority)
        .warn(at / "preemptionPolicy", "is set by the priority class; pods with another value are refused");
  }
}

void hostnameOverride(const Reports& report, const Value& spec, const At& at, const PodFacts& facts) {
  constexpr std::size_t kMaxHostname = 64;
  const Value* given = json::find(spec, "hostnameOverride");
  if (given == nullptr || !given->IsString()) return;
  needsGate(report, at, "HostnameOverride");
  if (json::findBool(&spec, "setHostnameAsFQDN") == true) {
    report(id::kHostnameOverride).forbidden(at, "may not be set when setHostnameAsFQDN is true");
  }
  if (facts.hostNetwork) {
    report(id::kHostnameOverride).forbidden(at, "may not be set when hostNetwork is true");
  }
  const std::string_view name = json::text(*given);
  if (name.size() > kMaxHostname) tooLong(report(id::kHostnameOverride), at, kMaxHostname);
  report(id::kHostnameOverride).check(at, name, k8s::dns1123SubdomainProblem(name));
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
  const At nowhere;
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

void podSpec(const Reports& report, const Value& spec, const At& at, Workload workload) {
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
    report(id::kShareProcesses)
        .forbidden(at / "shareProcessNamespace", "may not be true when hostPID is true");
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
  remainingFields(report, spec, at);
}

void podTemplate(const Reports& report, const Value* podTemplate, const At& at, Workload workload) {
  const At metadataAt = at / "metadata";
  const Value* metadata = podTemplate == nullptr ? nullptr : json::findObject(podTemplate, "metadata");
  labels(report, json::find(metadata, "labels"), metadataAt / "labels");
  const Value* spec = podTemplate == nullptr ? nullptr : json::find(*podTemplate, "spec");
  annotations(report, json::find(metadata, "annotations"), metadataAt / "annotations");
  podAnnotations(report, json::find(metadata, "annotations"), spec, metadataAt / "annotations");
  if (spec == nullptr)
    return report(id::kContainers).required(at / "spec", "must be a pod with at least one container");
  podSpec(report, *spec, at / "spec", workload);
}

void checkPodTemplate(const Value& podTemplateValue, const At& at, Workload workload,
                      field::Findings& findings) {
  podTemplate(Reports{findings}, &podTemplateValue, at, workload);
}

}  // namespace dynamo::rules::pod
