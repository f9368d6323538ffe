#pragma once
// Conditions with the semantics of metav1.Condition: lastTransitionTime changes only together with the status
// of the condition. Setting an unchanged condition leaves the object equal (quirk ctl-Q17).

#include <cstdint>
#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

enum class ConditionStatus { True, False, Unknown };

struct Condition {
  std::string_view type;
  ConditionStatus status = ConditionStatus::Unknown;
  std::string_view reason;
  std::string message;
};

/// The longest message of a condition. The schema allows 32,768 bytes, but the status of a graph with many
/// services must stay far below the size limit of etcd.
inline constexpr std::size_t kMaxConditionMessage = 2048;

/// Sets the condition of its type in the object `status`: replaces an existing one in place, else appends it.
/// A longer message is cut.
void setCondition(json::Value& status, const Condition& condition, std::int64_t generation, Time now,
                  json::Allocator& allocator);

inline constexpr std::int64_t kNoGeneration = -1;
/// Changes only the observedGeneration of the condition of this type; kNoGeneration removes it.
void setObservedGeneration(json::Value& status, std::string_view type, std::int64_t generation,
                           json::Allocator& allocator);

/// Removes the condition of this type, if there is one.
void removeCondition(json::Value& status, std::string_view type);

/// The condition of this type in a status; nullptr if there is none.
const json::Value* findCondition(const json::Value* status, std::string_view type);
bool isTrue(const json::Value* condition);
bool isFalse(const json::Value* condition);

/// `text` with at most `maxBytes` bytes. A longer text is cut between characters and ends with "...".
std::string shortened(std::string_view text, std::size_t maxBytes);

}  // namespace dynamo::lifecycle
