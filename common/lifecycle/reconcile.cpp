// Quirks child-Q23, child-Q25, ctl-Q1, ctl-Q31, ctl-Q54, ctl-Q65, ctl-Q70, dec-21.
#include "common/lifecycle/reconcile.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/lifecycle/clique_scale.h"
#include "common/lifecycle/component_status.h"
#include "common/lifecycle/deletion.h"
#include "common/lifecycle/duplicates.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/graph_status.h"
#include "common/lifecycle/leader_worker_sets.h"
#include "common/lifecycle/missing_references.h"
#include "common/lifecycle/notices.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/outdated_generation.h"
#include "common/lifecycle/pathway.h"
#include "common/lifecycle/surplus.h"
#include "common/lifecycle/worker_hash.h"
#include "common/model/graph.h"
#include "common/model/names.h"
#include "common/render/hash.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;
using Objects = std::vector<const Value*>;

Objects ofKind(Observed observed, std::string_view kind) {
  Objects found;
  std::copy_if(observed.begin(), observed.end(), std::back_inserter(found),
               [&](const Value* object) { return json::findText(object, "kind") == kind; });
  return found;
}

/// The PodCliqueSet of the graph: the one that it controls, else one of its name without a controller, which
/// the graph adopts.
const Value* findPodCliqueSet(Observed observed, const Value& graph) {
  constexpr std::string_view kKind = "PodCliqueSet";
  if (const Value* own = findControlled(observed, kKind, graph)) return own;
  const std::string name = model::dashed(nameOf(graph));
  const auto found = std::find_if(observed.begin(), observed.end(), [&](const Value* object) {
    return json::findText(object, "kind") == kKind && nameOf(*object) == name &&
           controllerOf(*object) == nullptr;
  });
  return found == observed.end() ? nullptr : *found;
}

/// The observed objects by kind, for a view that borrows them.
struct GraphChildren {
  explicit GraphChildren(Observed observed, const Value& graph)
      : components(ofKind(observed, api::kDynamoComponentDeployment)),
        podCliqueSet(findPodCliqueSet(observed, graph)),
        podCliques(ofKind(observed, "PodClique")),
        scalingGroups(ofKind(observed, "PodCliqueScalingGroup")),
        pods(ofKind(observed, "Pod")) {
    std::erase_if(pods, [](const Value* pod) { return takesCheckpoint(*pod); });
  }

  GraphView view(const Value& graph, const GraphReconcile& reconcile, const render::FactsView& facts) const {
    return {.graph = graph,
            .grove = reconcile.grove,
            .workerHash = reconcile.workerHash,
            .facts = facts,
            .components = components,
            .podCliqueSet = podCliqueSet,
            .podCliques = podCliques,
            .scalingGroups = scalingGroups,
            .pods = pods};
  }

  Objects components;
  const Value* podCliqueSet;
  Objects podCliques;
  Objects scalingGroups;
  Objects pods;
};

/// The LeaderWorkerSets that the component controls.
Objects controlledSets(const Value& deployment, Observed observed) {
  Objects sets = ofKind(observed, "LeaderWorkerSet");
  std::erase_if(sets, [&](const Value* set) { return !isControlledBy(*set, deployment); });
  return sets;
}

/// The LeaderWorkerSets of the component that exist and are rendered. The others are about to be deleted,
/// also those of a deleted component of the same name: they still serve, but must not be counted.
Objects renderedSets(const Value& deployment, Observed observed, const render::Children& children) {
  Objects sets = controlledSets(deployment, observed);
  std::erase_if(sets, [&](const Value* set) {
    return std::none_of(children.items.begin(), children.items.end(), [&](const render::Child& child) {
      return child.key.kind == "LeaderWorkerSet" && child.key.name == nameOf(*set);
    });
  });
  return sets;
}

/// Whether the multinode component runs as LeaderWorkerSets whose APIs the cluster does not serve any more.
/// Its pods still run, so they are not replaced by those of a Deployment (decision dec-21).
bool lostLeaderWorkerSets(const Value& deployment, Observed observed, const render::Context& context) {
  if (!context.config.orchestrators.lwsEnabled.value_or(true) || render::lwsEnabled(context)) return false;
  return std::any_of(observed.begin(), observed.end(),
                     [&](const Value* object) { return isLiveSetOf(*object, deployment); });
}

