// Ratcheting: an UPDATE only warns about errors that the old object has too.

#include "common/field/ratchet.h"

#include "support.h"

namespace dynamo::field::test {
namespace {

FieldError error(const char* field, const char* detail = "d", const char* rule = "r") {
  return {ErrorType::Invalid, path(field), "\"x\"", detail, rule};
}

/// An error whose message shows `value`, or no value.
FieldError shows(const char* field, const char* value, const char* detail = "d") {
  return {ErrorType::Invalid, path(field), value, detail, "r"};
}

TEST_CASE("ratchet: an error at the same path with the same value in both objects warns") {
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
      {"a value that was no object", error("spec.f"), error("spec.f"), false},
      {"an object that was absent, with the same error", shows("spec.h", ""), shows("spec.h", ""), true},
      {"an object that was absent", shows("spec.h", "", "d"), shows("spec.h", "", "e"), false},
      {"another value", error("spec.b"), error("spec.b"), false},
      {"another path", error("spec.a"), error("spec.c"), false},
      {"another rule", error("spec.a", "d", "r"), error("spec.a", "d", "s"), false},
      {"another detail for the same value", error("spec.a", "d"), error("spec.a", "e"), true},
      {"another bad value", error("spec.a"), shows("spec.a", "\"y\""), false},
      {"an object whose bad value is shown", shows("spec.d", "7", "d"), shows("spec.d", "7", "e"), true},
      {"another bad value of an object", shows("spec.d", "7"), shows("spec.d", "8"), false},
      {"another detail for an equal object", shows("spec.g", "", "d"), shows("spec.g", "", "e"), true},
      {"another detail at an absent field", shows("spec.z", "", "d"), shows("spec.z", "", "e"), false},
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

TEST_CASE("ratchet: list items are matched by name, items without a name by content") {
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
      {"a new item at the index of the old one", R"([{"name":"n","v":1},{"name":"b","v":1}])",
       R"([{"name":"b","v":1}])", "[0].v", "[0].v", false},
      {"renamed at the same index", R"([{"name":"n","v":1}])", R"([{"name":"b","v":1}])", "[0].v", "[0].v",
       true},
      {"the second of a name", R"([{"name":"g"},{"name":"b"},{"name":"b","v":1}])",
       R"([{"name":"b"},{"name":"b","v":1}])", "[2].v", "[1].v", true},
      {"the first of a name removed", R"([{"name":"b","v":1}])", R"([{"name":"b"},{"name":"b","v":1}])",
       "[0].v", "[1].v", true},
      {"an item of the same name inserted before", R"([{"name":"b","k":3},{"name":"b"},{"name":"b","v":1}])",
       R"([{"name":"b"},{"name":"b","v":1}])", "[2].v", "[1].v", true},
      {"swapped", R"([{"name":"c","v":1},{"name":"b","v":1}])", R"([{"name":"b","v":1},{"name":"c","v":1}])",
       "[1].v", "[0].v", true},
      {"nameless", R"([{"k":2},{"v":1}])", R"([{"v":1}])", "[1].v", "[0].v", true},
      {"without a name, another member changed", R"([{"v":1,"k":2}])", R"([{"v":1}])", "[0].v", "[0].v",
       true},
      {"texts", R"(["g","b"])", R"(["b"])", "[1]", "[0]", true},
      {"another text", R"(["c"])", R"(["b"])", "[0]", "[0]", false},
      {"a list in a list", R"([{"name":"g"},{"name":"b","l":[{"name":"g"},{"name":"c","v":1}]}])",
       R"([{"name":"b","l":[{"name":"c","v":1}]}])", "[1].l[1].v", "[0].l[0].v", true},
      {"no list in the old object", R"([{"name":"b","v":1}])", "{}", "[0].v", "[0].v", false},
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

TEST_CASE("ratchet: keys of maps may contain path separators") {
  struct Row {
    const char* name;
    std::string_view key;
    bool warns;
  };
  // The keys `a].b` and `a` differ. Only the value of `a` has changed.
  const json::Document now = object(R"({"m":{"a":{"b":2},"a].b":1,"c.d":1,"":1,"0":1,"[":1,"e]":{"b":1}}})");
  const json::Document old = object(R"({"m":{"a":{"b":1},"a].b":1,"c.d":1,"":1,"0":1,"[":1,"e]":{"b":2}}})");
  const Row rows[] = {
      {"a bracket and a dot", "a].b", true},
      {"a dot", "c.d", true},
      {"empty", "", true},
      {"digits", "0", true},
      {"an open bracket", "[", true},
      {"absent in both", "x", true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Findings findings;
    findings.error({ErrorType::Invalid, Path{"m"}.key(row.key), "\"x\"", "d", "r"});
    CHECK(ratchet(findings, findings, now, old).errors.empty() == row.warns);
  }
  for (const std::string_view key : {"a", "e]"}) {
    INFO(key);
    Findings findings;
    findings.error({ErrorType::Invalid, Path{"m"}.key(key) / "b", "\"x\"", "d", "r"});
    CHECK(ratchet(findings, findings, now, old).errors.size() == 1);
  }
}

}  // namespace
}  // namespace dynamo::field::test
