// takeMembers() cuts members out of a text before it is parsed.

#include "common/json/take.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "common/json/parse.h"

namespace dynamo::json {
namespace {

constexpr std::array<std::string_view, 2> kA{"m", "a"};
constexpr std::array<std::string_view, 3> kB{"m", "n", "k/b"};
constexpr std::array<MemberPath, 2> kPaths{kA, kB};

struct Row {
  std::string_view text;
  std::string_view a;      ///< taken
  std::string_view b;      ///< taken
  std::string_view after;  ///< the text parsed and written again
};

}  // namespace

TEST_CASE("members are taken as they were written") {
  for (const Row& row : {
           Row{R"({"m":{"a":[1, {"x":"\"]"}]}})", R"([1, {"x":"\"]"}])", "", R"({"m":{"a":null}})"},
           {R"({"m":{"a":"text","n":{"k/b":"b\\","c":1},"z":2},"s":3})", R"("text")", R"("b\\")",
            R"({"m":{"a":null,"n":{"k/b":null,"c":1},"z":2},"s":3})"},
           {R"( { "x" : {"a":1} , "m" : { "a" : {"y" : -1.5e+3 } } } )", R"({"y" : -1.5e+3 })", "",
            R"({"x":{"a":1},"m":{"a":null}})"},
           // Nothing is taken from another path, through a value of another type, or when the value is short.
           {R"({"a":"text","m":["a","text"]})", "", "", R"({"a":"text","m":["a","text"]})"},
           {R"({"m":{"a":12,"n":"text"}})", "", "", R"({"m":{"a":12,"n":"text"}})"},
           {R"({"m":{}})", "", "", R"({"m":{}})"},
           {R"({"m":null})", "", "", R"({"m":null})"},
           {R"({})", "", "", R"({})"},
           // The first of two members is taken. The second one is left for the parser.
           {R"({"m":{"a":"first","a":"second"}})", R"("first")", "", "duplicate name m.\"a\""},
       }) {
    CAPTURE(row.text);
    std::string text{row.text};
    std::array<std::string, 2> taken{"old", "old"};
    takeMembers(text, kPaths, taken);
    CHECK(taken[0] == row.a);
    CHECK(taken[1] == row.b);
    REQUIRE(text.size() == row.text.size());
    Document document;
    const auto error = parse(text, document);
    CHECK((error ? error->reason : dump(document)) == row.after);
  }
}

TEST_CASE("malformed values are not hidden from the parser") {
  for (const std::string_view value : {"{\"x\":}", "[1,]", "[1 2]", "{\"x\" 1}", "\"\\q\"", "\"open", "truth",
                                       "01x1", "-abc", "1.x2", "[1e]", "{x:1}", "[}", "{\"x\":1]", "[[[["}) {
    CAPTURE(value);
    const std::string before = "{\"m\":{\"a\":" + std::string{value} + "}}";
    std::string text = before;
    std::array<std::string, 2> taken;
    takeMembers(text, kPaths, taken);
    Document document;
    // The malformed value is still there, or the rest is malformed. The document never parses.
    CHECK(parse(text, document));
  }
}

}  // namespace dynamo::json
