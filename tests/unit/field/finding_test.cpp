// Texts of findings, and the paths by which old and new values are compared.

#include "common/field/finding.h"

#include "support.h"

namespace dynamo::field::test {
namespace {

TEST_CASE("errors in the words of the API server") {
  struct Row {
    ErrorType type;
    const char* reason;
    const char* message;
  };
  const Row rows[] = {
      {ErrorType::Required, "FieldValueRequired", "spec.a: Required value: why"},
      {ErrorType::Invalid, "FieldValueInvalid", "spec.a: Invalid value: \"x\": why"},
      {ErrorType::TypeInvalid, "FieldValueTypeInvalid", "spec.a: Invalid value: \"x\": why"},
      {ErrorType::NotSupported, "FieldValueNotSupported", "spec.a: Unsupported value: \"x\": why"},
      {ErrorType::Forbidden, "FieldValueForbidden", "spec.a: Forbidden: why"},
      {ErrorType::Duplicate, "FieldValueDuplicate", "spec.a: Duplicate value: \"x\": why"},
      {ErrorType::NotFound, "FieldValueNotFound", "spec.a: Not found: \"x\": why"},
      {ErrorType::TooLong, "FieldValueTooLong", "spec.a: Too long: why"},
      {ErrorType::TooMany, "FieldValueTooMany", "spec.a: Too many: \"x\": why"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(causeReason(row.type) == row.reason);
    CHECK(FieldError{row.type, "spec.a", "\"x\"", "why", "r"}.message() == row.message);
  }
  CHECK(FieldError{ErrorType::Required, "spec.a", "", "", "r"}.message() == "spec.a: Required value");
  CHECK(FieldError{ErrorType::Duplicate, "spec.a", "7", "", "r"}.body() == "Duplicate value: 7");
}

TEST_CASE("values as texts show them") {
  struct Row {
    const char* json;
    std::string shown;
  };
  const Row rows[] = {
      {"null", "null"},
      {"true", "true"},
      {"7", "7"},
      {"1.5", "1.5"},
      {"\"\"", "\"\""},
      {"\"x\"", "\"x\""},
      {R"("a\"b\\c")", R"("a\"b\\c")"},
      {R"("a\nb\u0000c\u007f")", R"("a b c ")"},
      {R"({"a":[1,null]})", R"({"a":[1,null]})"},
      {"\"\xC3\xA9\"", "\"\xC3\xA9\""},
  };
  for (const Row& row : rows) {
    INFO(row.json);
    CHECK(showValue(object(row.json)) == row.shown);
  }
  CHECK(showValue(std::string(64, 'x')) == '"' + std::string(64, 'x') + '"');
  CHECK(showValue(std::string(65, 'x')) == '"' + std::string(61, 'x') + "...\"");
  CHECK(showValue(object("[\"" + std::string(100, 'x') + "\"]")) == "[\"" + std::string(59, 'x') + "...");
}

TEST_CASE("oneLine cuts at characters and keeps no control character") {
  struct Row {
    std::string text;
    std::size_t limit;
    std::string line;
  };
  const std::string e = "\xC3\xA9";
  const std::string smile = "\xF0\x9F\x98\x80";
  const Row rows[] = {
      {"", 10, ""},
      {"abc", 3, "abc"},
      {"abcd", 3, "..."},
      {"abcde", 4, "a..."},
      {"abc", 0, "..."},
      {"a\nb\tc\x01"
       "d\x7F",
       10, "a b c d "},
      {std::string{"a\0b", 3}, 10, "a b"},
      {e + e + e, 6, e + e + e},
      {e + e + e, 5, e + "..."},
      {"a" + e + e, 5, "a" + e + e},
      {"aa" + smile + "bbb", 8, "aa..."},
      {smile + smile, 7, smile + "..."},
      {smile + smile, 6, "..."},
      {"\xC2\x85"
       "a\xC2\x9F",
       10, " a "},  // U+0085, U+009F: Go's unicode.IsControl
      {"\xC2\xA0\xE2\x80\xA8", 10, "\xC2\xA0\xE2\x80\xA8"},
  };
  for (const Row& row : rows) {
    INFO(row.text << " " << row.limit);
    const std::string line = oneLine(row.text, row.limit);
    CHECK(line == row.line);
    CHECK(line.size() <= std::max<std::size_t>(row.limit, 3));
  }
}

TEST_CASE("warnings are one line, whole") {
  CHECK(Warning{"spec.a", "text", "r"}.message() == "spec.a: text");
  CHECK(Warning{"", "text", "r"}.message() == "text");
  CHECK(Warning{"spec.a", "two\nlines", "r"}.message() == "spec.a: two lines");
  CHECK(Warning{"spec.a", std::string(500, 'x'), "r"}.message() == "spec.a: " + std::string(500, 'x'));
}

TEST_CASE("long lines are cut behind a word") {
  struct Row {
    std::string line;
    std::size_t limit;
    std::string cut;
  };
  const std::string e = "\xC3\xA9";
  const Row rows[] = {
      {"", 5, ""},
      {"spec.a: text", 12, "spec.a: text"},
      {"spec.a: text", 11, "spec.a:..."},
      {"one two three", 12, "one two..."},
      {"one two three", 10, "one two..."},
      {"one two three", 9, "one..."},
      {"one   two three", 9, "one..."},
      {"one", 2, "..."},
      {"onetwothree", 8, "onetw..."},
      {" onetwothree", 8, " onet..."},
      {e + e + e + e, 7, e + e + "..."},
      {e + ' ' + e + e + e, 8, e + "..."},
  };
  for (const Row& row : rows) {
    INFO(row.line << " " << row.limit);
    CHECK(cutAtWord(row.line, row.limit) == row.cut);
  }
}

TEST_CASE("values by path") {
  const json::Document tree =
      object(R"({"spec":{"a":[{"b":1},{"b":null}],"m":{"k.e/y":2,"":3,"k":4,"a.b":{"c":6},"a]b":{"c":7},)"
             R"("a]":{"c":8},"x].c":9,"x":{"c":10}}},"n":null,"":{"x":5}})");
  struct Row {
    const char* path;
    const char* json;  ///< nullptr: nothing there
  };
  const Row rows[] = {
      {"spec.a[0].b", "1"},
      {"spec.a[1].b", "null"},
      {"spec.a[1]", R"({"b":null})"},
      {"spec.a[2]", nullptr},
      {"spec.a[-1]", nullptr},
      {"spec.a[+0]", nullptr},
      {"spec.a[00]", R"({"b":1})"},
      {"spec.a[0x0]", nullptr},
      {"spec.a[]", nullptr},
      {"spec.a[0", nullptr},
      {"spec.a[18446744073709551616]", nullptr},
      {"spec.a[4294967296]", nullptr},
      {"spec.a.0", R"({"b":1})"},
      {"spec.m[k.e/y]", "2"},
      {"spec.m[k]", "4"},
      {"spec.m.k", "4"},
      {"spec.m.k.deeper", nullptr},
      {"spec.m[]", "3"},
      {"spec.m[a.b].c", "6"},
      {"spec.m[a.b]", R"({"c":6})"},
      {"spec.m[a]b].c", "7"},
      {"spec.m[a]].c", "8"},
      {"spec.m[x].c", "10"},
      {"spec.m[x].c]", "9"},
      {"spec.m[a.b", nullptr},
      {"spec.m[a.b]c", nullptr},
      {"spec.m[a]", nullptr},
      {"n[0]", nullptr},
      {"n", "null"},
      {"n.x", nullptr},
      {"absent", nullptr},
  };
  for (const Row& row : rows) {
    INFO(row.path);
    const json::Value* value = valueAt(tree, row.path);
    CHECK((value == nullptr ? "(none)" : json::dump(*value)) ==
          (row.json == nullptr ? std::string{"(none)"} : std::string{row.json}));
  }
  CHECK(valueAt(tree, "") == &tree);
}

