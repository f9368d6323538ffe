#pragma once
// Applies our functions to the steps of a recording and returns the differences from the reference.

#include <string>
#include <vector>

#include "recorded.h"

namespace dynamo::lifecycle::test {

struct Difference {
  std::string step;
  std::string object;
  std::string path;
  std::string theirs;
  std::string ours;

  auto operator<=>(const Difference&) const = default;
};

/// The differences in the order of the steps. `compared` counts the compared values.
std::vector<Difference> replay(Recording& recording, std::size_t& compared);

}  // namespace dynamo::lifecycle::test
