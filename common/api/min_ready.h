#pragma once
// spec.minReadySeconds of Deployments (decision child-Q44).

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dynamo::api {

/// The default progressDeadlineSeconds of Deployments, which must exceed minReadySeconds.
inline constexpr std::chrono::seconds kProgressDeadline{600};
inline constexpr std::string_view kMinReadyProblem = "must be a number of seconds from 0 to 599";

/// The value of the annotation nvidia.com/deployment-min-ready-seconds; nullopt if it is not valid.
inline std::optional<std::int32_t> minReadySeconds(std::string_view text) {
  std::int32_t seconds = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, seconds);
  const bool valid =
      parsed.ec == std::errc{} && parsed.ptr == end && seconds >= 0 && seconds < kProgressDeadline.count();
  return valid ? std::optional{seconds} : std::nullopt;
}

}  // namespace dynamo::api
