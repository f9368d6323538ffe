#pragma once
// What a Kubernetes 1.28 to 1.34 API server would refuse (errors) and what is doubtful (warnings) in pods,
// and in the Jobs and claims around them. Nothing here depends on a cluster's state or configuration. A
// value of a newer field is an error if every API server either refuses it or drops the field; the field
// itself is a warning when it needs a feature gate that is off by default, or is younger than 1.30. How each
// field of the pod schema is settled: tests/unit/rules/pod/fields.txt.
//
// Every function takes JSON as it would be sent to the API server, before its defaulting, and the path that
// the findings' fields start with ({} is the value itself). A value of a wrong JSON type is skipped: types
// are the schema's business. Findings come in no order; field::Findings::sort() makes one of the errors,
// warnings stay as they come.

#include <span>
#include <string>
#include <string_view>

#include "common/field/finding.h"
#include "common/field/path.h"
#include "common/field/rule.h"
#include "common/json/value.h"

namespace dynamo::rules::pod {

enum class Workload {
  Service,  ///< Deployment, LeaderWorkerSet, clique: pods that are always restarted
  Job,
};

/// `podTemplate`: {metadata, spec}.
void checkPodTemplate(const json::Value& podTemplate, const field::At& at, Workload workload,
                      field::Findings& findings);

/// `jobSpec`: a batch/v1 JobSpec.
void checkJob(const json::Value& jobSpec, const field::At& at, field::Findings& findings);

/// What is doubtful about an image reference ("has no tag after ':'"); empty when nothing is. Its grammar is
/// the container runtime's business.
std::string imageDoubt(std::string_view image);

/// Every rule.
std::span<const field::Rule> podRules();

}  // namespace dynamo::rules::pod
