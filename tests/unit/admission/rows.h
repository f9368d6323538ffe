#pragma once
// Tables of objects and the expected findings of admission.

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

inline void check(const std::function<std::string(std::string_view)>& findingsOf,
                  const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(findingsOf(row.object) == row.expected);
  }
}

}  // namespace dynamo::admission::test
