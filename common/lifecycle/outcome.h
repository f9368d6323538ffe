#pragma once
// What a pass of reconciliation comes to: writes, a status, events, and when to look again.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::lifecycle {

/// An object of the cluster. The controller makes uid and resourceVersion, where they are given,
/// preconditions of the write: two controllers that believe to lead do no harm.
struct Reference {
  std::string apiVersion;
  std::string kind;
  std::string namespaceName;
  std::string name;
  std::string uid;
  std::string resourceVersion;  ///< empty: the write does not depend on the rest of the object
};

struct Write {
  enum class Verb {
    Patch,   ///< RFC 7396 merge patch of the object
    Scale,   ///< spec.replicas through the scale subresource
    Delete,  ///< in the background
  };

  Verb verb = Verb::Patch;
  Reference target;
  json::Value patch;
  long long replicas = 0;
};

/// An Event about the object that is reconciled.
struct Event {
  enum class Type { Normal, Warning };

  Type type = Type::Normal;
  std::string reason;
  std::string message;
};

/// Longest message that the API server takes in an Event.
inline constexpr std::size_t kMaxEventMessage = 1024;

/// The controller does it in this order, and stops at the first write that fails: each later one relies on
/// those before it. An answer "not found" to a deletion is success.
struct Outcome {
  std::vector<Write> writes;
  std::optional<json::Value> status;  ///< the whole new status; nullopt: it stays
  std::vector<Event> events;
  /// Time alone will change the outcome; nullopt: only events of objects can.
  std::optional<std::chrono::milliseconds> lookAgain;
  bool retry = false;  ///< something failed: again, with back-off
};

/// Something that a pass could not do: an answer of the API server, or a child that cannot be rendered.
struct Failure {
  std::string message;
  /// Conflicts, timeouts, throttling: they pass by themselves, and no condition tells of them (quirk
  /// ctl-Q18).
  bool transient = false;
};

/// The object with its uid; `atThisVersion`: with its resourceVersion too.
Reference referenceTo(const json::Value& object, bool atThisVersion = false);

Write patchOf(const json::Value& object, json::Value&& patch, bool atThisVersion = false);
Write deletionOf(const json::Value& object);
Event warning(std::string_view reason, std::string_view message);
Event normal(std::string_view reason, std::string_view message);

/// Puts `status` into the outcome unless it equals what `object` has.
void setStatus(Outcome& outcome, const json::Value& object, json::Value&& status);

}  // namespace dynamo::lifecycle