void deleteSurplus(const Value& owner, const render::Children& children, Observed observed, Outcome& outcome,
                   Allocator& allocator) {
  std::vector<Write> deletions = surplusChildren(owner, children.items, observed, allocator, outcome.writes);
  outcome.writes.insert(outcome.writes.begin(), std::make_move_iterator(deletions.begin()),
                        std::make_move_iterator(deletions.end()));
}

/// Fewer replicas on several nodes are fewer LeaderWorkerSets. They end although another child is refused, or
/// a rolling update would wait for them (decision ctl-Q65).
void deleteSurplusSets(const ComponentView& view, const render::Children& children, Observed observed,
                       Outcome& outcome, Allocator& allocator) {
  if (!children.errors.empty() || !usesLeaderWorkerSets(view)) return;
  std::vector<Write> deletions = surplusChildren(view.deployment, children.items, observed, allocator);
  std::erase_if(deletions, [](const Write& write) {
    return write.target.key.kind != "LeaderWorkerSet" && write.target.key.kind != "PodGroup";
  });
  outcome.writes = std::move(deletions);
}

}  // namespace

GraphReconcile planGraphReconcile(const Value& graph, Observed observed, const render::Context& context,
                                  Time now, Allocator& allocator) {
  const GraphChildren children{observed, graph};
  GraphReconcile reconcile;
  reconcile.grove = selectsGrove(graph, context, children.components, children.podCliqueSet);
  render::Context decided{context};
  decided.grove = reconcile.grove;
  decided.online = true;
  DesiredWorkers workers;
  if (reconcile.grove) {
    workers.hash = render::workerHash(defaults::intent(graph, allocator));
  } else {
    workers = desiredWorkers(graph, decided, children.components, std::nullopt, allocator);
  }
  reconcile.workerHash = workers.hash;
  render::LifecycleInputs current;
  current.workerHash = json::findText(annotationsOf(graph), api::annotation::kCurrentWorkerHash);
  reconcile.plan = planGraph(children.view(graph, reconcile, context.facts), now, allocator);
  // The rendering of the comparison is the result, too, if the hash stays and nothing else is decided.
  reconcile.children = workers.rendered && reconcile.plan.inputs == current
                           ? std::move(*workers.rendered)
                           : render::renderGraph(graph, decided, reconcile.plan.inputs);
  if (reconcile.grove) recordReplicas(children.view(graph, reconcile, context.facts), reconcile.children);
  withholdDuplicates(graph, reconcile.children);
  reconcile.missing = missingReferences(graph, ofKind(observed, "PersistentVolumeClaim"), context.facts);
  return reconcile;
}

void withholdChildren(const Value& graph, GraphReconcile& reconcile) {
  if (reconcile.missing.empty()) return;
  std::erase_if(reconcile.children.items, [&](const render::Child& child) {
    return child.key.kind != "PersistentVolumeClaim" && isControlledBy(child.object, graph);
  });
}

Outcome finishGraphReconcile(const Value& graph, const GraphReconcile& reconcile, const Applied& applied,
                             const render::Context& context, Time now, Allocator& allocator) {
  const GraphChildren children{applied.objects, graph};
  std::vector<Ending> failures = reconcile.missing;
  const std::vector<Ending> others = allFailures(reconcile.children, applied.failures);
  failures.insert(failures.end(), others.begin(), others.end());
  GraphView view = children.view(graph, reconcile, context.facts);
  view.notices = applied.notices;
  view.contests = applied.contests;
  view.clock = applied.clock;
  Outcome outcome = graphOutcome(view, reconcile.plan, failures, now, allocator);
  if (failures.empty()) {
    deleteSurplus(graph, reconcile.children, applied.objects, outcome, allocator);
  } else if (reconcile.grove && children.podCliqueSet != nullptr) {
    // A graph that has moved to Grove needs the Services that its components still control (child-Q23).
    for (const Value* component : ownComponents(view)) outcome.writes.push_back(deletionOf(*component));
  }
  reportForeign(applied.notices, outcome);
  outcome.failures = std::move(failures);
  return outcome;
}

