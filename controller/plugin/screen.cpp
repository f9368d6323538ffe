#include "controller/plugin/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace dynamo::plugin {
namespace {

struct Size {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

Size terminalSize() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

}  // namespace

bool isTerminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

view::Style styleFor(const std::string& colorFlag) {
  const char* noColor = std::getenv("NO_COLOR");
  return view::Style{view::usesColor(colorFlag, isTerminal(), noColor == nullptr ? "" : noColor)};
}

void redraw(std::string_view text) {
  constexpr std::string_view kHome = "\x1b[H";
  constexpr std::string_view kClearLine = "\x1b[K";
  constexpr std::string_view kClearBelow = "\x1b[J";
  const Size size = terminalSize();
  std::string out{kHome};
  std::size_t row = 0;
  std::size_t hidden = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    // The last row stays free for the number of hidden lines and the cursor.
    if (row + 1 < size.rows) {
      out.append(view::cutLine(text.substr(at, end - at), size.columns)).append(kClearLine).append("\n");
      ++row;
    } else {
      ++hidden;
    }
    at = end + 1;
  }
  if (hidden > 0) out += fmt::format("({} more lines)", hidden);
  std::cout << out << kClearLine << kClearBelow << std::flush;
}

}  // namespace dynamo::plugin
