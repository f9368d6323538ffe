#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/json/parse.h"
#include "common/json/patch.h"
#include "common/json/value.h"

namespace dynamo::json {
namespace {

std::string reasonOf(const std::string& text) {
  Document document;
  const auto error = parse(text, document);
  std::string copy = text;
  Document insitu;
  const auto second = parseInsitu(copy, insitu);
  CHECK(error.has_value() == second.has_value());
  return error ? error->message() : "";
}

TEST_CASE("rejected texts and their reasons") {
  const auto row = GENERATE(table<std::string, std::string>({
      {"", "line 1, column 1: The document is empty."},
      {"{", "line 1, column 2: Missing a name for object member."},
      {"{\"a\":1}x", "line 1, column 8: The document root must not be followed by other values."},
      {"{\"a\":1,}", "line 1, column 8: Missing a name for object member."},
      {"{\n \"a\":\n  tru}", "line 3, column 6: Invalid value."},
      {"[1e309]", "line 1, column 2: number out of range"},
      {"[1e400]", "line 1, column 2: number out of range"},
      {"[" + std::string(311, '9') + "]", "line 1, column 2: number out of range"},
      {"[1e99999999999999999999]", "line 1, column 2: number out of range"},
      {"[1e-99999999999999999999]", "line 1, column 2: number out of range"},
      {"[0." + std::string(500, '1') + "]", "line 1, column 2: number out of range"},
      {"[NaN]", "line 1, column 2: Invalid value."},
      {"[Infinity]", "line 1, column 2: Invalid value."},
      {"[01]", "line 1, column 3: Missing a comma or ']' after an array element."},
      {"[+1]", "line 1, column 2: Invalid value."},
      {"[\"\x01\"]", "line 1, column 3: control character in a string"},
      {"[\"\xC0\xAF\"]", "line 1, column 3: invalid UTF-8"},
      {"[\"\xED\xA0\x80\"]", "line 1, column 3: invalid UTF-8"},
      {"[\"\xF5\x80\x80\x80\"]", "line 1, column 3: invalid UTF-8"},
      {"[\"\xE2\x82\"]", "line 1, column 3: invalid UTF-8"},
      {"[\"12345678\xFF\"]", "line 1, column 11: invalid UTF-8"},
      {"[\"\\udc00\"]", "line 1, column 3: unpaired surrogate escape"},
      {"[\"\\ud800x\"]", "line 1, column 3: unpaired surrogate escape"},
      {"[\"\\ud800\\u0041\"]", "line 1, column 3: unpaired surrogate escape"},
      {"[\"\\uZZZZ\"]", "line 1, column 3: invalid \\u escape"},
      {"[\xC3\xA9]", "line 1, column 2: invalid character"},
      {"{\"a\":1,\"a\":2}", "line 1, column 1: duplicate name \"a\""},
      {"{\"b\":{\"c\":[{},{\"z\":1,\"y\":2,\"z\":3}]}}", "line 1, column 1: duplicate name b.c[1].\"z\""},
      {R"({"a\u0000\n\u007f":{"\u0001":1,"\u0001":2}})", "line 1, column 1: duplicate name a   .\" \""},
      {"{\"" + std::string(63, 'x') + "\xC3\xA9y\":{\"a\":1,\"a\":2}}",
       "line 1, column 1: duplicate name " + std::string(63, 'x') + "\xC3\xA9.\"a\""},
      {std::string(kMaxDepth + 1, '['), "line 1, column 257: nested too deeply"},
      {std::string(1000000, '['), "line 1, column 257: nested too deeply"},
  }));
  CAPTURE(std::get<0>(row).substr(0, 40));
  CHECK(reasonOf(std::get<0>(row)) == std::get<1>(row));
}

TEST_CASE("the last of several members with one name counts, as in Go") {
  Document document;
  REQUIRE(parseAsGo(R"({"a":1,"b":[{"c":1,"c":{"d":1,"d":2}}],"a":null,"e":3})", document));
  CHECK(dump(document) == R"({"b":[{"c":{"d":2}}],"a":null,"e":3})");
  CHECK_FALSE(parseAsGo("{", document));
  CHECK_FALSE(parseAsGo("[1e400]", document));
}

TEST_CASE("a fault is rejected at every offset") {
  // The guard reads blocks of 64 bytes and then single bytes. Each fault is tested at every offset of both.
  auto [fault, at, reason] = GENERATE(table<std::string, std::size_t, std::string>({
      {"1e400", 0, "number out of range"},
      {"-1e400", 0, "number out of range"},
      {"\"\x01\"", 1, "control character in a string"},
      {"\"ab\xE2\x82\"", 3, "invalid UTF-8"},
      {"\"\xF0\x9F\x98\x80\xF0\x9F\x98\"", 5, "invalid UTF-8"},
      {"\"\\ud800\\u0041\"", 1, "unpaired surrogate escape"},
      {"\"\\ud83d\\ude00\\ude00\"", 13, "unpaired surrogate escape"},
      {"\"\\\\\\u00g0\"", 3, "invalid \\u escape"},
      {"\"\\\"\",\x02", 5, "invalid character"},
      {"\"\\\\\",\xC3\xA9", 5, "invalid character"},
  }));
  CAPTURE(fault);
  const std::string_view filling =
      GENERATE(" ", "12,", "\"{1e999\",", R"("\\\"[",)", R"("\u00e9\\",)", "{},");
  for (std::size_t before = 0; before < 140; ++before) {
    for (const std::size_t behind : {std::size_t{0}, std::size_t{70}, std::size_t{200}}) {
      std::string text = "[";
      while (text.size() + filling.size() <= before + 1) text += filling;
      text.resize(before + 1, ' ');
      text += fault;
      text.resize(text.size() + behind, ' ');
      const auto error = guard(text);
      REQUIRE(error);
      CHECK(error->reason == reason);
      CHECK(error->offset == before + 1 + at);
    }
  }
}

TEST_CASE("the guard reads nothing past the end of the text") {
  // The text is cut at every offset, in memory that ends there (sanitizers report reads past it) and in
  // memory that continues.
  const std::string whole =
      R"(  ["a\"\\b","\u00e9\ud83d\ude00",-1.25e+7,{"x":[12345678901234567890]}, "\t\n\\",0.5])"
      "\n\"\xC3\xA9\xF0\x9F\x98\x80\\";
  for (std::size_t begin = 0; begin < whole.size(); ++begin) {
    for (std::size_t end = begin + 1; end <= whole.size(); ++end) {
      const std::vector<char> exact(whole.begin() + static_cast<std::ptrdiff_t>(begin),
                                    whole.begin() + static_cast<std::ptrdiff_t>(end));
      const std::string_view text{exact.data(), exact.size()};
      const auto error = guard(text);
      for (const std::string_view behind : {"uuuu\"\\u", "999999999999999999999", "\xBF\xBF\xBF{{{{"}) {
        const std::string larger = std::string(text) + std::string(behind);
        const auto same = guard(std::string_view{larger}.substr(0, text.size()));
        REQUIRE(error.has_value() == same.has_value());
        if (error) CHECK(std::pair{error->reason, error->offset} == std::pair{same->reason, same->offset});
      }
    }
  }
}

