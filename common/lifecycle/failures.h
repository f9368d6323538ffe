#pragma once
// Failures of a pass, as conditions and Events tell them.

#include <span>
#include <string>
#include <string_view>

#include "common/lifecycle/conditions.h"
#include "common/lifecycle/outcome.h"

namespace dynamo::lifecycle {

/// The failures that do not pass by themselves, in one line; empty when there are none (quirk ctl-Q18).
inline std::string lastingProblems(std::span<const Failure> failures) {
  std::string text;
  for (const Failure& failure : failures) {
    if (!failure.transient) text.append(text.empty() ? "" : "; ").append(failure.message);
  }
  return text;
}

/// Whether `stored` is not a False condition with this message: an Event tells of a failure once.
inline bool isNews(const json::Value* stored, std::string_view message) {
  return !isFalse(stored) || json::findText(stored, "message") != shortened(message, kMaxConditionMessage);
}

/// Whether the message `now` is the first one to name a cause that begins with `what`; `before` is the stored
/// one. A message that is cut before the cause tells of it by no Event either: it would at every pass.
inline bool isToldFirst(std::string_view what, std::string_view before, std::string_view now) {
  constexpr std::size_t kEnough = 100;  // bytes that tell one cause from another
  const std::string_view key = what.substr(0, kEnough);
  return before.find(key) == std::string_view::npos &&
         now.substr(0, kMaxConditionMessage).find(key) != std::string_view::npos;
}

}  // namespace dynamo::lifecycle
