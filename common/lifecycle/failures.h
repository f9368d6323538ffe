#pragma once
// Failures of a pass, as conditions and Events tell them.

#include <span>
#include <string>

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

}  // namespace dynamo::lifecycle
