#pragma once
// Why pods do not become ready, in texts for users.

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

namespace reason {
inline constexpr std::string_view kImagePull = "ImagePullFailed";
inline constexpr std::string_view kUnschedulable = "PodUnschedulable";
inline constexpr std::string_view kCrashLoop = "CrashLoop";
inline constexpr std::string_view kContainer = "ContainerNotCreated";
inline constexpr std::string_view kNotReady = "ContainerNotReady";
inline constexpr std::string_view kPodsRefused = "PodsRefused";
inline constexpr std::string_view kQuotaExceeded = "QuotaExceeded";
inline constexpr std::string_view kGroveError = "GroveError";
}  // namespace reason

/// One cause, which may affect many pods.
struct PodFailure {
  std::string reason;
  std::string summary;   ///< constant while the cause lasts: "cannot pull image \"x\""
  std::string detail;    ///< further information, which may change between two reconciles
  std::string see = {};  ///< a command that tells more, of one of the pods; empty: nothing more is known
  std::size_t pods = 1;  ///< how many pods have it

  /// "container \"main\" keeps terminating: exit code 1 (2 pods; see kubectl logs --previous a-0 -c main)"
  std::string text() const;
};

struct PodFailures {
  std::vector<PodFailure> causes;  ///< in the order of sortCauses
  /// What pods without a failure wait for. Messages name it while there are no causes; there are no Events of
  /// it, because a model may take its time. In the order of sortCauses.
  std::vector<PodFailure> delays = {};
  std::optional<std::chrono::milliseconds> requeueAfter = std::nullopt;
};

/// For how long nothing is told about a pod, because what it waits for comes by itself as a rule.
struct Grace {
  std::chrono::seconds scheduling{30};  ///< the scheduler or a cluster autoscaler may still find a node
  std::chrono::seconds start{60};       ///< images are pulled, models are loaded
};
inline constexpr Grace kNoGrace{std::chrono::seconds{0}, std::chrono::seconds{0}};

/// The causes that a message names. It gives only the number of further causes.
inline constexpr std::size_t kMaxPodFailures = 4;

/// Ignores pods that have finished or are being deleted.
PodFailures podFailures(std::span<const json::Value* const> pods, Time now, const Grace& grace = {});

/// The command that shows the Events of a pod.
std::string seeEvents(const json::Value& pod);

/// A text of another component, shortened so that several fit into a message.
std::string shownDetail(std::string_view text);

/// The reasons in the scheduler's message about a pod, without what it tried to do about them: preemption and
/// the deallocation of resource claims, whose texts change often and name no nodes.
std::string_view schedulingReasons(std::string_view message);

/// Quota or admission rejects pods. `message`: of the API server.
PodFailure refusedPods(std::string_view message);

/// The condition ReplicaFailure of a Deployment: quota or admission rejects its pods. nullopt: not the case.
std::optional<PodFailure> replicaFailure(const json::Value* deployment);

/// The newest of the errors that Grove reports in the status of a PodCliqueSet, PodClique or scaling group.
/// nullopt: it reports none.
std::optional<PodFailure> groveFailure(const json::Value* object);

/// Whether pods with this failure run as soon as the cluster or the quota has room for them.
bool isLackOfCapacity(std::string_view reason);

/// Sorts by reason and text and adds up the pods of duplicates. Lack of capacity comes last, because it ends
/// without a change of the object.
void sortCauses(std::vector<PodFailure>& causes);

/// All causes in one line; empty when there are none.
std::string textOf(const std::vector<PodFailure>& causes);

/// The causes, or without causes the delays.
std::string textOf(const PodFailures& failures);

}  // namespace dynamo::lifecycle
