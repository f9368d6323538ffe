#include "common/lifecycle/time.h"

#include "common/k8s/timestamp.h"

namespace dynamo::lifecycle {

std::string formatTime(Time time) {
  return k8s::formatTime(time);
}

std::optional<Time> parseTime(std::string_view text) {
  const std::optional<k8s::Timestamp> time = k8s::parseTimestamp(text);
  return time ? std::optional{std::chrono::floor<std::chrono::seconds>(*time)} : std::nullopt;
}

}  // namespace dynamo::lifecycle
