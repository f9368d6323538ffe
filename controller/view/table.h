#pragma once
// Aligned columns of text.

#include <string>
#include <vector>

#include "controller/view/style.h"

namespace dynamo::view {

struct Cell {
  std::string text = {};
  Color color = Color::Plain;
};

class Table {
 public:
  explicit Table(Style style) : style_(style) {}

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  /// Returns one line per row. Two spaces separate columns, and lines have no trailing spaces.
  std::string text() const;

 private:
  Style style_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace dynamo::view
