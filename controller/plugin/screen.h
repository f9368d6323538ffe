#pragma once
// Standard output: a terminal, a pipe or a file.

#include <string>
#include <string_view>

#include "controller/view/style.h"

namespace dynamo::plugin {

bool isTerminal();

/// Returns the style for standard output that the flag --color selects.
view::Style styleFor(const std::string& colorFlag);

/// Replaces the contents of the terminal with `text`. Long lines are truncated. If there are too many lines,
/// the last line contains the number of hidden lines.
void redraw(std::string_view text);

}  // namespace dynamo::plugin
