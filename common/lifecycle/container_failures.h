#pragma once
// Why one container of a pod is not ready, from its status as kubelets write it.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "common/lifecycle/pod_failures.h"

namespace dynamo::lifecycle {

/// A container of a pod at a time. Both values must outlive the uses.
struct ContainerView {
  const json::Value& pod;
  const json::Value& status;  ///< an item of status.containerStatuses or status.initContainerStatuses
  Time now;
};

/// Why the container does not run, or does not go on running. The cause is the same in all states of a cycle
/// of restarts. `requeueAfter` is lowered to the time at which the answer changes without an event.
std::optional<PodFailure> containerFailure(const ContainerView& view,
                                           std::optional<std::chrono::milliseconds>& requeueAfter);

/// What a container without a failure waits for; of init containers this cannot be told. It is told after
/// `grace`, an end of the container at once.
std::optional<PodFailure> containerDelay(const ContainerView& view, std::chrono::seconds grace,
                                         std::optional<std::chrono::milliseconds>& requeueAfter);

/// How a container has ended: "exit code 1: KeyError: 'model'". The last line of its termination message
/// follows the exit code. Kubelets have a message if the container writes one, or if its
/// terminationMessagePolicy is FallbackToLogsOnError. `terminated`: a ContainerStateTerminated.
std::string terminationCause(const json::Value& terminated);

}  // namespace dynamo::lifecycle