Reconciled reconcileGraph(const Value& graph, Observed observed, const render::Context& context, Time now,
                          const ApplyChildren& apply, Allocator& allocator) {
  if (auto deletion = deletionOutcome(graph, allocator)) return {{}, std::move(*deletion)};
  GraphReconcile reconcile = planGraphReconcile(graph, observed, context, now, allocator);
  withholdChildren(graph, reconcile);
  const Applied applied = apply(reconcile.children);
  Outcome outcome = finishGraphReconcile(graph, reconcile, applied, context, now, allocator);
  return {std::move(reconcile.children), std::move(outcome)};
}

render::Children componentChildren(const Value& deployment, Observed observed,
                                   const render::Context& context) {
  render::Context online{context};
  online.online = true;
  const Value* spec = specOf(deployment);
  if (spec == nullptr || model::nodeCount(*spec) <= 1)
    return render::renderComponentDeployment(deployment, online);
  if (lostLeaderWorkerSets(deployment, observed, context)) {
    render::Children none;
    none.errors.push_back({field::ErrorType::Invalid, field::Path{"spec.multinode"}, "",
                           "needs LeaderWorkerSet and Volcano, which the cluster no longer serves; the "
                           "LeaderWorkerSets that exist are left alone",
                           "dgd.multinode-orchestrator"});
    return none;
  }
  return render::renderComponentDeployment(deployment, online, setNumbers(deployment, observed));
}

ComponentReconcile planComponentReconcile(const Value& deployment, Observed observed,
                                          const render::Context& context) {
  ComponentReconcile reconcile;
  reconcile.children = componentChildren(deployment, observed, context);
  reconcile.outdated = isOutdatedGeneration(deployment, observed, context);
  if (reconcile.outdated) keepChildren(deployment, observed, reconcile.children);
  return reconcile;
}

Outcome finishComponentReconcile(const Value& deployment, const ComponentReconcile& reconcile,
                                 const Applied& applied, const render::Context& context, Time now,
                                 Allocator& allocator) {
  const render::Children& children = reconcile.children;
  std::vector<Ending> failures = allFailures(children, applied.failures);
  const Objects sets = onlyWaits(failures) ? renderedSets(deployment, applied.objects, children)
                                           : controlledSets(deployment, applied.objects);
  const Objects groups = ofKind(applied.objects, "PodGroup");
  const Objects events = ofKind(applied.objects, "Event");
  const Objects pods = ofKind(applied.objects, "Pod");
  const ComponentView view{.deployment = deployment,
                           .lwsEnabled = render::lwsEnabled(context),
                           .minReady = std::chrono::seconds{children.minReadySeconds},
                           .workload = findControlled(applied.objects, "Deployment", deployment),
                           .leaderWorkerSets = sets,
                           .podGroups = groups,
                           .events = events,
                           .pods = pods,
                           .failures = failures,
                           .notices = applied.notices};
  Outcome outcome = componentOutcome(view, now, allocator);
  if (failures.empty()) {
    deleteSurplus(deployment, children, applied.objects, outcome, allocator);
  } else {
    deleteSurplusSets(view, children, applied.objects, outcome, allocator);
  }
  if (auto scale = reconcile.outdated ? scaleOutdated(deployment, view.workload, allocator) : std::nullopt) {
    outcome.writes.push_back(std::move(*scale));
    // The status would describe the pods of the earlier number. The answer triggers the next reconcile.
    if (failures.empty()) {
      outcome.status.reset();
      outcome.events.clear();
    }
  }
  reportForeign(applied.notices, outcome);
  outcome.failures = std::move(failures);
  return outcome;
}

Reconciled reconcileComponent(const Value& deployment, Observed observed, const render::Context& context,
                              Time now, const ApplyChildren& apply, Allocator& allocator) {
  if (auto deletion = deletionOutcome(deployment, allocator)) return {{}, std::move(*deletion)};
  ComponentReconcile reconcile = planComponentReconcile(deployment, observed, context);
  const Applied applied = apply(reconcile.children);
  Outcome outcome = finishComponentReconcile(deployment, reconcile, applied, context, now, allocator);
  return {std::move(reconcile.children), std::move(outcome)};
}

}  // namespace dynamo::lifecycle
