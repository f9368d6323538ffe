#pragma once
// Tables of objects, each with what admission says of it.

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dynamo::admission::test {

struct Row {
  std::string name;
  std::string object;
  std::string expected;
};

inline void check(const std::function<std::string(std::string_view)>& said, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(said(row.object) == row.expected);
  }
}

}  // namespace dynamo::admission::test
