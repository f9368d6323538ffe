#include "common/lifecycle/readiness.h"

#include <fmt/format.h>

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

/// What holds for every kind; nullopt: the object is there, and its status is of its present spec.
std::optional<Readiness> absent(const Value* object) {
  if (object == nullptr) return notReady(reason::kMissing, "does not exist yet");
  if (isBeingDeleted(*object)) return notReady(reason::kDeleted, "is being deleted");
  return std::nullopt;
}

std::optional<Readiness> stale(const Value* object) {
  if (auto missing = absent(object)) return missing;
  if (!isObserved(*object))
    return notReady(reason::kNotObserved, "its controller has not seen the latest spec");
  return std::nullopt;
}

std::string ofDesired(std::int64_t count, std::int64_t desired, std::string_view what) {
  return fmt::format("{} of {} replicas {}", count, desired, what);
}

/// `present` is the field that counts replicas that serve.
Readiness cliqueReadiness(const Value* object, const Value* set, std::optional<std::int64_t> wanted,
                          std::string_view present, std::string_view word) {
  if (auto old = stale(object)) return *old;
  const Value* status = statusOf(*object);
  const std::int64_t desired = countAt(specOf(*object), "replicas", 1);
  if (wanted && *wanted != desired) {
    return notReady(reason::kScaling,
                    fmt::format("is being scaled from {} to {} replicas", desired, *wanted));
  }
  const std::string_view ours = json::findText(status, "currentPodCliqueSetGenerationHash");
  const std::string_view newest =
      set == nullptr ? std::string_view{} : json::findText(statusOf(*set), "currentGenerationHash");
  if (!ours.empty() && !newest.empty() && ours != newest) {
    return notReady(reason::kUpdating, "Grove updates it to the latest spec");
  }
  if (countAt(status, present) < desired) {
    return notReady(reason::kUnavailable, ofDesired(countAt(status, present), desired, word));
  }
  if (countAt(status, "updatedReplicas") < desired) {
    return notReady(reason::kUpdating, ofDesired(countAt(status, "updatedReplicas"), desired, "updated"));
  }
  if (countAt(status, "replicas") != desired || countAt(status, present) != desired) {
    return notReady(reason::kScaling,
                    fmt::format("{} replicas, {} wanted", countAt(status, "replicas"), desired));
  }
  return readyNow();
}

}  // namespace

Readiness existenceReadiness(const Value* object) {
  return absent(object).value_or(readyNow());
}

Readiness podReadiness(const Value* pod) {
  if (auto missing = absent(pod)) return *missing;
  const Value* condition = findCondition(statusOf(*pod), "Ready");
  if (isTrue(condition)) return readyNow();
  const std::string_view why = json::findText(condition, "message");
  return notReady(reason::kUnavailable, why.empty() ? "is not ready" : std::string{why});
}

Readiness deploymentReadiness(const Value* deployment) {
  if (auto missing = absent(deployment)) return *missing;
  const Value* spec = specOf(*deployment);
  if (json::findBool(spec, "paused").value_or(false)) return notReady(reason::kPaused, "is paused");
  if (auto old = stale(deployment)) return *old;
  const Value* status = statusOf(*deployment);
  const std::int64_t desired = countAt(spec, "replicas", 1);
  const std::int64_t available = countAt(status, "availableReplicas");
  const std::int64_t updated = countAt(status, "updatedReplicas");
  if (available < desired) {
    const Value* progressing = findCondition(status, "Progressing");
    const bool stuck = isFalse(progressing) && json::findText(progressing, "reason") == reason::kStuck;
    return notReady(
        stuck ? reason::kStuck : reason::kUnavailable,
        ofDesired(available, desired, stuck ? "available within its progress deadline" : "available"));
  }
  if (updated < desired) return notReady(reason::kUpdating, ofDesired(updated, desired, "updated"));
  if (const std::int64_t replicas = countAt(status, "replicas"); replicas != desired) {
    return notReady(reason::kScaling, fmt::format("{} replicas, {} wanted", replicas, desired));
  }
  // Of no replicas there is nothing that could be available.
  if (desired > 0 && !isTrue(findCondition(status, "Available"))) {
    return notReady(reason::kUnavailable, "is not available");
  }
  return readyNow();
}

Readiness leaderWorkerSetReadiness(const Value* set, const Value* podGroup) {
  if (auto missing = absent(set)) return *missing;
  const Value* status = statusOf(*set);
  // Releases before 0.7 do not tell which spec they saw.
  if (json::find(status, "observedGeneration") != nullptr) {
    if (auto old = stale(set)) return *old;
  }
  const std::int64_t desired = countAt(specOf(*set), "replicas", 1);
  const std::int64_t ready = countAt(status, "readyReplicas");
  if (ready < desired) {
    if (podGroup != nullptr) {
      const Value* group = statusOf(*podGroup);
      const Value* refused = findCondition(group, "Unschedulable");
      if (json::findText(group, "phase") == "Pending" && isTrue(refused)) {
        return notReady(reason::kUnscheduled,
                        fmt::format("its pods cannot be scheduled together: {}",
                                    shortened(json::findText(refused, "message"), 200)));
      }
    }
    return notReady(reason::kUnavailable, ofDesired(ready, desired, "ready"));
  }
  if (const std::int64_t updated = countAt(status, "updatedReplicas"); updated < desired) {
    return notReady(reason::kUpdating, ofDesired(updated, desired, "updated"));
  }
  if (desired > 0 && !isTrue(findCondition(status, "Available"))) {
    return notReady(reason::kUnavailable, "is not available");
  }
  return readyNow();
}

Readiness componentDeploymentReadiness(const Value* deployment) {
  if (auto old = stale(deployment)) return *old;
  const Value* available = findCondition(statusOf(*deployment), "Available");
  if (isTrue(available)) return readyNow();
  const std::string_view why = json::findText(available, "message");
  return notReady(reason::kUnavailable, why.empty() ? "is not available yet" : std::string{why});
}

Readiness podCliqueSetReadiness(const Value* set) {
  return stale(set).value_or(readyNow());
}

Readiness podCliqueReadiness(const Value* clique, const Value* set, std::optional<std::int64_t> wanted) {
  return cliqueReadiness(clique, set, wanted, "readyReplicas", "ready");
}

Readiness scalingGroupReadiness(const Value* group, const Value* set, std::optional<std::int64_t> wanted) {
  return cliqueReadiness(group, set, wanted, "availableReplicas", "available");
}

}  // namespace dynamo::lifecycle
