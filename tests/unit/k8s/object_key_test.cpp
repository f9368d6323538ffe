#include <catch2/catch.hpp>

#include "common/json/parse.h"
#include "common/k8s/object_key.h"

namespace dynamo::k8s::test {
namespace {

TEST_CASE("keys of objects and their texts") {
  struct Row {
    const char* object;
    ObjectKey key;
    const char* text;
  };
  const Row rows[] = {
      {R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"ns"}})",
       {"apps", "v1", "Deployment", "ns", "a"},
       "Deployment.apps ns/a"},
      {R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"ns"}})",
       {"", "v1", "Service", "ns", "a"},
       "Service ns/a"},
      {R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r"}})",
       {"rbac.authorization.k8s.io", "v1", "ClusterRole", "", "r"},
       "ClusterRole.rbac.authorization.k8s.io r"},
      {R"({"kind":"Service","metadata":null})", {"", "", "Service", "", ""}, "Service "}};
  for (const Row& row : rows) {
    INFO(row.object);
    json::Document object;
    REQUIRE_FALSE(json::parse(row.object, object));
    CHECK((keyOf(object) == row.key));
    CHECK(toText(keyOf(object)) == row.text);
  }
}

TEST_CASE("keys are ordered by group, version, kind, namespace and name") {
  const ObjectKey least{"a", "v1", "K", "n", "x"};
  for (const ObjectKey& more : {ObjectKey{"b", "v1", "K", "n", "x"}, ObjectKey{"a", "v2", "K", "n", "x"},
                                ObjectKey{"a", "v1", "L", "n", "x"}, ObjectKey{"a", "v1", "K", "o", "x"},
                                ObjectKey{"a", "v1", "K", "n", "y"}}) {
    CHECK((least < more));
  }
}

}  // namespace
}  // namespace dynamo::k8s::test
