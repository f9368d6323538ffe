#pragma once
// Compares two texts line by line.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "controller/view/style.h"

namespace dynamo::view {

struct DiffLine {
  char mark = ' ';  ///< '-': only in the first text, '+': only in the second text, ' ': in both
  std::string text;

  bool operator==(const DiffLine&) const = default;
};

/// The maximum number of edits that are matched. Texts that differ in more lines are not compared line by
/// line between the first and the last difference.
inline constexpr std::size_t kMaxEdits = 1000;
/// Returns the lines of both texts in order, with the smallest number of marked lines.
std::vector<DiffLine> diffLines(std::string_view before, std::string_view after);

/// The number of lines shown before and after a difference.
inline constexpr std::size_t kContextLines = 3;
/// The maximum number of lines shown for one object. An object with more differences is easier to read as a
/// whole.
inline constexpr std::size_t kMaxDiffLines = 200;

/// Returns the differences of two YAML documents as hunks. A hunk starts with "@@ PATH @@", where PATH is the
/// path of the value that contains the first difference. All lines are indented by two spaces. The result is
/// empty if the texts are equal.
std::string unifiedDiff(std::string_view before, std::string_view after, const Style& style);

/// Splits quoted YAML strings at their line breaks "\n", so that long texts are compared line by line.
std::string foldStrings(std::string_view yaml);

}  // namespace dynamo::view
