// DynamoGraphDeploymentScalingAdapter: whether the graph and the service exist is the controller's to say.
// The schema requires the same below a spec, but not a spec (quirk a1-Q1).

#include "common/field/judge.h"
#include "common/k8s/names.h"
#include "common/rules/validators.h"

namespace dynamo::rules {
namespace {

using json::Value;

void targetNamed(const Request& request, const Report& report) {
  const Value* target = json::findObject(json::findObject(&request.object, "spec"), "dgdRef");
  if (json::findText(target, "name").empty()) {
    report.required("spec.dgdRef.name", "the DynamoGraphDeployment to scale");
  }
  if (json::findText(target, "serviceName").empty()) {
    report.required("spec.dgdRef.serviceName", "the service to scale");
  }
}

/// Names that no graph and no service can have.
void targetPossible(const Request& request, const Report& report) {
  const Value* target = json::findObject(json::findObject(&request.object, "spec"), "dgdRef");
  const std::string_view graph = json::findText(target, "name");
  const std::string_view service = json::findText(target, "serviceName");
  if (!graph.empty()) report.check("spec.dgdRef.name", graph, k8s::dns1123SubdomainProblem(graph));
  if (!service.empty()) report.check("spec.dgdRef.serviceName", service, k8s::labelValueProblem(service));
}

void replicasGiven(const Request& request, const Report& report) {
  const Value* replicas = json::find(json::findObject(&request.object, "spec"), "replicas");
  if (replicas == nullptr) {
    report.required("spec.replicas", "the replicas of the service");
  } else if (replicas->IsInt64() && replicas->GetInt64() < 0) {
    report.invalid("spec.replicas", *replicas, "must be greater than or equal to 0");
  }
}

constexpr std::array kChecks = {
    Check<Request>{{"adapter.target-required", Severity::Error, "an adapter names a graph and a service"},
                   targetNamed},
    Check<Request>{{"adapter.target-possible", Severity::Error,
                    "an adapter names what a graph and a service can be called"},
                   targetPossible},
    Check<Request>{{"adapter.replicas", Severity::Error, "an adapter has replicas, 0 or more"},
                   replicasGiven},
};

constexpr auto kRules = rulesIn(kChecks);

}  // namespace

Findings validateScalingAdapter(const Request& request) {
  return judgeBy(kChecks, request);
}

std::span<const Rule> scalingAdapterRules() {
  return kRules;
}

}  // namespace dynamo::rules
