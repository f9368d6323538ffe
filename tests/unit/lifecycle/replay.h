#pragma once
// Our functions over the steps of a recording, and what differs from what the reference wrote.

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

/// In the order of the steps; `compared` counts values.
std::vector<Difference> replay(Recording& recording, std::size_t& compared);

}  // namespace dynamo::lifecycle::test