FieldError error(const char* field, const char* detail = "d", const char* rule = "r") {
  return {ErrorType::Invalid, field, "\"x\"", detail, rule};
}

/// An error that shows another value, or none.
FieldError shows(const char* field, const char* value, const char* detail = "d") {
  return {ErrorType::Invalid, field, value, detail, "r"};
}

TEST_CASE("ratchet: what both objects have, with the same value at the same place, warns") {
  const json::Document now =
      object(R"({"spec":{"a":1,"b":2,"c":[1,2],"d":{"x":1},"e":[1],"f":{},"g":{"x":1},"h":{}}})");
  const json::Document old =
      object(R"({"spec":{"b":3,"a":1.0,"c":[1,2],"d":{"x":2},"e":[2],"f":7,"g":{"x":1}}})");
  struct Row {
    const char* name;
    FieldError now, before;
    bool warns;
  };
  const Row rows[] = {
      {"untouched", error("spec.a"), error("spec.a"), true},
      {"untouched list", error("spec.c"), error("spec.c"), true},
      {"absent in both", error("spec.z"), error("spec.z"), true},
      {"an object with the same error", shows("spec.d", ""), shows("spec.d", ""), true},
      {"an object with another error", shows("spec.d", "", "d"), shows("spec.d", "", "e"), false},
      {"another list", error("spec.e"), error("spec.e"), false},
      {"an object that was none", error("spec.f"), error("spec.f"), false},
      {"an object that was absent, with the same error", shows("spec.h", ""), shows("spec.h", ""), true},
      {"an object that was absent", shows("spec.h", "", "d"), shows("spec.h", "", "e"), false},
      {"another value", error("spec.b"), error("spec.b"), false},
      {"another path", error("spec.a"), error("spec.c"), false},
      {"another rule", error("spec.a", "d", "r"), error("spec.a", "d", "s"), false},
      {"other words for the same value", error("spec.a", "d"), error("spec.a", "e"), true},
      {"another bad value", error("spec.a"), shows("spec.a", "\"y\""), false},
      {"an object whose bad value is shown", shows("spec.d", "7", "d"), shows("spec.d", "7", "e"), true},
      {"another bad value of an object", shows("spec.d", "7"), shows("spec.d", "8"), false},
      {"other words of an equal object", shows("spec.g", "", "d"), shows("spec.g", "", "e"), true},
      {"other words at no field", shows("spec.z", "", "d"), shows("spec.z", "", "e"), false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Findings findings;
    findings.error(row.now);
    Findings before;
    before.error(row.before);
    const std::string text = lines(ratchet(findings, before, now, old));
    CHECK(text == (row.warns ? "W r " : "E r ") + row.now.message() + "\n");
  }
  CHECK(lines(ratchet({}, {}, now, old)).empty());
}

TEST_CASE("ratchet: items of lists are known by their names, nameless ones by what they hold") {
  struct Row {
    const char* name;
    const char* now;
    const char* old;
    const char* field;
    const char* was;
    bool warns;
  };
  const Row rows[] = {
      {"prepended", R"([{"name":"g"},{"name":"b","v":1}])", R"([{"name":"b","v":1}])", "[1].v", "[0].v",
       true},
      {"removed", R"([{"name":"b","v":1}])", R"([{"name":"g"},{"name":"b","v":1}])", "[0].v", "[1].v", true},
      {"moved and changed", R"([{"name":"g"},{"name":"b","v":2}])", R"([{"name":"b","v":1}])", "[1].v",
       "[0].v", false},
      {"a new one where the old one stood", R"([{"name":"n","v":1},{"name":"b","v":1}])",
       R"([{"name":"b","v":1}])", "[0].v", "[0].v", false},
      {"renamed where it stands", R"([{"name":"n","v":1}])", R"([{"name":"b","v":1}])", "[0].v", "[0].v",
       true},
      {"the second of a name", R"([{"name":"g"},{"name":"b"},{"name":"b","v":1}])",
       R"([{"name":"b"},{"name":"b","v":1}])", "[2].v", "[1].v", true},
      {"the first of a name removed", R"([{"name":"b","v":1}])", R"([{"name":"b"},{"name":"b","v":1}])",
       "[0].v", "[1].v", true},
      {"one of the name put before", R"([{"name":"b","k":3},{"name":"b"},{"name":"b","v":1}])",
       R"([{"name":"b"},{"name":"b","v":1}])", "[2].v", "[1].v", true},
      {"swapped", R"([{"name":"c","v":1},{"name":"b","v":1}])", R"([{"name":"b","v":1},{"name":"c","v":1}])",
       "[1].v", "[0].v", true},
      {"nameless", R"([{"k":2},{"v":1}])", R"([{"v":1}])", "[1].v", "[0].v", true},
      {"nameless, changed beside", R"([{"v":1,"k":2}])", R"([{"v":1}])", "[0].v", "[0].v", true},
      {"texts", R"(["g","b"])", R"(["b"])", "[1]", "[0]", true},
      {"another text", R"(["c"])", R"(["b"])", "[0]", "[0]", false},
      {"a list in a list", R"([{"name":"g"},{"name":"b","l":[{"name":"g"},{"name":"c","v":1}]}])",
       R"([{"name":"b","l":[{"name":"c","v":1}]}])", "[1].l[1].v", "[0].l[0].v", true},
      {"no list before", R"([{"name":"b","v":1}])", "{}", "[0].v", "[0].v", false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Findings now;
    now.error(error(fmt::format("l{}", row.field).c_str()));
    Findings before;
    before.error(error(fmt::format("l{}", row.was).c_str()));
    const auto result = ratchet(now, before, object(fmt::format(R"({{"l":{}}})", row.now)),
                                object(fmt::format(R"({{"l":{}}})", row.old)));
    CHECK(result.errors.empty() == row.warns);
  }
}

TEST_CASE("findings are sorted by path and told once; warnings keep their order") {
  Findings findings;
  for (const char* field : {"spec.b", "spec.a", "spec.b"}) findings.error(error(field));
  for (const char* field : {"spec.d", "spec.c", "spec.d"}) findings.warn(field, "t", "r");
  findings.sort();
  CHECK(lines(findings) ==
        "E r spec.a: Invalid value: \"x\": d\nE r spec.b: Invalid value: \"x\": d\nW r spec.d: t\nW r "
        "spec.c: t\n");
}

}  // namespace
}  // namespace dynamo::field::test
