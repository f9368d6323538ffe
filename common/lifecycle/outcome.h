#pragma once
// The result of a reconcile: writes, a status, Events, and the time of the next reconcile.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/lifecycle/ending.h"
#include "common/render/write_plan.h"

namespace dynamo::lifecycle {

/// An object of the cluster. The controller sends uid and resourceVersion, where they are set, as
/// preconditions of the write. Two controllers that both believe to be the leader then do no harm.
struct Reference {
  k8s::ObjectKey key;
  std::string uid;
  std::string resourceVersion;  ///< empty: the write does not depend on the version of the object
};

struct Write {
  enum class Verb {
    Patch,   ///< RFC 7396 merge patch of the object
    Scale,   ///< spec.replicas through the scale subresource
    Delete,  ///< with background propagation
  };

  Verb verb = Verb::Patch;
  Reference target;
  json::Value patch;
  long long replicas = 0;
  /// Of Scale: what is remembered of a number that somebody may change back (render/contests.h).
  std::optional<render::WritePlan> plan = {};
};

/// An Event about the object that is reconciled.
struct Event {
  enum class Type { Normal, Warning };

  Type type = Type::Normal;
  std::string reason;
  std::string message;
};

/// The longest message that the API server accepts in an Event.
inline constexpr std::size_t kMaxEventMessage = 1024;

/// The controller carries out the members in this order and stops at the first write that fails, because each
/// write relies on the writes before it. If the object of a deletion does not exist, the deletion has
/// succeeded.
struct Outcome {
  std::vector<Write> writes;
  std::optional<json::Value> status;  ///< the complete new status; nullopt: it does not change
  std::vector<Event> events;
  /// The outcome changes after this time even if no object changes; nullopt: only events of objects change
  /// it.
  std::optional<std::chrono::milliseconds> requeueAfter;
  std::vector<Ending> failures = {};  ///< what failed before the outcome
  /// Something fails that may change without an event of the object. The status tells it, so it is no error
  /// of the reconcile, but a failure that lasts does not begin anew with the next one.
  bool prevented = false;
};

/// Reconciles again after this time, or earlier if `requeueAfter` already has an earlier time.
inline void requeueWithin(std::optional<std::chrono::milliseconds>& requeueAfter,
                          std::optional<std::chrono::milliseconds> time) {
  if (time) requeueAfter = std::min(requeueAfter.value_or(*time), *time);
}

/// A reference to `object` by its uid, with `atThisVersion` also by its resourceVersion.
Reference referenceTo(const json::Value& object, bool atThisVersion = false);

Write patchOf(const json::Value& object, json::Value&& patch, bool atThisVersion = false);
Write deletionOf(const json::Value& object);
Event warning(std::string_view reason, std::string_view message);
Event normal(std::string_view reason, std::string_view message);

/// Sets the status of the outcome if `status` differs from the status of `object`.
void setStatus(Outcome& outcome, const json::Value& object, json::Value&& status);

}  // namespace dynamo::lifecycle
