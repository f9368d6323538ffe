// Fields by their paths: who owns them, and objects without them.
#include "common/k8s/field_owner.h"

#include <catch2/catch.hpp>
#include <string>

#include "common/json/parse.h"

namespace dynamo::k8s::test {
namespace {

json::Document parsed(const std::string& text) {
  json::Document document;
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

TEST_CASE("the manager that owns a field") {
  const json::Document object =
      parsed(R"({"metadata":{"labels":{"a.b/c":"x"},"managedFields":[)"
             R"({"manager":"us","time":"9","fieldsV1":{"f:spec":{"f:replicas":{},"f:paused":{}}}},)"
             R"({"manager":"hpa","time":"2","fieldsV1":{"f:spec":{"f:replicas":{}}}},)"
             R"({"manager":"kubectl","time":"3","fieldsV1":{"f:spec":{"f:replicas":{},"f:selector":{}}}},)"
             R"({"manager":"mesh","time":"1","fieldsV1":{"f:metadata":{"f:labels":{"f:a.b/c":{}}},)"
             R"("f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{"f:image":{}}}}}}]},)"
             R"("spec":{"replicas":2,"paused":true,"selector":{"app":"a"},)"
             R"("containers":[{"name":"side","image":"s"},{"name":"main","image":"m"}]}})");
  struct Row {
    const char* path;
    const char* owner;
  };
  const Row rows[] = {
      {"spec.replicas", "kubectl"},  // the last one that wrote it
      {"spec.paused", ""},           // only the excepted manager
      {"spec.selector.app", "kubectl"},
      {"metadata.labels[a.b/c]", "mesh"},
      {"spec.containers[1].image", "mesh"},
      {"spec.containers[0].image", ""},
      {"spec.containers[7].image", ""},
      {"spec.nothing", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);
    CHECK(fieldOwner(object, row.path, "us") == row.owner);
  }
  CHECK(fieldOwner(parsed("{}"), "spec.replicas", "us").empty());
}

TEST_CASE("an object without a field") {
  struct Row {
    const char* path;
    const char* left;  ///< empty: there is no such field
  };
  const Row rows[] = {
      {"a.b", R"({"a":{"l":[{"n":1},{"n":2}],"x.y":3}})"},
      {"a.l[1].n", R"({"a":{"b":0,"l":[{"n":1},{}],"x.y":3}})"},
      {"a.l[0]", R"({"a":{"b":0,"l":[{"n":2}],"x.y":3}})"},
      {"a[x.y]", R"({"a":{"b":0,"l":[{"n":1},{"n":2}]}})"},
      {"a.c", ""},
      {"a.l[2]", ""},
      {"a.b.c", ""},
      {"", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);
    json::Document object = parsed(R"({"a":{"b":0,"l":[{"n":1},{"n":2}],"x.y":3}})");
    const std::string before = json::dump(object);
    const bool removed = removeField(object, row.path);
    CHECK(removed == (*row.left != '\0'));
    CHECK(json::dump(object) == (removed ? row.left : before));
  }
}

}  // namespace
}  // namespace dynamo::k8s::test
