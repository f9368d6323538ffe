#include "common/lifecycle/pod_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/k8s/api_message.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/outcome.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// Details come from other components and may be long. All causes together must fit into one message.
constexpr std::size_t kMaxDetail = 300;

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The kubelet alternates between the error and a back-off text that ends with the error. Both become the
/// error, otherwise the status would alternate too.
std::string_view pullError(std::string_view message) {
  constexpr std::string_view kError = "ErrImagePull: ";
  const std::size_t at = message.rfind(kError);
  if (at != std::string_view::npos) return message.substr(at + kError.size());
  return message.starts_with("Back-off pulling image") ? std::string_view{} : message;
}

/// The text with which the admission plugin ResourceQuota refuses an object.
bool isQuota(std::string_view message) {
  return message.find("exceeded quota: ") != std::string_view::npos;
}

std::string detail(std::string_view text) {
  return shortened(text, kMaxDetail);
}

/// The last end of the container: that of its state, else that of the run before.
const Value* lastTermination(const Value& container) {
  const Value* now = json::findObject(json::findObject(&container, "state"), "terminated");
  return now != nullptr ? now : json::findObject(json::findObject(&container, "lastState"), "terminated");
}

std::string terminationCause(const Value* terminated) {
  const std::string_view why = json::findText(terminated, "reason");
  if (why == "OOMKilled") return "exceeded its memory limit";
  const Value* code = json::find(terminated, "exitCode");
  return code != nullptr && code->IsInt64() ? fmt::format("exit code {}", code->GetInt64())
                                            : std::string{why};
}

class Collector {
 public:
  Collector(Time now, std::chrono::seconds schedulingGrace) : now_(now), grace_(schedulingGrace) {}

  void add(const Value& pod) {
    const Value* status = statusOf(pod);
    const std::string_view phase = json::findText(status, "phase");
    if (isBeingDeleted(pod) || isOneOf(phase, {"Succeeded", "Failed"})) return;
    addUnschedulable(findCondition(status, "PodScheduled"));
    for (const std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
      const Value* containers = json::find(status, list);
      if (containers == nullptr || !containers->IsArray()) continue;
      for (const Value& container : containers->GetArray()) {
        if (!isCompleted(container, list)) addContainer(container);
      }
    }
  }

  PodFailures take() {
    sortCauses(found_.causes);
    return std::move(found_);
  }

 private:
  void addUnschedulable(const Value* condition) {
    if (!isFalse(condition) || json::findText(condition, "reason") != "Unschedulable") return;
    const auto since = parseTime(json::findText(condition, "lastTransitionTime"));
    if (grace_ > std::chrono::seconds{0} && since && now_ < *since + grace_) {
      requeueWithin(found_.requeueAfter, *since + grace_ - now_);
      return;
    }
    found_.causes.push_back({std::string{reason::kUnschedulable}, "pods cannot be scheduled",
                             detail(schedulingReasons(json::findText(condition, "message")))});
  }

  static bool isCompleted(const Value& container, std::string_view list) {
    const Value* ended = json::findObject(json::findObject(&container, "state"), "terminated");
    return ended != nullptr && list == "initContainerStatuses" && numberAt(ended, "exitCode", -1) == 0;
  }

  void addContainer(const Value& container) {
    const Value* state = json::findObject(json::findObject(&container, "state"), "waiting");
    const std::string_view why = json::findText(state, "reason");
    const std::string_view message = json::findText(state, "message");
    const std::string_view name = json::findText(&container, "name");
    if (isOneOf(why, {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
                      "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"})) {
      found_.causes.push_back({std::string{reason::kImagePull},
                               fmt::format("cannot pull image \"{}\"", json::findText(&container, "image")),
                               detail(pullError(message))});
    } else if (failsToStart(container)) {
      found_.causes.push_back({std::string{reason::kContainer},
                               fmt::format("container \"{}\" cannot be started", name),
                               detail(json::findText(lastTermination(container), "message"))});
    } else if (why == "CrashLoopBackOff" || isCrashLoop(container)) {
      const Value* last = lastTermination(container);
      found_.causes.push_back({std::string{reason::kCrashLoop},
                               fmt::format("container \"{}\" keeps terminating", name),
                               last == nullptr ? "" : terminationCause(last)});
    } else if (isOneOf(why, {"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
                             "PreCreateHookError", "PreStartHookError", "PostStartHookError"})) {
      found_.causes.push_back({std::string{reason::kContainer},
                               fmt::format("container \"{}\" cannot be started", name), detail(message)});
    }
  }

