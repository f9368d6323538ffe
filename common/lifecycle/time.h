#pragma once
// Points in time as metav1.Time has them: RFC 3339, whole seconds, UTC.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace dynamo::lifecycle {

using Time = std::chrono::sys_seconds;

/// "2026-11-23T07:29:43Z"
std::string formatTime(Time time);

/// Reads what the API server writes; fractions of a second (metav1.MicroTime) are cut off. nullopt when it is
/// something else.
std::optional<Time> parseTime(std::string_view text);

}  // namespace dynamo::lifecycle