TEST_CASE("text that resembles a fault is accepted at every offset") {
  const std::string harmless =
      GENERATE(as<std::string>{}, R"(["1e400 {[ \" 1e400"])", R"(["\\u00g0"])", R"(["\ud83d\ude00\\"])",
               "[\"\xF0\x9F\x98\x80\",\"\xC3\xA9\"]", "[\n\t-12.5e+3\r]", R"({"a\\\"":{"\"":[]}})");
  for (std::size_t before = 0; before < 140; ++before) {
    const std::string text = std::string(before, ' ') + harmless + std::string(130 - before % 130, ' ');
    CAPTURE(text);
    CHECK_FALSE(guard(text));
    Document document;
    CHECK_FALSE(parse(text, document));
  }
}

TEST_CASE("an embedded NUL is rejected and does not end the text") {
  CHECK_FALSE(reasonOf(std::string("{}\0{}", 5)).empty());
  CHECK_FALSE(reasonOf(std::string("[\"a\0b\"]", 7)).empty());
}

TEST_CASE("accepted texts survive a round trip") {
  const std::string text =
      GENERATE(as<std::string>{}, R"({"a":[1,-2,9007199254740993,9223372036854775807,18446744073709551615]})",
               R"(["\u00e9","\ud83d\ude00","\\\"/"])", R"([1e308,1e-308,0.1,-0.0,1E+2,5e-324])",
               R"([null,true,false,{},[]])");
  Document document;
  REQUIRE_FALSE(parse(text, document));
  Document again;
  REQUIRE_FALSE(parse(dump(document), again));
  CHECK(equal(document, again));
}

