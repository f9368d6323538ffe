// The texts and the order of findings.

#include "common/field/finding.h"

#include "support.h"

namespace dynamo::field::test {
namespace {

TEST_CASE("errors have the API server's wording") {
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
    CHECK(FieldError{row.type, Path{"spec.a"}, "\"x\"", "why", "r"}.message() == row.message);
  }
  CHECK(FieldError{ErrorType::Required, Path{"spec.a"}, "", "", "r"}.message() == "spec.a: Required value");
  CHECK(FieldError{ErrorType::Duplicate, Path{"spec.a"}, "7", "", "r"}.body() == "Duplicate value: 7");
}

TEST_CASE("values as messages show them") {
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

TEST_CASE("oneLine cuts at character boundaries and removes control characters") {
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

TEST_CASE("a warning is one line and not shortened") {
  CHECK(Warning{Path{"spec.a"}, "text", "r"}.message() == "spec.a: text");
  CHECK(Warning{{}, "text", "r"}.message() == "text");
  CHECK(Warning{Path{"spec.a"}, "two\nlines", "r"}.message() == "spec.a: two lines");
  CHECK(Warning{Path{"spec.a"}, std::string(500, 'x'), "r"}.message() == "spec.a: " + std::string(500, 'x'));
}

TEST_CASE("long lines are cut after a word") {
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

TEST_CASE("errors are sorted by path without duplicates; warnings keep their order") {
  Findings findings;
  for (const char* field : {"spec.b", "spec.a", "spec.b"})
    findings.error({ErrorType::Invalid, path(field), "\"x\"", "d", "r"});
  for (const char* field : {"spec.d", "spec.c", "spec.d"}) findings.warn(path(field), "t", "r");
  findings.sort();
  CHECK(lines(findings) ==
        "E r spec.a: Invalid value: \"x\": d\nE r spec.b: Invalid value: \"x\": d\nW r spec.d: t\nW r "
        "spec.c: t\n");
}

TEST_CASE("findings are sorted by the printed path") {
  Findings findings;
  const auto add = [&](Path at) { findings.error({ErrorType::Invalid, std::move(at), "", "d", "r"}); };
  add(path("a[10]"));
  add(path("a[2]"));
  add(path("a.b"));
  add(path("a[k]"));
  add(std::move(path("a[k]").printKeys(Keys::Dotted)));
  findings.sort();
  std::string printed;
  for (const FieldError& each : findings.errors) printed += each.field.text() + " ";
  CHECK(printed == "a.b a.k a[10] a[2] a[k] ");
}

TEST_CASE("a structural error names the field by its printed path") {
  FieldError error{ErrorType::TypeInvalid, path("a[k].b"), "7", "must be of type string", "r", true};
  CHECK(error.message() == "a[k].b: Invalid value: 7: a[k].b in body must be of type string");
  error.field.printKeys(Keys::Dotted);
  CHECK(error.message() == "a.k.b: Invalid value: 7: a.k.b in body must be of type string");
  CHECK(error.why() == "a.k.b in body must be of type string");
}

}  // namespace
}  // namespace dynamo::field::test
