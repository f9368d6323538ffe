#pragma once
// Durations in Go's syntax, which every Kubernetes configuration file uses.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace dynamo::k8s {

using Duration = std::chrono::nanoseconds;

/// Parses "30s", "1h30m", "1.5h", "-100ms", "0"; units ns, us (µs), ms, s, m, h. Every number needs its unit
/// except a lone 0. Fractions below a nanosecond are cut off. nullopt when malformed or beyond int64
/// nanoseconds (about 292 years).
std::optional<Duration> parseDuration(std::string_view text);

/// Go's canonical text: "4h0m0s", "1.5s", "100ms", "0s".
std::string formatDuration(Duration duration);

}  // namespace dynamo::k8s
