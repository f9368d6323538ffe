#include "controller/view/table.h"

#include <algorithm>
#include <utility>

#include "common/field/show.h"

namespace dynamo::view {

void Table::add(std::vector<Cell> row) {
  for (Cell& cell : row) cell.text = field::oneLine(cell.text);
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columnsOf(row[i].text));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::size_t gap = 0;  // number of spaces before the next cell with text
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].text.empty()) {
        out.append(gap, ' ').append(style_.paint(row[i].color, row[i].text));
        gap = 0;
      }
      gap += widths[i] - columnsOf(row[i].text) + 2;
    }
    out += '\n';
  }
  return out;
}

}  // namespace dynamo::view
