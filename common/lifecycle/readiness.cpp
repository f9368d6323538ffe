#include "common/lifecycle/readiness.h"

#include <fmt/format.h>

#include "common/lifecycle/component_status.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

Readiness notReady(std::string_view reason, std::string message) {
  return {false, std::string{reason}, std::move(message)};
}

Readiness readyNow() {
  return {true, std::string{reason::kReady}, ""};
}

Readiness notObserved() {
  return notReady(reason::kNotObserved, "its controller has not observed the latest spec");
}

/// nullopt: the object exists and is not being deleted.
std::optional<Readiness> checkExists(const Value* object) {
  if (object == nullptr) return notReady(reason::kMissing, "does not exist yet");
  if (isBeingDeleted(*object)) return notReady(reason::kDeleted, "is being deleted");
  return std::nullopt;
}

/// nullopt: the object exists, and its status describes its current spec.
std::optional<Readiness> checkObserved(const Value* object) {
  if (auto missing = checkExists(object)) return missing;
  if (!isObserved(*object)) return notObserved();
  return std::nullopt;
}

std::string countOf(std::int64_t count, std::int64_t desired, std::string_view state) {
  return fmt::format("{} of {} replicas {}", count, desired, state);
}

/// `field` counts the replicas that serve, and `state` names what it counts.
Readiness cliqueReadiness(const Value* object, const Value* set, std::optional<std::int64_t> desired,
                          std::string_view field, std::string_view state) {
  if (auto old = checkObserved(object)) return *old;
  const Value* status = statusOf(*object);
  const std::int64_t replicas = countAt(specOf(*object), "replicas", 1);
  if (desired && *desired != replicas) {
    return notReady(reason::kScaling,
                    fmt::format("is being scaled from {} to {} replicas", replicas, *desired));
  }
  const std::string_view own = json::findText(status, "currentPodCliqueSetGenerationHash");
  const std::string_view newest =
      set == nullptr ? std::string_view{} : json::findText(statusOf(*set), "currentGenerationHash");
  if (!own.empty() && !newest.empty() && own != newest) {
    // Grove waits for a ready pod of each clique, and a clique with 0 replicas never has one.
    return notReady(reason::kUpdating,
                    replicas == 0 ? "Grove does not end the update to the latest spec while it has 0 replicas"
                                  : "Grove is updating it to the latest spec");
  }
  if (countAt(status, field) < replicas) {
    return notReady(reason::kUnavailable, countOf(countAt(status, field), replicas, state));
  }
  if (countAt(status, "updatedReplicas") < replicas) {
    return notReady(reason::kUpdating, countOf(countAt(status, "updatedReplicas"), replicas, "updated"));
  }
  if (countAt(status, "replicas") != replicas || countAt(status, field) != replicas) {
    return notReady(reason::kScaling,
                    fmt::format("{} replicas, {} desired", countAt(status, "replicas"), replicas));
  }
  return readyNow();
}

}  // namespace

Readiness existenceReadiness(const Value* object) {
  return checkExists(object).value_or(readyNow());
}

Readiness podReadiness(const Value* pod) {
  if (auto missing = checkExists(pod)) return *missing;
  const Value* condition = findCondition(statusOf(*pod), "Ready");
  if (isTrue(condition)) return readyNow();
  const std::string_view why = json::findText(condition, "message");
  return notReady(reason::kUnavailable, why.empty() ? "is not ready" : std::string{why});
}

Readiness deploymentReadiness(const Value* deployment) {
  if (auto missing = checkExists(deployment)) return *missing;
  const Value* spec = specOf(*deployment);
  if (json::findBool(spec, "paused").value_or(false)) return notReady(reason::kPaused, "is paused");
  if (auto old = checkObserved(deployment)) return *old;
  const Value* status = statusOf(*deployment);
  const std::int64_t desired = countAt(spec, "replicas", 1);
  const std::int64_t available = countAt(status, "availableReplicas");
  const std::int64_t updated = countAt(status, "updatedReplicas");
  if (available < desired) {
    const Value* progressing = findCondition(status, "Progressing");
    const bool stuck = isFalse(progressing) && json::findText(progressing, "reason") == reason::kStuck;
    return notReady(
        stuck ? reason::kStuck : reason::kUnavailable,
        countOf(available, desired, stuck ? "available within its progress deadline" : "available"));
  }
  if (updated < desired) return notReady(reason::kUpdating, countOf(updated, desired, "updated"));
  if (const std::int64_t replicas = countAt(status, "replicas"); replicas != desired) {
    return notReady(reason::kScaling, fmt::format("{} replicas, {} desired", replicas, desired));
  }
  // A Deployment with zero replicas may lack the condition.
  if (desired > 0 && !isTrue(findCondition(status, "Available"))) {
    return notReady(reason::kUnavailable, "is not available");
  }
  return readyNow();
}

