#pragma once
// Durations in Go's syntax, which Kubernetes configuration files use.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace dynamo::k8s {

using Duration = std::chrono::nanoseconds;

/// Parses "30s", "1h30m", "1.5h", "-100ms" or "0" with the units ns, us (µs), ms, s, m and h. Every number
/// needs a unit except a single 0. Fractions of a nanosecond are truncated. Returns nullopt if the text is
/// malformed or exceeds int64 nanoseconds (about 292 years).
std::optional<Duration> parseDuration(std::string_view text);

/// Formats a duration like Go: "4h0m0s", "1.5s", "100ms", "0s".
std::string formatDuration(Duration duration);

}  // namespace dynamo::k8s
