// What remains of two objects when only the fields of a drift are shown.
#include "common/k8s/drift_sides.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/json/parse.h"
#include "common/k8s/drift.h"

namespace dynamo::k8s::test {
namespace {

json::Document parsed(std::string_view text) {
  json::Document document;
  INFO(text);
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

struct Row {
  std::string name;
  std::string applied;
  std::string live;
  std::string owned;  ///< empty: not known
  std::string liveSide;
  std::string appliedSide;
};

}  // namespace

TEST_CASE("a drift is shown without the fields of others, and equal values are equal") {
  const std::string ports =
      R"({"f:a":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:name":{}},)"
      R"("k:{\"port\":3,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}})";
  const std::vector<Row> rows = {
      {"fields of the API server", R"({"spec":{"a":1}})",
       R"({"metadata":{"uid":"u","managedFields":[]},"spec":{"a":1,"b":2},"status":{"c":3}})",
       R"({"f:spec":{"f:a":{}}})", R"({"spec":{"a":1}})", R"({"spec":{"a":1}})"},
      {"another value", R"({"spec":{"a":1}})", R"({"spec":{"a":2,"b":3}})", R"({"f:spec":{"f:a":{}}})",
       R"({"spec":{"a":2}})", R"({"spec":{"a":1}})"},
      {"a missing value", R"({"a":1,"b":2})", R"({"a":1})", R"({"f:a":{}})", R"({"a":1})",
       R"({"a":1,"b":2})"},
      {"empty values that the API server drops", R"({"a":"","b":[],"c":{"d":0},"e":null,"f":1})",
       R"({"e":1,"f":1})", R"({"f:f":{}})", R"({"f":1})", R"({"f":1})"},
      {"a quantity in another form", R"({"limits":{"cpu":"1000m"},"a":"1000m"})",
       R"({"limits":{"cpu":"1"},"a":"1"})", R"({"f:limits":{"f:cpu":{}},"f:a":{}})",
       R"({"limits":{"cpu":"1000m"},"a":"1"})", R"({"limits":{"cpu":"1000m"},"a":"1000m"})"},
      {"owned fields that are no longer applied", R"({"a":{"b":1}})",
       R"({"a":{"b":1,"c":2,"d":3},"e":{"f":4,"g":5},"h":[6]})",
       R"({"f:a":{"f:b":{},"f:c":{}},"f:e":{"f:f":{}},"f:h":{}})",
       R"({"a":{"b":1,"c":2},"e":{"f":4},"h":[6]})", R"({"a":{"b":1}})"},
      {"identity", R"({"apiVersion":"v1","kind":"K","metadata":{"name":"n","namespace":"m"},"a":1})",
       R"({"metadata":{"name":"o"},"a":1})", "{}", R"({"a":1})", R"({"a":1})"},
      {"items by their keys; a default of the API server is a key",
       R"({"a":[{"port":1,"name":"x"},{"port":2}]})",
       R"({"a":[{"port":9,"protocol":"TCP"},{"port":1,"protocol":"TCP","name":"y"},{"port":3,"protocol":"TCP"}]})",
       ports, R"({"a":[{"port":1,"name":"y"},{"port":3,"protocol":"TCP"}]})",
       R"({"a":[{"port":1,"name":"x"},{"port":2}]})"},
      {"another order of items", R"({"a":[{"port":3},{"port":1,"name":"x"}]})",
       R"({"a":[{"port":1,"protocol":"TCP","name":"x"},{"port":3,"protocol":"TCP"}]})", ports,
       R"({"a":[{"port":1,"name":"x"},{"port":3}]})", R"({"a":[{"port":3},{"port":1,"name":"x"}]})"},
      {"a set, whose order does not count", R"({"a":["x","y"]})", R"({"a":["o","y","z","x"]})",
       R"({"f:a":{"v:\"x\"":{},"v:\"y\"":{},"v:\"z\"":{}}})", R"({"a":["x","y","z"]})", R"({"a":["x","y"]})"},
      {"an atomic list: items by their position, without defaults", R"({"a":[{"b":1},{"b":2},{"b":3}]})",
       R"({"a":[{"b":1,"c":0},{"b":4,"c":0}]})", R"({"f:a":{}})", R"({"a":[{"b":1},{"b":4}]})",
       R"({"a":[{"b":1},{"b":2},{"b":3}]})"},
      {"an atomic list that becomes shorter", R"({"a":["x"]})", R"({"a":["x","y"]})", R"({"f:a":{}})",
       R"({"a":["x","y"]})", R"({"a":["x"]})"},
      {"another type", R"({"a":{"b":1}})", R"({"a":[1]})", R"({"f:a":{}})", R"({"a":[1]})",
       R"({"a":{"b":1}})"},
      {"ownership is not known: items by name", R"({"a":[{"name":"x","b":1},{"name":"y"}]})",
       R"({"a":[{"name":"y","c":0},{"name":"x","b":2},{"name":"of others"}],"d":5})", "",
       R"({"a":[{"name":"y"},{"name":"x","b":2}]})", R"({"a":[{"name":"x","b":1},{"name":"y"}]})"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const json::Document applied = parsed(row.applied);
    const json::Document live = parsed(row.live);
    const json::Document owned = parsed(row.owned.empty() ? "null" : row.owned);
    json::Document memory;
    const DriftSides sides =
        driftSides(applied, live, owned.IsNull() ? nullptr : &owned, memory.GetAllocator());
    CHECK(json::dump(sides.live) == row.liveSide);
    CHECK(json::dump(sides.applied) == row.appliedSide);
    // The sides differ exactly if the objects do.
    if (!owned.IsNull())
      CHECK(json::equal(sides.live, sides.applied) == !findDrift(applied, live, &owned).has_value());
  }
}

}  // namespace dynamo::k8s::test
