#pragma once
// Why pods do not become ready, in words that lead users to the cause.

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
inline constexpr std::string_view kPodsRefused = "PodsRefused";
}  // namespace reason

/// One cause, however many pods it holds up.
struct PodFailure {
  std::string reason;
  std::string what;    ///< the same as long as the cause lasts: "cannot pull image \"x\""
  std::string detail;  ///< what else is known of it; may change between two looks

  std::string text() const { return detail.empty() ? what : what + ": " + detail; }
};

struct PodFailures {
  std::vector<PodFailure> causes;  ///< ordered by reason and text, each once
  std::optional<std::chrono::milliseconds> lookAgain;
};

/// A scheduler needs a moment, and an autoscaler of nodes some more: before that, a pod without a node is no
/// failure.
inline constexpr std::chrono::seconds kSchedulingGrace{30};

/// Causes named one by one; of more only their number is told.
inline constexpr std::size_t kMaxPodFailures = 4;

/// Of pods that are neither finished nor being deleted.
PodFailures podFailures(std::span<const json::Value* const> pods, Time now);

/// The refusal of a Deployment's pods by quota or admission, if there is one.
std::optional<PodFailure> refusedPods(const json::Value* deployment);

/// Causes in one line; empty when there are none.
std::string textOf(const std::vector<PodFailure>& causes);

}  // namespace dynamo::lifecycle
