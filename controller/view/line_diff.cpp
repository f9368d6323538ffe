#include "controller/view/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "common/field/show.h"

namespace dynamo::view {
namespace {

using Lines = std::vector<std::string_view>;

Lines linesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// A range of lines of each text.
struct Ranges {
  const std::string_view* a;
  const std::string_view* b;
  std::int64_t aSize;
  std::int64_t bSize;
};

/// Myers' algorithm. furthest[k] is the largest x that a path with `edits` edits reaches on diagonal k = x -
/// y. The states for all numbers of edits are kept, so that the shortest path can be traced back. Returns the
/// marks in order, or an empty text if there are more than kMaxEdits edits.
std::string shortestEdits(const Ranges& ranges) {
  const auto most = std::min<std::int64_t>(ranges.aSize + ranges.bSize, kMaxEdits);
  std::vector<std::int64_t> furthest(static_cast<std::size_t>(2 * most + 3), 0);
  std::vector<std::vector<std::int64_t>> states;
  const auto at = [&](std::vector<std::int64_t>& state, std::int64_t k) -> std::int64_t& {
    return state[static_cast<std::size_t>(k + most + 1)];
  };
  const auto comesDown = [&](std::vector<std::int64_t>& state, std::int64_t k, std::int64_t edits) {
    return k == -edits || (k != edits && at(state, k - 1) < at(state, k + 1));
  };
  for (std::int64_t edits = 0; edits <= most; ++edits) {
    states.push_back(furthest);
    for (std::int64_t k = -edits; k <= edits; k += 2) {
      std::int64_t x = comesDown(furthest, k, edits) ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      while (x < ranges.aSize && x - k < ranges.bSize && ranges.a[x] == ranges.b[x - k]) ++x;
      at(furthest, k) = x;
      if (x < ranges.aSize || x - k < ranges.bSize) continue;
      // The shortest path is found. Trace it back.
      std::string marks;
      std::int64_t y = ranges.bSize;
      x = ranges.aSize;
      for (std::int64_t d = edits; d > 0; --d) {
        std::vector<std::int64_t>& before = states[static_cast<std::size_t>(d)];
        const std::int64_t diagonal = x - y;
        const bool down = comesDown(before, diagonal, d);
        const std::int64_t fromX = at(before, down ? diagonal + 1 : diagonal - 1);
        const std::int64_t fromY = fromX - (down ? diagonal + 1 : diagonal - 1);
        const std::int64_t startX = down ? fromX : fromX + 1;
        marks.append(static_cast<std::size_t>(x - startX), ' ');
        marks += down ? '+' : '-';
        x = fromX;
        y = fromY;
      }
      marks.append(static_cast<std::size_t>(x), ' ');
      std::reverse(marks.begin(), marks.end());
      return marks;
    }
  }
  return {};
}

std::size_t indentOf(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// "containers:" -> "containers"
std::string_view keyOf(std::string_view line) {
  return line.substr(0, line.find(':'));
}

/// Returns the path segment of the list item that begins in line `dash`. It contains the member `name` if the
/// item has one.
std::string itemPart(const std::vector<DiffLine>& lines, std::size_t dash) {
  constexpr std::string_view kName = "name: ";
  const std::size_t indent = indentOf(lines[dash].text) + 2;
  for (std::size_t i = dash; i < lines.size(); ++i) {
    const std::string_view line = lines[i].text;
    if (i > dash && indentOf(line) < indent) break;
    if (line.size() > indent && line.substr(indent).starts_with(kName))
      return fmt::format("[{}]", line.substr(indent + kName.size()));
  }
  return "[]";
}

/// Returns the path of the value that contains `lines[index]`. Lists are indented like their member.
std::string pathAt(const std::vector<DiffLine>& lines, std::size_t index) {
  std::vector<std::string> parts;
  std::size_t indent = indentOf(lines[index].text);
  bool item = lines[index].text.substr(indent).starts_with("- ");
  for (std::size_t i = index; i-- > 0 && (indent > 0 || item);) {
    const std::string_view line = lines[i].text;
    if (lines[i].mark == '+') continue;
    const std::size_t own = indentOf(line);
    const bool dash = line.substr(own).starts_with("- ");
    if (own > indent || (own == indent && (dash || !item))) continue;
    parts.push_back(dash ? itemPart(lines, i) : std::string{keyOf(line.substr(own))});
    indent = own;
    item = dash;
  }
  std::string path;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    path.append(path.empty() || part->starts_with('[') ? "" : ".").append(*part);
  return path;
}

Color colorOf(char mark) {
  return mark == '+' ? Color::Green : mark == '-' ? Color::Red : Color::Plain;
}

/// Returns a line with the number of marked lines from `first` on.
std::string moreLines(const std::vector<DiffLine>& lines, std::size_t first, const Style& style) {
  const auto count = std::count_if(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end(),
                                   [](const DiffLine& line) { return line.mark != ' '; });
  return count == 0 ? ""
                    : "  " + style.paint(Color::Cyan, fmt::format("({} more lines differ)", count)) + '\n';
}

}  // namespace

std::vector<DiffLine> diffLines(std::string_view before, std::string_view after) {
  const Lines a = linesOf(before);
  const Lines b = linesOf(after);
  std::size_t head = 0;
  while (head < std::min(a.size(), b.size()) && a[head] == b[head]) ++head;
  std::size_t tail = 0;
  while (tail < std::min(a.size(), b.size()) - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const std::size_t aMiddle = a.size() - head - tail;
  const std::size_t bMiddle = b.size() - head - tail;
  std::string marks(head, ' ');
  std::string middle = shortestEdits({a.data() + head, b.data() + head, static_cast<std::int64_t>(aMiddle),
                                      static_cast<std::int64_t>(bMiddle)});
  if (middle.empty()) middle = std::string(aMiddle, '-') + std::string(bMiddle, '+');
  marks += middle;
  marks.append(tail, ' ');
  std::vector<DiffLine> lines;
  std::size_t i = 0;
  std::size_t j = 0;
  for (const char mark : marks) {
    lines.push_back({mark, std::string{mark == '+' ? b[j] : a[i]}});
    if (mark != '+') ++i;
    if (mark != '-') ++j;
  }
  return lines;
}

std::string unifiedDiff(std::string_view before, std::string_view after, const Style& style) {
  const std::vector<DiffLine> lines = diffLines(before, after);
  std::string out;
  std::size_t shown = 0;
  std::size_t next = 0;  // the first line that no hunk contains
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].mark == ' ') continue;
    const std::string path = pathAt(lines, i);
    const std::string head = path.empty() ? "@@ @@" : fmt::format("@@ {} @@", path);
    out += "  " + style.paint(Color::Cyan, field::oneLine(head)) + '\n';
    std::size_t last = i;
    for (std::size_t j = i; j < lines.size() && j <= last + 2 * kContextLines + 1; ++j) {
      if (lines[j].mark != ' ') last = j;
    }
    const std::size_t end = std::min(last + kContextLines + 1, lines.size());
    for (std::size_t j = std::max(next, i - std::min(i, kContextLines)); j < end; ++j) {
      if (shown++ == kMaxDiffLines) return out + moreLines(lines, j, style);
      out += "  " + style.paint(colorOf(lines[j].mark), lines[j].mark + field::oneLine(lines[j].text)) + '\n';
    }
    next = end;
    i = end - 1;
  }
  return out;
}

std::string foldStrings(std::string_view yaml) {
  std::string out;
  for (const std::string_view line : linesOf(yaml)) {
    const std::string indent(indentOf(line) + 4, ' ');
    for (std::size_t i = 0; i < line.size(); ++i) {
      out += line[i];
      if (line[i] != '\\' || i + 1 == line.size()) continue;
      out += line[++i];
      // There is no line break after the last line of the text.
      if (line[i] == 'n' && i + 2 < line.size()) out += '\n' + indent;
    }
    out += '\n';
  }
  return out;
}

}  // namespace dynamo::view
