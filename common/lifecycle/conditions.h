#pragma once
// Conditions of a status with the semantics of metav1.Condition: lastTransitionTime moves only with the
// status of the condition, and what changes nothing leaves equal bytes (quirk ctl-Q17).

#include <cstdint>
#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

enum class Truth { True, False, Unknown };

struct Condition {
  std::string_view type;
  Truth status = Truth::Unknown;
  std::string_view reason;
  std::string message;
};

/// Longest message of a condition. The schema allows 32,768 bytes; a graph of many services must stay far
/// below what etcd takes for one object, and a person reads the first lines.
inline constexpr std::size_t kMaxConditionMessage = 2048;

/// Sets the condition of its type in `status`, which is an object: in place when there is one, else as the
/// last. A message that is too long is cut.
void setCondition(json::Value& status, const Condition& condition, std::int64_t generation, Time now,
                  json::Allocator& allocator);

/// Takes the condition of this type out, if there is one.
void removeCondition(json::Value& status, std::string_view type);

/// The condition of this type in a status; nullptr when it has none.
const json::Value* findCondition(const json::Value* status, std::string_view type);
bool isTrue(const json::Value* condition);
bool isFalse(const json::Value* condition);

/// At most `most` bytes of `text`, cut between characters and ended with "..." where something is missing.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace dynamo::lifecycle
