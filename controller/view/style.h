#pragma once
// Terminal colours.

#include <string>
#include <string_view>

namespace dynamo::view {

enum class Color { Plain, Red, Green, Yellow, Cyan, Bold, Dim };

/// Adds colours to texts if colours are enabled.
class Style {
 public:
  explicit Style(bool colored = false) : colored_(colored) {}

  std::string paint(Color color, std::string_view text) const;

 private:
  bool colored_;
};

/// Returns true if colours are enabled by the flag --color ("auto", "always" or "never"). "auto" enables them
/// only on a terminal, and not if the environment variable NO_COLOR has a value.
bool usesColor(std::string_view flag, bool terminal, std::string_view noColor);

/// Returns the number of columns of `text`, which is UTF-8 without colour sequences. Wide characters count as
/// one column.
std::size_t columnsOf(std::string_view text);

/// Returns `line` truncated to `columns` columns. Colour sequences take no column. A truncated line with
/// colour sequences ends with a sequence that resets the colour.
std::string cutLine(std::string_view line, std::size_t columns);

}  // namespace dynamo::view
