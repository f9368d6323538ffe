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

  /// Replaces control characters by spaces: texts of a cluster must not break lines or control the terminal.
  void add(std::vector<Cell> row);
  /// Returns one line per row. Two spaces separate columns, and lines have no trailing spaces.
  std::string text() const;

 private:
  Style style_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace dynamo::view
