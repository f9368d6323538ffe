// Splitting a stream into lines.

#include "controller/kube/line_buffer.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dynamo::kube {
namespace {

void takeAll(LineBuffer& lines, std::vector<std::string>& out) {
  while (auto line = lines.take()) out.push_back(*line);
}

}  // namespace

TEST_CASE("lines do not depend on how the input is split") {
  const std::string text = "{\"a\":1}\n\n{\"b\":2}\r\n\r\nx\nlast";
  const std::vector<std::string> expected{"{\"a\":1}", "{\"b\":2}", "x"};
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      LineBuffer lines{100};
      std::vector<std::string> got;
      for (const std::string& piece :
           {text.substr(0, first), text.substr(first, second - first), text.substr(second)}) {
        lines.put(piece);
        takeAll(lines, got);
      }
      REQUIRE(got == expected);
      REQUIRE(lines.hasRest());
      lines.put("\n");
      takeAll(lines, got);
      REQUIRE(got.back() == "last");
      REQUIRE_FALSE(lines.hasRest());
    }
  }
}

TEST_CASE("the length of a line is limited") {
  for (const std::size_t size : {9U, 10U, 11U}) {
    CAPTURE(size);
    LineBuffer whole{10};
    whole.put("ok\n" + std::string(size, 'x') + "\n");
    CHECK(whole.take() == "ok");
    CHECK(whole.take().has_value() == (size <= 10));
    CHECK(whole.overflown() == (size > 10));
    LineBuffer pieces{10};
    bool taken = false;
    for (std::size_t i = 0; i < size && !pieces.overflown(); ++i) {
      pieces.put("x");
      taken = taken || pieces.take();
    }
    CHECK_FALSE(taken);
    CHECK(pieces.overflown() == (size > 10));
  }
}

TEST_CASE("no lines are returned after a line that is too long") {
  LineBuffer lines{3};
  lines.put("1234\nab\n");
  CHECK_FALSE(lines.take());
  CHECK(lines.overflown());
  lines.put("cd\n");
  CHECK_FALSE(lines.take());
}

}  // namespace dynamo::kube
