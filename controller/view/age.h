#pragma once
// Ages in the form that kubectl prints.

#include <chrono>
#include <string>

namespace dynamo::view {

/// Returns an age such as "45s", "5m30s", "12m", "4h10m", "30h", "6d2h", "40d" or "3y". A negative age, which
/// is possible if clocks differ, counts as zero.
std::string formatAge(std::chrono::seconds age);

}  // namespace dynamo::view
