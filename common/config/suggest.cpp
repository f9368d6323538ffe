#include "common/config/suggest.h"

#include <algorithm>
#include <string>
#include <vector>

namespace dynamo::config {
namespace {

constexpr std::size_t kMaxName = 64;  // longer ones are no typing mistakes of ours

std::string lower(std::string_view s) {
  std::string out{s};
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return out;
}

/// Optimal string alignment distance.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::optional<std::string_view> closestName(std::string_view name,
                                            std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kMaxName) return std::nullopt;
  const std::string wanted = lower(name);
  std::optional<std::string_view> best;
  std::size_t bestEdits = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edits(wanted, lower(candidate));
    if (distance >= bestEdits) continue;
    bestEdits = distance;
    best = candidate;
  }
  return best;
}

}  // namespace dynamo::config
