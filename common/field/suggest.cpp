#include "common/field/suggest.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace dynamo::field {
namespace {

// Longer words are not misspellings, and the cost grows with the square of the length.
constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kCharactersPerEdit = 3;

std::string lowered(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> beforeLast(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
    beforeLast.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kMaxWord) return {};
  const std::string wanted = lowered(word);
  std::string_view best;
  std::size_t bestDistance = std::max<std::size_t>(1, word.size() / kCharactersPerEdit) + 1;
  for (const std::string_view candidate : candidates) {
    const auto [shorter, longer] = std::minmax({wanted.size(), candidate.size()});
    if (longer - shorter >= bestDistance) continue;  // at least this many edits
    const std::size_t edits = distance(wanted, lowered(candidate));
    if (edits < bestDistance) {
      best = candidate;
      bestDistance = edits;
    }
  }
  return best;
}

}  // namespace dynamo::field