  /// Whether the container runtime cannot start the container. The kubelet reports this as an error of the
  /// start, as an end of the container and as a back-off in turn.
  static bool failsToStart(const Value& container) {
    return json::findObject(json::findObject(&container, "state"), "running") == nullptr &&
           isOneOf(json::findText(lastTermination(container), "reason"),
                   {"StartError", "ContainerCannotRun"});
  }

  /// A container that crashes runs for a while between two back-offs, has ended for a moment, and may fail in
  /// its hook. The cause stays the same meanwhile. The kubelet forgets the crashes of a container that has
  /// run for ten minutes.
  bool isCrashLoop(const Value& container) {
    constexpr std::int64_t kManyRestarts = 2;
    constexpr std::chrono::minutes kForgotten{10};
    if (json::findBool(&container, "ready").value_or(false) ||
        countAt(&container, "restartCount") < kManyRestarts)
      return false;
    const Value* state = json::findObject(&container, "state");
    if (json::findObject(state, "terminated") != nullptr ||
        json::findText(json::findObject(state, "waiting"), "reason") == "PostStartHookError")
      return true;
    const auto since = parseTime(json::findText(json::findObject(state, "running"), "startedAt"));
    if (!since || now_ >= *since + kForgotten) return false;
    requeueWithin(found_.requeueAfter, *since + kForgotten - now_);
    return true;
  }

  Time now_;
  std::chrono::seconds grace_;
  PodFailures found_;
};

}  // namespace

std::string_view schedulingReasons(std::string_view message) {
  constexpr std::string_view kNoNode = " nodes are available: ";
  // The reasons are one sentence. A message of another scheduler, or of a release before, has only the text
  // about preemption after them.
  const std::size_t reasons = message.find(kNoNode);
  const std::size_t end =
      reasons == std::string_view::npos ? reasons : message.find(". ", reasons + kNoNode.size());
  if (end != std::string_view::npos) return message.substr(0, end + 1);
  return message.substr(0, message.find(" preemption:"));
}

PodFailures podFailures(std::span<const Value* const> pods, Time now, std::chrono::seconds schedulingGrace) {
  Collector collector{now, schedulingGrace};
  for (const Value* pod : pods) collector.add(*pod);
  return collector.take();
}

PodFailure refusedPods(std::string_view message) {
  return {std::string{isQuota(message) ? reason::kQuotaExceeded : reason::kPodsRefused},
          "pods cannot be created", detail(k8s::withoutQuotedValues(message))};
}

std::optional<PodFailure> replicaFailure(const Value* deployment) {
  if (deployment == nullptr) return std::nullopt;
  const Value* condition = findCondition(statusOf(*deployment), "ReplicaFailure");
  if (!isTrue(condition)) return std::nullopt;
  return refusedPods(json::findText(condition, "message"));
}

std::optional<PodFailure> groveFailure(const Value* object) {
  const Value* errors = object == nullptr ? nullptr : json::find(statusOf(*object), "lastErrors");
  if (errors == nullptr || !errors->IsArray() || errors->Empty()) return std::nullopt;
  const Value* newest =
      &*std::max_element(errors->Begin(), errors->End(), [](const Value& a, const Value& b) {
        return json::findText(&a, "observedAt") < json::findText(&b, "observedAt");
      });
  const std::string_view text = json::findText(newest, "description");
  return PodFailure{std::string{isQuota(text) ? reason::kQuotaExceeded : reason::kGroveError},
                    "Grove reports an error", detail(k8s::withoutQuotedValues(text))};
}

bool isLackOfCapacity(std::string_view reason) {
  return isOneOf(reason, {reason::kUnschedulable, reason::kQuotaExceeded});
}

void sortCauses(std::vector<PodFailure>& causes) {
  const auto key = [](const PodFailure& f) {
    return std::tuple{isLackOfCapacity(f.reason), std::string_view{f.reason}, std::string_view{f.summary},
                      std::string_view{f.detail}};
  };
  std::sort(causes.begin(), causes.end(),
            [&](const PodFailure& a, const PodFailure& b) { return key(a) < key(b); });
  const auto same = [](const PodFailure& a, const PodFailure& b) {
    return a.reason == b.reason && a.summary == b.summary;
  };
  causes.erase(std::unique(causes.begin(), causes.end(), same), causes.end());
}

std::string textOf(const std::vector<PodFailure>& causes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(causes.size(), kMaxPodFailures); ++i) {
    text.append(i == 0 ? "" : "; ").append(causes[i].text());
  }
  if (causes.size() > kMaxPodFailures) text += fmt::format("; and {} more", causes.size() - kMaxPodFailures);
  return text;
}

}  // namespace dynamo::lifecycle
