// batch/v1 Jobs.

#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

void numbers(const Reports& report, const Value& spec, const At& at) {
  for (const std::string_view field :
       {"parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished", "activeDeadlineSeconds"}) {
    const Value* given = json::find(spec, field);
    const auto number = integer(given);
    if (number && *number < 0) {
      report(id::kJobNumber).invalid(at / field, *given, "must be greater than or equal to 0");
    }
  }
  if (integer(json::find(spec, "activeDeadlineSeconds")) == 0) {
    report(id::kJobDeadline).warn(at / "activeDeadlineSeconds", "is 0: the Job fails as soon as it starts");
  }
}

}  // namespace

void jobSpec(const Reports& report, const Value& spec, const At& at) {
  if (!spec.IsObject()) return;
  numbers(report, spec, at);
  podTemplate(report, json::find(spec, "template"), at / "template", Workload::Job);
}

void checkJob(const Value& jobSpecValue, const At& at, field::Findings& findings) {
  jobSpec(Reports{findings}, jobSpecValue, at);
}

}  // namespace dynamo::rules::pod
