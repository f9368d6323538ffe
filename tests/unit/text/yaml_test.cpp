#include "common/text/yaml.h"
#include "common/json/parse.h"
#include "common/text/yaml_writer.h"

#include <catch2/catch.hpp>

namespace dynamo::text {
namespace {

using field::Path;

/// All documents as JSON, separated by a space, or the error with its position.
std::string read(std::string_view text) {
  const TextDocuments parsed = parseDocuments(text);
  if (parsed.error) return parsed.error->message();
  std::string out;
  for (const TextDocument& document : parsed.documents) {
    out += out.empty() ? "" : " ";
    out += json::dump(document.value);
  }
  return out;
}

struct Row {
  std::string_view text;
  std::string_view expected;
};

void check(std::initializer_list<Row> table) {
  for (const Row& row : table) {
    CAPTURE(row.text);
    CHECK(read(row.text) == row.expected);
  }
}

std::string repeat(std::string_view part, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part;
  return out;
}

}  // namespace

TEST_CASE("documents") {
  check({
      {"", ""},
      {"# only a comment\n", ""},
      {"---\n---\n~\n---\n{}\n", "{}"},
      {"a: 1\n---\nb: 2\n", R"({"a":1} {"b":2})"},
      {"--- # first\na: 1\n...\n---\nb: 2\n", R"({"a":1} {"b":2})"},
      {"\xEF\xBB\xBF"
       "a: 1\n",
       R"({"a":1})"},
      {"a: 1\r\nb:\r\n- 2\r\n", R"({"a":1,"b":[2]})"},
      {R"({"a": 1})", R"({"a":1})"},
      {R"({"a": "\ud83d\ude00\/"} {"b": [2]})", "{\"a\":\"\xF0\x9F\x98\x80/\"} {\"b\":[2]}"},
      {"{\"a\": 1}\n---\n{\"b\": 2}\n", R"({"a":1} {"b":2})"},
      {"{\"a\": 1} null", R"({"a":1})"},
      {"{a: 1, b: }", R"({"a":1,"b":null})"},
      {"[1, yes, ~]", "[1,true,null]"},
      {"- - a\n  - b\n", R"([["a","b"]])"},
      {"a: |\n  x\n\n  y\nb: >-\n  x\n  y\n", R"({"a":"x\n\ny\n","b":"x y"})"},
      {"a: 'it''s'\nb: \"\\u00e9\\x41\\t\"\n",
       "{\"a\":\"it's\",\"b\":\"\xC3\xA9"
       "A\\t\"}"},
      {"\"\\N\": \"a\\_\\L\\P\\x85\"\n", "{\"\xC2\x85\":\"a\xC2\xA0\xE2\x80\xA8\xE2\x80\xA9\xC2\x85\"}"},
  });
}

TEST_CASE("every key becomes a string") {
  check({
      {"yes: a\n0x10: b\n\"no\": c\n2001-01-01: d\n", R"({"true":"a","16":"b","no":"c","2001-01-01":"d"})"},
      {"~: a\n", "line 1, column 1: a key must be a string; quote it"},
      {"a:\n  1.5: b\n", "line 2, column 3: a key must be a string; quote it"},
      {"[a]: b\n", "line 1, column 1: a key must be a string; quote it"},
      {"a: 1\nb:\n  c: 1\n  c: 2\n", "line 4, column 3: duplicate name \"c\""},
      {"\"1\": a\n1: b\n", "line 2, column 1: duplicate name \"1\""},
      {"{\"a\": 1,\n \"a\": 2}", "line 2, column 2: duplicate name \"a\""},
      {"{\"a\": {\"b\": 1,\n\t\"b\": 2}}", "line 2, column 2: duplicate name \"b\""},
  });
}

TEST_CASE("anchors, aliases and merge keys") {
  check({
      {"a: &x {p: 1}\nb: *x\n", R"({"a":{"p":1},"b":{"p":1}})"},
      {"&x a: 1\nb: *x\n", R"({"a":1,"b":"a"})"},
      {"a: &x {p: 1, q: 2}\nb: {<<: *x, p: 3}\n", R"({"a":{"p":1,"q":2},"b":{"p":3,"q":2}})"},
      {"a: &x {p: 1, q: 2}\nb: {p: 3, <<: *x}\n", R"({"a":{"p":1,"q":2},"b":{"p":1,"q":2}})"},
      {"a: &x {p: 1}\nb: &y {p: 2, r: 5}\nc: {<<: [*x, *y]}\n",
       R"({"a":{"p":1},"b":{"p":2,"r":5},"c":{"p":1,"r":5}})"},
      {"b: {\"<<\": {a: 1}}\n", R"({"b":{"<<":{"a":1}}})"},
      {"b: {!!merge <<: {a: 1}}\n", R"({"b":{"a":1}})"},
      {"b: {<<: 5}\n", "line 1, column 9: a merge key (<<) requires a map or a list of maps"},
      {"b: {<<: [{a: 1}, 2]}\n", "line 1, column 18: a merge key (<<) requires a map or a list of maps"},
      {"a: &x [*x]\n", "line 1, column 8: an anchor contains itself"},
      {"a: &x 1\n---\nb: *x\n", "line 3, column 4: the referenced anchor is not defined"},
  });
}

TEST_CASE("alias bombs are rejected") {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  std::string merges = "a0: &a0 {x: 1}\n";
  for (int i = 1; i < 9; ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string tenfold =
        "[" + repeat("*a" + std::to_string(i - 1) + ", ", 9) + "*a" + std::to_string(i - 1) + "]";
    laughs += name + ": &" + name + " " + tenfold + "\n";
    merges += name + ": &" + name + " {<<: " + tenfold + "}\n";
  }
  const std::string strings = "a: &a \"" + repeat("x", 100'000) + "\"\nb: [" + repeat("*a,", 1000) + "]\n";
  for (const std::string& text : {laughs, merges, strings}) {
    CHECK_THAT(read(text), Catch::Contains("aliases expand the document"));
  }
}

TEST_CASE("what aliases add is limited for all documents together") {
  const std::string row = "a: &a [" + repeat("x, ", 10) + "]\nb: [" + repeat("*a, ", 10) + "]\n";
  const auto repeated = [&](int documents) { return repeat("---\n" + row, documents); };
  Expansion left{1'000, 100'000};  // a document adds 10 lists of 11 values, of 10 bytes each
  CHECK_FALSE(parseDocuments(repeated(5), left).error);
  CHECK(left.values == 1'000 - 5 * 110);
  CHECK(left.bytes == 100'000 - 5 * 100);
  const TextDocuments read = parseDocuments(repeated(5), left);
  REQUIRE(read.error);
  CHECK_THAT(read.error->message(), Catch::Contains("aliases expand the document"));
  CHECK(read.documents.size() == 4);
  CHECK_FALSE(parseDocuments("a: [" + repeat("x, ", 10'000) + "]\n", left).error);
}

TEST_CASE("limits of nesting, size and number of documents") {
  const int deepest = static_cast<int>(json::kMaxDepth);
  CHECK(read(repeat("[", deepest) + repeat("]", deepest)).size() == 2 * json::kMaxDepth);
  for (const std::string& text :
       {repeat("[", deepest + 1) + repeat("]", deepest + 1), repeat("[", 100'000), repeat("- ", 10'000),
        repeat("? ", 10'000), repeat("{a: ", 10'000), "{\"a\":" + repeat("[", 100'000)}) {
    CAPTURE(text.substr(0, 8), text.size());
    CHECK_THAT(read(text), Catch::Contains("nested too deeply"));
  }
  CHECK_THAT(read(repeat("a", static_cast<int>(kMaxTextBytes) + 1)), Catch::Contains("longer than"));
  CHECK_THAT(read(repeat("{} ", static_cast<int>(kMaxDocuments) + 1)), Catch::Contains("too many documents"));
  CHECK_THAT(read(repeat("---\na\n", static_cast<int>(kMaxDocuments) + 1)),
             Catch::Contains("too many documents"));
  // An alias that nests deeper than the text itself.
  const std::string half = "a: &x " + repeat("[", 200) + repeat("]", 200) + "\n";
  CHECK_THAT(read(half + "b: " + repeat("[", 200) + "*x" + repeat("]", 200)), Catch::Contains("nested too"));
}

TEST_CASE("malformed texts are rejected with their position") {
  check({
      {"a: \xC3\x28\n", "line 1, column 4: invalid UTF-8"},
      {std::string_view{"a: 1\nb: \0x", 10}, "line 2, column 4: control character"},
      {"a: \x1b[0m\n", "line 1, column 4: control character"},
      {"\xFF\xFE"
       "a",
       "line 1, column 1: invalid UTF-8"},
      {"a: b: c\n",
       "line 1, column 5: a value with \": \" in it must be quoted, or the indentation is wrong"},
      {"a:\n\tb: 1\n", "line 2, column 1: tab in the indentation; YAML requires spaces"},
      {"a:\n  b: 1\n  \tc: 2\n", "line 3, column 3: tab in the indentation; YAML requires spaces"},
      {"a:\n\t- 1\n", "line 2, column 1: tab in the indentation; YAML requires spaces"},
      {"a:\n- b: 1\n\tc: 2\n", "line 3, column 1: tab in the indentation; YAML requires spaces"},
      {"a: [1, 2\nb: 3\n", "line 2, column 2: \"[\" is not closed, or a comma is missing"},
      {"a: \"b", "line 1, column 6: a quoted text is not closed"},
      {"a: 1\n- b\n", "line 2, column 1: the indentation matches no map above"},
      {"\"\\", "line 1, column 4: unknown escape character"},
      {"{\"a\": 1,\n \"b\": }", "line 2, column 7: Invalid value."},
      {"{}\n{\"a\": tru}", "line 2, column 10: Invalid value."},
      {"{\"a\": 1} x", "line 1, column 10: Invalid value."},
  });
  for (const std::string_view text : {"a:\n\tb: 1", "a: @x", "a: - b", "a: [1", "a: {b", "a: \"x", "a: 'x",
                                      "*", "&", "!<", "a: *nope", "%TAG", "{", "[", "}", "]"}) {
    CAPTURE(text);
    CHECK(parseDocuments(text).error);
  }
}

TEST_CASE("values are found by the paths of field errors") {
  const std::string_view yaml =
      "# head\n"
      "spec:\n"                              // 2
      "  services:\n"                        // 3
      "    worker:\n"                        // 4
      "      replicas: 2\n"                  // 5
      "      envs:\n"                        // 6
      "      - {name: A}\n"                  // 7
      "      - name: B\n"                    // 8
      "        value: x\n"                   // 9
      "metadata:\n"                          // 10
      "  annotations: {nvidia.com/x: y}\n";  // 11
  const std::string_view json =
      "\n{\"spec\":\n"
      "{\"services\":\n"
      "{\"worker\":\n"
      "{\"replicas\": 2,\n"
      "\"envs\":\n"
      "[{\"name\":\"A\"},\n"
      "{\"name\":\"B\\\"\",\n"
      "\"value\":\"x\"}]}}},\n"
      "\"metadata\":{\n"
      "\"annotations\": {\"nvidia.com/x\": \"y\"}}}";
  const Path worker = Path{"spec.services"}.key("worker");
  const std::pair<Path, std::uint32_t> table[] = {
      {Path{"spec"}, 2},
      {worker, 4},
      {Path{"spec.services.worker.replicas"}, 5},
      {(worker / "envs")[0] / "name", 7},
      {(worker / "envs")[1], 8},
      {(worker / "envs")[1] / "value", 9},
      {Path{"metadata.annotations"}.key("nvidia.com/x"), 11},
      {worker / "resources.limits", 4},  // absent: the position of its parent
      {(worker / "envs")[7], 6},
      {Path{"status"}, 2},
      {{}, 2},
  };
  for (const std::string_view text : {yaml, json}) {
    const TextDocuments parsed = parseDocuments(text);
    REQUIRE(parsed.documents.size() == 1);
    for (const auto& [path, line] : table) {
      CAPTURE(text, path.text());
      CHECK(parsed.documents[0].positions.locate(path).line == line);
    }
  }
  const TextDocuments parsed = parseDocuments(yaml);
  CHECK(parsed.documents[0].positions.locate((worker / "envs")[0] / "name") == Position{7, 10});
}

TEST_CASE("positions of keys with the separators of printed paths, and of items") {
  const std::string_view yaml =
      "a].b: 1\n"            // 1
      "a: {b: 2}\n"          // 2
      "c.d: 3\n"             // 3
      "'0': 4\n"             // 4
      "'': 5\n"              // 5
      "l:\n"                 // 6
      "- {'1': x}\n"         // 7
      "- 'y'\n"              // 8
      "m:\n"                 // 9
      "  'k]':\n"            // 10
      "    '': {'0': z}\n";  // 11
  const std::string_view json =
      "{\"a].b\": 1,\n"
      "\"a\": {\"b\": 2},\n"
      "\"c.d\": 3,\n"
      "\"0\": 4,\n"
      "\"\": 5,\n"
      "\"l\":\n"
      "[{\"1\": \"x\"},\n"
      "\"y\"],\n"
      "\"m\": {\n"
      "\"k]\": {\n"
      "\"\": {\"0\": \"z\"}}}}";
  const Path root;
  const std::pair<Path, std::uint32_t> table[] = {
      {root.key("a].b"), 1},
      {Path{"a.b"}, 2},
      {root.key("c.d"), 3},
      {Path{"c.d"}, 1},  // absent
      {root.key("0"), 4},
      {root[0], 1},  // the document is no list
      {root.key(""), 5},
      {Path{"l"}[0], 7},
      {Path{"l"}[0].key("1"), 7},
      {Path{"l"}[1], 8},
      {Path{"l"}.key("1"), 6},  // a list has no keys
      {Path{"l"}[0][1], 7},     // a map has no items
      {Path{"m"}.key("k]").key("").key("0"), 11},
      {Path{"m"}.key("k]")[0], 10},
  };
  for (const std::string_view text : {yaml, json}) {
    const TextDocuments parsed = parseDocuments(text);
    REQUIRE(parsed.documents.size() == 1);
    for (const auto& [path, line] : table) {
      CAPTURE(text, path.text());
      CHECK(parsed.documents[0].positions.locate(path).line == line);
    }
  }
}

TEST_CASE("every document has its start position") {
  for (const std::string_view text : {"a: 1\n---\n\nb: 2\n", "{\"a\": 1}\n\n\n{\"b\": 2}"}) {
    const TextDocuments parsed = parseDocuments(text);
    REQUIRE(parsed.documents.size() == 2);
    CHECK(parsed.documents[0].start == Position{1, 1});
    CHECK(parsed.documents[1].start == Position{4, 1});
    CHECK(parsed.documents[1].positions.locate(Path{"b"}) == Position{4, text.front() == '{' ? 2U : 1U});
  }
}

TEST_CASE("written YAML reads back the same") {
  const std::string longKey(2000, 'k');
  for (const std::string& text :
       {std::string{R"({"a":"yes","b":["on","1",1.0,null,{}],"c":{"d: e":"#","":[]}})"},
        R"({")" + longKey + R"(":1,"b":[{")" + longKey + R"(":{"c":2},"d":3}],"e":{")" + longKey +
            R"(":["f"]}})"}) {
    json::Document document;
    REQUIRE_FALSE(json::parse(text, document));
    const std::string written = text::toYaml(document);
    CAPTURE(written);
    const TextDocuments again = parseDocuments(written);
    REQUIRE_FALSE(again.error);
    REQUIRE(again.documents.size() == 1);
    CHECK(json::equal(again.documents[0].value, document));
  }
}

TEST_CASE("written YAML has no character that readers reject or treat as a line break") {
  json::Document document;
  const std::string text =
      "\x7f\xc2\x85\xc2\x9f\xe2\x80\xa8\xef\xbb\xbf\xef\xbf\xbe|\xc2\xa0\xe2\x80\xa7\xc3\xa4";
  document.SetObject();
  json::set(document, "a", json::string(text, document.GetAllocator()), document.GetAllocator());
  CHECK(toYaml(document) ==
        "a: \"\\u007f\\u0085\\u009f\\u2028\\ufeff\\ufffe|\xc2\xa0\xe2\x80\xa7\xc3\xa4\"\n");
}

}  // namespace dynamo::text
