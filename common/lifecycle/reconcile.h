#pragma once
// The entry point for controllers: one call per reconcile returns the children, the status, and the time of
// the next reconcile. The functions do no I/O; the caller passes a function that writes the children.
//
//   const auto apply = [&](const render::Children& children) { return client.apply(children); };
//   lifecycle::Reconciled result =
//       lifecycle::reconcileGraph(*graph, cache.objects(key), context, now, apply, memory);
//   client.carryOut(*graph, result.outcome);  // writes, status, Events
//   if (!result.outcome.failures.empty()) {
//     queue.addRateLimited(key);
//   } else if (result.outcome.requeueAfter) {
//     queue.addAfter(key, *result.outcome.requeueAfter);
//   }
//
// A controller that writes children asynchronously calls planGraphReconcile, writes the children, and then
// calls finishGraphReconcile. planComponentReconcile and finishComponentReconcile do the same for a
// DynamoComponentDeployment.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/graph_plan.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/time.h"
#include "common/render/children.h"
#include "common/render/write_plan.h"

namespace dynamo::lifecycle {

/// Objects of the namespace of the reconciled object, in any order: its children of every kind, their pods,
/// PersistentVolumeClaims, and the Events of failed_create.h; of workers, also their graph and its
/// components. Other objects are ignored.
using Observed = std::span<const json::Value* const>;

/// The result of writing children.
struct Applied {
  /// The observed objects after the writes: the answers of the API server replace the objects of the cache.
  std::vector<const json::Value*> objects;
  std::vector<Ending> failures;
  /// What users should know about children that were written or left.
  std::vector<render::WriteNotice> notices = {};
  /// The fields that somebody keeps changing, and the present time on their clock; nullptr: none.
  const render::Contests* contests = nullptr;
  render::Clock::time_point clock = {};
};

/// Writes the children as render/write_plan.h says, in the order of render::creationOrder.
using ApplyChildren = std::function<Applied(const render::Children&)>;

struct Reconciled {
  render::Children children;  ///< empty for an object that is being deleted
  Outcome outcome;
};

/// Reconciles a DynamoGraphDeployment. `graph` is the stored object. `graph`, the observed objects and
/// `allocator` must outlive the result.
Reconciled reconcileGraph(const json::Value& graph, Observed observed, const render::Context& context,
                          Time now, const ApplyChildren& apply, json::Allocator& allocator);

/// Reconciles a DynamoComponentDeployment.
Reconciled reconcileComponent(const json::Value& deployment, Observed observed,
                              const render::Context& context, Time now, const ApplyChildren& apply,
                              json::Allocator& allocator);

/// The first half of reconcileGraph.
struct GraphReconcile {
  bool grove = false;
  std::string workerHash;
  GraphPlan plan;
  render::Children children;
  std::vector<Ending> missing;  ///< what the graph refers to and the cluster does not have
};

/// The first half of reconcileGraph. `graph` must not be being deleted.
GraphReconcile planGraphReconcile(const json::Value& graph, Observed observed, const render::Context& context,
                                  Time now, json::Allocator& allocator);

/// Call it before the children are written. If an object is missing that the graph refers to, only claims and
/// what the graphs of the namespace share is written: pods could not start, and a rolling update would
/// replace pods that serve (quirk child-Q25).
void withholdChildren(const json::Value& graph, GraphReconcile& reconcile);

/// The second half of reconcileGraph, after the children were written.
Outcome finishGraphReconcile(const json::Value& graph, const GraphReconcile& reconcile,
                             const Applied& applied, const render::Context& context, Time now,
                             json::Allocator& allocator);

/// The children of a DynamoComponentDeployment, whether or not its graph wants it. `deployment` must not be
/// being deleted.
render::Children componentChildren(const json::Value& deployment, Observed observed,
                                   const render::Context& context);

/// The first half of reconcileComponent.
struct ComponentReconcile {
  render::Children children;
  bool outdated = false;  ///< outdated_generation.h: children that exist are kept
};

/// The first half of reconcileComponent. `deployment` must not be being deleted.
ComponentReconcile planComponentReconcile(const json::Value& deployment, Observed observed,
                                          const render::Context& context);

/// The second half of reconcileComponent, after the children were written.
Outcome finishComponentReconcile(const json::Value& deployment, const ComponentReconcile& reconcile,
                                 const Applied& applied, const render::Context& context, Time now,
                                 json::Allocator& allocator);

}  // namespace dynamo::lifecycle