Readiness leaderWorkerSetReadiness(const Value* set, const Value* podGroup) {
  if (auto missing = checkExists(set)) return *missing;
  const Value* status = statusOf(*set);
  if (json::find(status, "observedGeneration") != nullptr) {
    if (auto old = checkObserved(set)) return *old;
  }
  const std::int64_t desired = countAt(specOf(*set), "replicas", 1);
  const std::int64_t ready = countAt(status, "readyReplicas");
  if (ready < desired) {
    if (podGroup != nullptr) {
      const Value* group = statusOf(*podGroup);
      const Value* refused = findCondition(group, "Unschedulable");
      if (json::findText(group, "phase") == "Pending" && isTrue(refused)) {
        return notReady(reason::kUnscheduled,
                        fmt::format("its pods cannot be gang-scheduled: {}",
                                    shortened(json::findText(refused, "message"), 200)));
      }
    }
    return notReady(reason::kUnavailable, countOf(ready, desired, "ready"));
  }
  if (const std::int64_t updated = countAt(status, "updatedReplicas"); updated < desired) {
    return notReady(reason::kUpdating, countOf(updated, desired, "updated"));
  }
  if (desired > 0 && !isTrue(findCondition(status, "Available"))) {
    return notReady(reason::kUnavailable, "is not available");
  }
  return readyNow();
}

bool lacksObservedGeneration(const Value& set) {
  return generationOf(set) > 1 && json::find(statusOf(set), "observedGeneration") == nullptr;
}

Readiness componentDeploymentReadiness(const Value* deployment) {
  if (auto missing = checkExists(deployment)) return *missing;
  if (!isComponentObserved(*deployment)) return notObserved();
  const Value* available = findCondition(statusOf(*deployment), "Available");
  if (isTrue(available)) return readyNow();
  const std::string_view why = json::findText(available, "message");
  return notReady(reason::kUnavailable, why.empty() ? "is not available yet" : std::string{why});
}

bool isComponentObserved(const Value& deployment) {
  const Value* available = findCondition(statusOf(deployment), "Available");
  const bool failed =
      isFalse(available) && numberAt(available, "observedGeneration", -1) >= generationOf(deployment);
  return failed || isObserved(deployment);
}

bool isComponentRefused(const Value& deployment) {
  const Value* available = findCondition(statusOf(deployment), "Available");
  return isFalse(available) && json::findText(available, "reason") == reason::kReconciling &&
         numberAt(available, "observedGeneration", -1) >= generationOf(deployment);
}

Readiness podCliqueSetReadiness(const Value* set) {
  if (set != nullptr && countAt(specOf(*set), "replicas", 1) == 0)
    return notReady(reason::kPaused, "is scaled to 0 replicas");
  return checkObserved(set).value_or(readyNow());
}

Readiness podCliqueReadiness(const Value* clique, const Value* set, std::optional<std::int64_t> desired) {
  return cliqueReadiness(clique, set, desired, "readyReplicas", "ready");
}

Readiness scalingGroupReadiness(const Value* group, const Value* set, std::optional<std::int64_t> desired,
                                std::span<const Value* const> cliques) {
  Readiness readiness = cliqueReadiness(group, set, desired, "availableReplicas", "available");
  if (!readiness.ready) return readiness;
  for (const Value* clique : cliques) {
    if (!isControlledBy(*clique, *group) || isBeingDeleted(*clique)) continue;
    const std::int64_t pods = countAt(specOf(*clique), "replicas", 1);
    const std::int64_t ready = countAt(statusOf(*clique), "readyReplicas");
    if (ready < pods)
      return notReady(reason::kUnavailable,
                      fmt::format("{}: {}", nameOf(*clique), countOf(ready, pods, "ready")));
  }
  return readiness;
}

}  // namespace dynamo::lifecycle
