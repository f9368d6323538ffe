#pragma once
// Points in time with the precision and format of metav1.Time: RFC 3339, whole seconds, UTC.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace dynamo::lifecycle {

using Time = std::chrono::sys_seconds;

/// "2026-11-23T07:29:43Z"
std::string formatTime(Time time);

/// Parses RFC 3339 with any offset. Fractions of a second (metav1.MicroTime) are cut off. nullopt:
/// not such a time.
std::optional<Time> parseTime(std::string_view text);

}  // namespace dynamo::lifecycle
