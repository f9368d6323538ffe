#pragma once
// What a Kubernetes 1.28 to 1.34 API server would refuse (errors) and what is doubtful (warnings) in pods and
// in the objects around them (spec/k8s-pod-validation.md sections 2, 5 to 10, 12). Nothing here depends on a
// cluster's state or configuration (section 13).
//
// Every function takes JSON as it would be sent to the API server, before its defaulting, and the path that
// the findings' fields start with ("" is allowed). A value of a wrong JSON type is skipped: types are the
// schema's business. Findings come in no order; validation::Findings::sort() makes one.

#include <span>
#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/validation/finding.h"
#include "common/validation/rule.h"

namespace dynamo::podrules {

enum class Workload {
  Service,  ///< Deployment, LeaderWorkerSet, clique: pods that are always restarted
  Job,
};

struct Options {
  Workload workload = Workload::Service;
  /// The value is a part that will be merged with others: nothing missing is an error, nor is a reference to
  /// something outside.
  bool partial = false;
};

enum class ProbeKind { Liveness, Readiness, Startup };
enum class ContainerKind { Main, Init };

// Whole objects and templates

/// `podTemplate`: {metadata, spec}.
void checkPodTemplate(const json::Value& podTemplate, const std::string& path, const Options& options,
                      validation::Findings& findings);
void checkPodSpec(const json::Value& podSpec, const std::string& path, const Options& options,
                  validation::Findings& findings);
/// `jobSpec`: a batch/v1 JobSpec; options.workload does not matter.
void checkJobSpec(const json::Value& jobSpec, const std::string& path, const Options& options,
                  validation::Findings& findings);
/// `pvc`: {metadata, spec}.
void checkPvc(const json::Value& pvc, const std::string& path, const Options& options,
              validation::Findings& findings);
/// `ingress`: a networking.k8s.io/v1 Ingress; its hosts, class, TLS secrets, labels and annotations.
void checkIngress(const json::Value& ingress, const std::string& path, validation::Findings& findings);

// Parts. References to volumes, claims and ports of the pod are not followed here.

void checkContainer(const json::Value& container, const std::string& path, ContainerKind kind,
                    const Options& options, validation::Findings& findings);
void checkProbe(const json::Value& probe, const std::string& path, ProbeKind kind, const Options& options,
                validation::Findings& findings);
void checkEnv(const json::Value& env, const std::string& path, const Options& options,
              validation::Findings& findings);
void checkEnvFrom(const json::Value& envFrom, const std::string& path, const Options& options,
                  validation::Findings& findings);
/// `resources`: {requests, limits, claims} with resource names as keys.
void checkResources(const json::Value& resources, const std::string& path, const Options& options,
                    validation::Findings& findings);
void checkVolumes(const json::Value& volumes, const std::string& path, const Options& options,
                  validation::Findings& findings);
void checkTolerations(const json::Value& tolerations, const std::string& path,
                      validation::Findings& findings);
void checkAffinity(const json::Value& affinity, const std::string& path, const Options& options,
                   validation::Findings& findings);
void checkTopologySpread(const json::Value& constraints, const std::string& path, const Options& options,
                         validation::Findings& findings);
void checkPodSecurityContext(const json::Value& context, const std::string& path, const Options& options,
                             validation::Findings& findings);
void checkSecurityContext(const json::Value& context, const std::string& path, const Options& options,
                          validation::Findings& findings);
void checkLabels(const json::Value& labels, const std::string& path, validation::Findings& findings);
void checkAnnotations(const json::Value& annotations, const std::string& path,
                      validation::Findings& findings);

// Values

/// What is wrong with the host of an Ingress rule, as one clause; empty when nothing is.
std::string hostProblem(std::string_view host);
/// The name of a resource in a container: "cpu", "nvidia.com/gpu". Empty when nothing is wrong.
std::string resourceNameProblem(std::string_view name);
/// What is doubtful about an image reference ("has no tag after ':'"); empty when nothing is. Its grammar is
/// the container runtime's business.
std::string imageDoubt(std::string_view image);

/// Every rule, in the order of the subjects above.
std::span<const validation::Rule> podRules();

}  // namespace dynamo::podrules
