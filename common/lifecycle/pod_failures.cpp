#include "common/lifecycle/pod_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/k8s/api_message.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/container_failures.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/outcome.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

constexpr std::string_view kInitList = "initContainerStatuses";
constexpr std::string_view kMainList = "containerStatuses";

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The text with which the admission plugin ResourceQuota refuses an object.
bool isQuota(std::string_view message) {
  return message.find("exceeded quota: ") != std::string_view::npos;
}

bool isSame(const PodFailure& a, const PodFailure& b) {
  return a.reason == b.reason && a.summary == b.summary;
}

class Collector {
 public:
  Collector(Time now, const Grace& grace) : now_(now), grace_(grace) {}

  void add(const Value& pod) {
    const Value* status = statusOf(pod);
    const std::string_view phase = json::findText(status, "phase");
    if (isBeingDeleted(pod) || isOneOf(phase, {"Succeeded", "Failed"})) return;
    const std::size_t causes = found_.causes.size();
    const std::size_t delays = found_.delays.size();
    addUnschedulable(findCondition(status, "PodScheduled"));
    for (const std::string_view list : {kInitList, kMainList}) {
      const Value* containers = json::find(status, list);
      if (containers == nullptr || !containers->IsArray()) continue;
      for (const Value& container : containers->GetArray()) {
        if (!isCompleted(container, list)) addContainer({pod, container, now_}, list == kMainList);
      }
    }
    keepOneOfEach(found_.causes, causes);
    keepOneOfEach(found_.delays, delays);
  }

  PodFailures take() {
    sortCauses(found_.causes);
    sortCauses(found_.delays);
    return std::move(found_);
  }

 private:
  /// Containers of one pod may have the same cause. From `first` on are the causes of the pod.
  static void keepOneOfEach(std::vector<PodFailure>& causes, std::size_t first) {
    const auto begin = causes.begin() + static_cast<std::ptrdiff_t>(first);
    for (auto one = begin; one != causes.end();) {
      const bool known =
          std::any_of(begin, one, [&](const PodFailure& other) { return isSame(other, *one); });
      one = known ? causes.erase(one) : one + 1;
    }
  }

  void addUnschedulable(const Value* condition) {
    if (!isFalse(condition) || json::findText(condition, "reason") != "Unschedulable") return;
    const auto since = parseTime(json::findText(condition, "lastTransitionTime"));
    const std::chrono::seconds grace = grace_.scheduling;
    if (grace > std::chrono::seconds{0} && since && now_ < *since + grace) {
      requeueWithin(found_.requeueAfter, *since + grace - now_);
      return;
    }
    found_.causes.push_back({std::string{reason::kUnschedulable}, "pods cannot be scheduled",
                             shownDetail(schedulingReasons(json::findText(condition, "message")))});
  }

  static bool isCompleted(const Value& container, std::string_view list) {
    const Value* ended = json::findObject(json::findObject(&container, "state"), "terminated");
    return ended != nullptr && list == kInitList && numberAt(ended, "exitCode", -1) == 0;
  }

  void addContainer(const ContainerView& container, bool isMain) {
    if (auto failure = containerFailure(container, found_.requeueAfter)) {
      found_.causes.push_back(std::move(*failure));
    } else if (isMain) {
      if (auto delay = containerDelay(container, grace_.start, found_.requeueAfter))
        found_.delays.push_back(std::move(*delay));
    }
  }

  Time now_;
  Grace grace_;
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

std::string PodFailure::text() const {
  std::string text = detail.empty() ? summary : summary + ": " + detail;
  if (see.empty()) return text;
  return text + (pods > 1 ? fmt::format(" ({} pods; see {})", pods, see) : fmt::format(" (see {})", see));
}

std::string seeEvents(const Value& pod) {
  return fmt::format("kubectl describe pod {}", nameOf(pod));
}

std::string shownDetail(std::string_view text) {
  constexpr std::size_t kMaxDetail = 300;
  return shortened(text, kMaxDetail);
}

PodFailures podFailures(std::span<const Value* const> pods, Time now, const Grace& grace) {
  Collector collector{now, grace};
  for (const Value* pod : pods) collector.add(*pod);
  return collector.take();
}

PodFailure refusedPods(std::string_view message) {
  return {std::string{isQuota(message) ? reason::kQuotaExceeded : reason::kPodsRefused},
          "pods cannot be created", shownDetail(k8s::withoutQuotedValues(message))};
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
                    "Grove reports an error", shownDetail(k8s::withoutQuotedValues(text))};
}

bool isLackOfCapacity(std::string_view reason) {
  return isOneOf(reason, {reason::kUnschedulable, reason::kQuotaExceeded});
}

void sortCauses(std::vector<PodFailure>& causes) {
  const auto key = [](const PodFailure& f) {
    return std::tuple{isLackOfCapacity(f.reason), std::string_view{f.reason}, std::string_view{f.summary},
                      std::string_view{f.detail}, std::string_view{f.see}};
  };
  std::sort(causes.begin(), causes.end(),
            [&](const PodFailure& a, const PodFailure& b) { return key(a) < key(b); });
  std::vector<PodFailure> merged;
  for (PodFailure& cause : causes) {
    if (!merged.empty() && isSame(merged.back(), cause)) {
      merged.back().pods += cause.pods;
    } else {
      merged.push_back(std::move(cause));
    }
  }
  causes = std::move(merged);
}

std::string textOf(const std::vector<PodFailure>& causes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(causes.size(), kMaxPodFailures); ++i) {
    text.append(i == 0 ? "" : "; ").append(causes[i].text());
  }
  if (causes.size() > kMaxPodFailures) text += fmt::format("; and {} more", causes.size() - kMaxPodFailures);
  return text;
}

std::string textOf(const PodFailures& failures) {
  return textOf(failures.causes.empty() ? failures.delays : failures.causes);
}

}  // namespace dynamo::lifecycle