/// Whether `text` is accepted and parses to the nearest double, in place and from a copy.
bool isNearest(const std::string& text) {
  Document document;
  if (parse(text, document)) return false;
  const double wanted = std::strtod(text.c_str(), nullptr);
  CAPTURE(text);
  CHECK(document.GetDouble() == wanted);
  CHECK(std::signbit(document.GetDouble()) == std::signbit(wanted));
  std::string inPlace = text;
  REQUIRE_FALSE(parseInsitu(inPlace, document, SIZE_MAX));
  CHECK(document.GetDouble() == wanted);
  return true;
}

TEST_CASE("numbers are the nearest doubles") {
  const std::string text =
      GENERATE(as<std::string>{}, "184467440737095516155", "-0.0018446744073709551615900",
               "1844674407370955161.59e3", "0e308", "-0.00000000000000000000000000", "9007199254740993.0",
               "4.9406564584124654e-324", "2.2250738585072011e-308", "1.7976931348623157e308",
               // Half-way cases, which need every digit.
               "9007199254740993.00000000000000000000000000000000000000001", "6929495644600919.5",
               "3.518437208883201171875e13", "0.500000000000000166533453693773481063544750213623046875");
  CAPTURE(text);
  CHECK(isNearest(text));
}

TEST_CASE("hostile numbers are the nearest doubles") {
  std::mt19937_64 random{7};
  std::size_t accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = random() % 2 == 0 ? "-" : "";
    text += static_cast<char>('1' + random() % 9);
    for (auto digits = random() % 60; digits != 0; --digits) text += static_cast<char>('0' + random() % 10);
    if (random() % 4 != 0) {
      text += '.';
      for (auto digits = 1 + random() % 120; digits != 0; --digits) {
        text += static_cast<char>('0' + random() % 10);
      }
    }
    if (random() % 2 == 0) text += fmt::format("e{}", static_cast<int>(random() % 460) - 280);
    accepted += isNearest(text) ? 1U : 0U;
  }
  CHECK(accepted > 19000);
}

TEST_CASE("nesting is allowed up to the limit") {
  const std::string deep = std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']');
  CHECK(reasonOf(deep).empty());
}

TEST_CASE("equal() compares values") {
  const auto row = GENERATE(table<const char*, const char*, bool>({
      {R"({"a":1,"b":2})", R"({"b":2,"a":1})", true},
      {"30", "30.0", true},
      {"9007199254740993", "9007199254740992", false},
      {"9007199254740993", "9007199254740993", true},
      {"[1,2]", "[2,1]", false},
      {"true", "false", false},
      {"null", "0", false},
      {R"({"a":1})", R"({"a":1,"b":null})", false},
      {"\"a\"", "\"a\"", true},
  }));
  Document a;
  Document b;
  a.Parse(std::get<0>(row));
  b.Parse(std::get<1>(row));
  CAPTURE(std::get<0>(row), std::get<1>(row));
  CHECK(equal(a, b) == std::get<2>(row));
}

TEST_CASE("diff writes minimal patches with escaped pointers") {
  const auto row = GENERATE(table<const char*, const char*, const char*>({
      {R"({"a":1})", R"({"a":1})", "[]"},
      {R"({"a":1})", R"({"a":2})", R"([{"op":"replace","path":"/a","value":2}])"},
      {R"({"a":{}})", R"({"a":{"x/y~z":1}})", R"([{"op":"add","path":"/a/x~1y~0z","value":1}])"},
      {R"({"a":1,"b":2})", R"({"b":2})", R"([{"op":"remove","path":"/a"}])"},
      {R"({"a":1,"b":2})", R"({"b":3,"a":1})", R"([{"op":"replace","path":"/b","value":3}])"},
      {R"({"l":[1]})", R"({"l":[1,2]})", R"([{"op":"add","path":"/l/-","value":2}])"},
      {R"({"l":[1,2]})", R"({"l":[2]})", R"([{"op":"replace","path":"/l","value":[2]}])"},
  }));
  Document before;
  Document after;
  before.Parse(std::get<0>(row));
  after.Parse(std::get<1>(row));
  Patch patch;
  diff(before, after, "", patch);
  CHECK(patch.dump() == std::get<2>(row));
  CHECK(patch.empty() == (std::string{"[]"} == std::get<2>(row)));
}

TEST_CASE("null counts as absent, a wrong type never throws") {
  Document document;
  document.Parse(R"({"a":null,"b":5,"c":{"d":"t"}})");
  CHECK(find(document, "a") == nullptr);
  CHECK(findRaw(document, "a") != nullptr);
  CHECK(find(find(document, "b"), "x") == nullptr);
  CHECK(findText(find(document, "c"), "d") == "t");
  CHECK(findText(&document, "b").empty());
  CHECK(findBool(&document, "b") == std::nullopt);
}

}  // namespace
}  // namespace dynamo::json
