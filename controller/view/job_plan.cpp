#include "controller/view/job_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/lifecycle/checkpoint.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/request.h"
#include "common/render/checkpoint_job.h"
#include "common/render/profiler_config.h"

namespace dynamo::view {
namespace {

using json::Value;
using Observed = std::span<const Value* const>;

/// What a request gets here, so that its Job can be rendered without asking the exporters of the cluster.
render::HardwareFact anyHardware() {
  return {"h100_sxm", 80'000, 8, 8};
}

bool isRequest(const Value& object) {
  return json::findText(&object, "kind") == api::kDynamoGraphDeploymentRequest;
}

std::string_view claimOf(const Value& request) {
  return json::findText(json::findObject(lifecycle::specOf(request), "modelCache"), "pvcName");
}

const Value* find(Observed observed, const k8s::ObjectKey& key) {
  const auto found = std::find_if(observed.begin(), observed.end(),
                                  [&](const Value* object) { return k8s::keyOf(*object) == key; });
  return found == observed.end() ? nullptr : *found;
}

bool createsJob(const Value& request) {
  const lifecycle::RequestStep step = lifecycle::requestStep(request);
  return step == lifecycle::RequestStep::Validate || step == lifecycle::RequestStep::CreateJob;
}

}  // namespace

std::vector<k8s::ObjectKey> readForJob(const Value& root) {
  const std::string space{lifecycle::namespaceOf(root)};
  const std::string_view prefix =
      isRequest(root) ? api::dgdr::kProfilingJobPrefix : render::kCheckpointJobPrefix;
  std::vector<k8s::ObjectKey> keys = {
      {"batch", "v1", "Job", space, fmt::format("{}{}", prefix, lifecycle::nameOf(root))}};
  if (const std::string_view claim = claimOf(root); isRequest(root) && !claim.empty())
    keys.push_back({"", "v1", "PersistentVolumeClaim", space, std::string{claim}});
  return keys;
}

JobPlan planJob(const Value& root, Observed observed, const render::Context& context) {
  render::Context online{context};
  online.online = true;
  JobPlan plan;
  if (isRequest(root)) {
    if (!createsJob(root)) return plan;
    plan.discovers = render::needsDiscovery(root) && !online.hardware;
    if (plan.discovers) online.hardware = anyHardware();
    plan.children = render::renderProfiling(root, online);
    const bool hasClaim = std::any_of(observed.begin(), observed.end(), [&](const Value* object) {
      return json::findText(object, "kind") == "PersistentVolumeClaim" &&
             lifecycle::nameOf(*object) == claimOf(root);
    });
    plan.problems = lifecycle::requestProblems(root, plan.children, hasClaim);
  } else {
    plan.children = lifecycle::checkpointChildren(root, observed, online);
    for (const field::FieldError& error : plan.children.errors) plan.problems.push_back(error.message());
  }
  if (!plan.problems.empty()) plan.children.items.clear();
  return plan;
}

std::vector<ChildChange> changesOf(const Value& root, const JobPlan& plan, Observed observed,
                                   std::string_view manager) {
  std::vector<ChildChange> changes;
  for (const render::Child& child : plan.children.items) {
    const Value* live = find(observed, child.key);
    ChildChange change = changeOf(child, live, manager);
    if (live != nullptr && child.key.kind == "Job" && !lifecycle::isControlledBy(*live, root)) {
      change.kind = ChangeKind::Refused;
      change.note = fmt::format("{} exists and does not belong to {}", k8s::toText(child.key),
                                isRequest(root) ? "this request" : "this checkpoint");
    } else if (child.key.kind == "Job" && plan.discovers && change.note.empty()) {
      change.note = "when its hardware is discovered";
    }
    changes.push_back(std::move(change));
  }
  const Value* job = lifecycle::findControlled(observed, "Job", root);
  if (changes.empty() && job != nullptr) changes.push_back(unchanged(*job));
  return changes;
}

}  // namespace dynamo::view
