#pragma once
// Managed rolling updates of workers: the phases in the status, the annotation that names the serving
// generation, and the deletion of old generations. rolling_step.h computes the replicas of each generation.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/lifecycle/graph_view.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

struct RollingUpdate {
  bool inProgress = false;
  json::Value status;  ///< status.rollingUpdate; null: none
  /// service -> replicas of its new generation.
  std::map<std::string, long long, std::less<>> newReplicas;
  std::optional<std::string> pickerHash;  ///< render::LifecycleInputs::pickerHash
  std::vector<Write> writes;              ///< in order; the annotation comes last (quirk ctl-Q7)
  std::vector<Event> events;
};

/// The next step for a graph on the component pathway.
RollingUpdate advanceRollingUpdate(const GraphView& view, Time now, json::Allocator& allocator);

/// For a graph on Grove, which updates workers itself: completes an update that began on the component
/// pathway and sets the annotation to the hash of the spec.
RollingUpdate endRollingUpdate(const GraphView& view, Time now, json::Allocator& allocator);

/// The worker generations of `service` in `components` whose hash is not `hash`.
std::vector<const json::Value*> oldGenerations(const std::vector<const json::Value*>& components,
                                               std::string_view service, std::string_view hash);

}  // namespace dynamo::lifecycle
