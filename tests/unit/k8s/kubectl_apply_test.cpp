// The requests of client-side `kubectl apply`.
#include "common/k8s/kubectl_apply.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/json/build.h"
#include "common/json/parse.h"

namespace dynamo::k8s::test {
namespace {

constexpr std::string_view kAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

json::Document parsed(std::string_view text) {
  json::Document document;
  INFO(text);
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

}  // namespace

TEST_CASE("apply sets what the manifest has and removes what the last one had") {
  struct Row {
    std::string name;
    std::string last;  ///< empty: no annotation
    std::string manifest;
    std::string live;
    std::string patch;  ///< without the annotation
  };
  const std::vector<Row> rows = {
      {"nothing changed", R"({"a":1})", R"({"a":1})", R"({"a":1,"b":2})", "{}"},
      {"another value", R"({"a":1})", R"({"a":2})", R"({"a":1})", R"({"a":2})"},
      {"a value that somebody else changed", R"({"a":1})", R"({"a":1})", R"({"a":3})", R"({"a":1})"},
      {"a field that is gone", R"({"a":1,"b":{"c":2,"d":3}})", R"({"a":1,"b":{"c":2}})",
       R"({"a":1,"b":{"c":2,"d":3,"e":4}})", R"({"b":{"d":null}})"},
      {"a field that is gone and was removed before", R"({"a":1,"b":2})", R"({"a":1})", R"({"a":1})", "{}"},
      {"an object that is gone", R"({"a":1,"b":{"c":2}})", R"({"a":1})", R"({"a":1,"b":{"c":2}})",
       R"({"b":null})"},
      {"lists are replaced", R"({"a":[1,2]})", R"({"a":[1]})", R"({"a":[1,2]})", R"({"a":[1]})"},
      {"another type", R"({"a":{"b":1}})", R"({"a":[1]})", R"({"a":{"b":1}})", R"({"a":[1]})"},
      {"null removes", R"({"a":1})", R"({"a":null,"b":null})", R"({"a":1})", R"({"a":null})"},
      {"without the annotation nothing is removed", "", R"({"a":1})", R"({"a":2,"b":3})", R"({"a":1})"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    json::Document live = parsed(row.live);
    const json::Maker make{live.GetAllocator()};
    if (!row.last.empty())
      make.set(live, "metadata",
               make.object("annotations", make.object(kAnnotation, std::string_view{row.last})));
    json::Document memory;
    const json::Document manifest = parsed(row.manifest);
    json::Value patch = applyPatch(manifest, live, memory.GetAllocator());
    const json::Value* annotations = json::find(json::find(&patch, "metadata"), "annotations");
    CHECK(json::findText(annotations, kAnnotation) == row.manifest + "\n");
    json::remove(patch, "metadata");
    CHECK(json::dump(patch) == row.patch);
  }
}

TEST_CASE("the stored manifest does not contain itself") {
  json::Document memory;
  const json::Document manifest = parsed(
      R"({"metadata":{"name":"n","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"old"}}})");
  const json::Value stored = withLastApplied(manifest, memory.GetAllocator());
  const json::Value* annotations = json::find(json::find(&stored, "metadata"), "annotations");
  CHECK(json::findText(annotations, kAnnotation) == "{\"metadata\":{\"name\":\"n\",\"annotations\":{}}}\n");
}

}  // namespace dynamo::k8s::test
