#pragma once
// The rules of pods, and of the Jobs and claims around them. An error is something that API servers of
// Kubernetes 1.28 to 1.34 reject, a warning is something doubtful. The rules do not depend on the state or
// the configuration of a cluster. A value of a newer field is an error if every API server either rejects the
// value or drops the field. The field itself is a warning if it needs a feature gate that is off by default,
// or if it is newer than 1.30. tests/unit/rules/pod/fields.txt lists how each field of the schema is handled.
//
// Every function takes JSON as a client would send it to the API server, before defaulting, and the path that
// is put before the fields of findings ({} is the value itself). Values of a wrong JSON type are skipped
// because the schema reports them. field::Findings::sort() sorts the errors; warnings keep their order.

#include <span>
#include <string>
#include <string_view>

#include "common/field/finding.h"
#include "common/field/path.h"
#include "common/field/rule.h"
#include "common/json/value.h"

namespace dynamo::rules::pod {

enum class Workload {
  Service,  ///< pods of a Deployment, LeaderWorkerSet or clique, which always restart
  Job,
};

/// `podTemplate`: {metadata, spec}.
void checkPodTemplate(const json::Value& podTemplate, const field::At& at, Workload workload,
                      field::Findings& findings);

/// `jobSpec`: a batch/v1 JobSpec.
void checkJob(const json::Value& jobSpec, const field::At& at, field::Findings& findings);

/// The warning about a doubtful image reference ("has no tag after ':'"); empty when there is none. The
/// container runtime checks the full grammar.
std::string imageWarning(std::string_view image);

/// Every rule.
std::span<const field::Rule> podRules();

}  // namespace dynamo::rules::pod
