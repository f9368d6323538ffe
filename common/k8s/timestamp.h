#pragma once
// Points in time as API objects have them: metav1.Time and metav1.MicroTime, which are RFC 3339.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace dynamo::k8s {

using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

/// Reads RFC 3339 with any offset. Digits below a microsecond are cut off. nullopt when it is something else.
std::optional<Timestamp> parseTimestamp(std::string_view text);

/// metav1.Time: "2026-11-23T07:29:43Z". Fractions of a second are cut off.
std::string formatTime(Timestamp time);

/// metav1.MicroTime, as Lease and events.k8s.io have it: "2026-11-23T07:29:43.000000Z".
std::string formatMicroTime(Timestamp time);

}  // namespace dynamo::k8s
