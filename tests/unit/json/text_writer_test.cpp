#include "common/json/text_writer.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "common/json/parse.h"
#include "common/json/value.h"

namespace dynamo::json {
namespace {

std::string written(std::string_view value) {
  TextWriter writer{0};
  writer.string(value);
  return writer.take();
}

TEST_CASE("every byte of a string is escaped at every offset of a block") {
  for (unsigned c = 0; c < 0x80; ++c) {
    for (const std::size_t place : {0U, 1U, 14U, 15U, 16U, 17U, 31U, 32U, 40U}) {
      std::string value(41, 'x');
      value[place] = static_cast<char>(c);
      const std::string text = written(value);
      INFO("byte " << c << " at " << place << ": " << text);
      Document back;
      REQUIRE_FALSE(parse(text, back));
      CHECK(json::text(back) == value);
      const bool plain = c >= 0x20 && c != '"' && c != '\\';
      CHECK((text.size() == value.size() + 2) == plain);
    }
  }
}

TEST_CASE("escapes") {
  CHECK(written("\b\t\n\f\r\"\\") == R"("\b\t\n\f\r\"\\")");
  CHECK(written(std::string_view{"\0\x0B\x1A\x1F", 4}) == R"("\u0000\u000B\u001A\u001F")");
  CHECK(written("\x7F</script>é☃") == "\"\x7F</script>é☃\"");
  CHECK(written("") == R"("")");
  std::string controls(1000, '\x01');
  CHECK(written(controls).size() == 6002);
}

TEST_CASE("commas, brackets and numbers") {
  for (const std::string_view text :
       {R"({})", R"([])", R"({"a":[],"b":{},"c":""})", R"([[],[[]],{"a":{"b":[1,2]}}])",
        R"([null,true,false,0,-1,18446744073709551615,-9223372036854775808])", R"([0.5,-2.5e-8,1e300])",
        R"(["[","{",":",","])", R"({"[":"{",":":",",",":1})"}) {
    Document document;
    REQUIRE_FALSE(parse(text, document));
    CHECK(dump(document) == text);
  }
}

TEST_CASE("text around values") {
  TextWriter writer;
  writer.raw(R"({"list":[)");
  writer.Int(1);
  writer.StartObject();
  writer.key("a");
  writer.Bool(true);
  writer.EndObject();
  const std::size_t kept = writer.size();
  writer.string("dropped");
  writer.truncate(kept);
  writer.raw("]}");
  CHECK(writer.take() == R"({"list":[1,{"a":true}]})");
}

}  // namespace
}  // namespace dynamo::json
