// When server-side apply would change a live object.
#include "common/k8s/drift.h"

#include <catch2/catch.hpp>

#include "common/json/parse.h"

namespace dynamo::k8s::test {
namespace {

json::Document parsed(std::string_view text) {
  json::Document document;
  INFO(text);
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

std::string textOf(const std::optional<Drift>& drift) {
  if (!drift) return "";
  return (drift->kind == DriftKind::Changed ? "changed " : "surplus ") + drift->path;
}

struct Row {
  std::string_view name;
  std::string_view applied;
  std::string_view live;
  std::string_view owned;
  std::string_view drift;  ///< empty: none
};

void check(const Row& row) {
  INFO(row.name);
  const json::Document applied = parsed(row.applied);
  const json::Document live = parsed(row.live);
  const json::Document owned = parsed(row.owned);
  CHECK(textOf(findDrift(applied, live, &owned)) == row.drift);
}

TEST_CASE("values that apply would change") {
  const Row rows[] = {
      {"the same object", R"({"spec":{"a":1}})", R"({"spec":{"a":1}})", R"({"f:spec":{"f:a":{}}})", ""},
      {"values of the API server", R"({"spec":{"a":1}})",
       R"({"metadata":{"uid":"u"},"spec":{"a":1,"b":2},"status":{"c":3}})", R"({"f:spec":{"f:a":{}}})", ""},
      {"another value", R"({"spec":{"a":1}})", R"({"spec":{"a":2}})", R"({"f:spec":{"f:a":{}}})",
       "changed spec.a"},
      {"a missing value", R"({"spec":{"a":1}})", R"({"spec":{}})", R"({"f:spec":{"f:a":{}}})",
       "changed spec.a"},
      {"a missing object", R"({"spec":{"a":{"b":1}}})", R"({})", R"({"f:spec":{}})", "changed spec"},
      {"another type", R"({"spec":{"a":{"b":1}}})", R"({"spec":{"a":[1]}})", R"({})", "changed spec.a"},
      {"empty values that the API server drops",
       R"({"spec":{"a":"","b":[],"c":{},"d":0,"e":false,"f":null,"g":{"h":""}}})", R"({"spec":{}})",
       R"({"f:spec":{}})", ""},
      {"false where true is", R"({"spec":{"a":false}})", R"({"spec":{"a":true}})", R"({})", "changed spec.a"},
      {"null where a value is", R"({"spec":{"a":null}})", R"({"spec":{"a":1}})", R"({})", ""},
      {"type and name", R"({"apiVersion":"v1","kind":"K","metadata":{"name":"n","namespace":"m"}})",
       R"({"metadata":{"name":"n","namespace":"m"}})", R"({})", ""},
      {"an atomic object with another member", R"({"spec":{"selector":{"a":"1"}}})",
       R"({"spec":{"selector":{"a":"1","role":"leader"}}})", R"({"f:spec":{"f:selector":{}}})",
       "changed spec.selector.role"},
      {"a part of an atomic object", R"({"spec":{"selector":{"matchLabels":{"a":"1"},"list":[{"k":"v"}]}}})",
       R"({"spec":{"selector":{"matchLabels":{"a":"1"},"list":[{"k":"v","w":"x"}]}}})",
       R"({"f:spec":{"f:selector":{}}})", "changed spec.selector.list[0].w"},
      {"an atomic object with empty and defaulted members",
       R"({"spec":{"fieldRef":{"fieldPath":"p"},"resourceFieldRef":{"resource":"r"}}})",
       R"({"spec":{"fieldRef":{"fieldPath":"p","apiVersion":"v1"},"resourceFieldRef":{"resource":"r","divisor":"0","containerName":""}}})",
       R"({"f:spec":{"f:fieldRef":{},"f:resourceFieldRef":{}}})", ""},
      {"a label", R"({"metadata":{"labels":{"a.b/c":"1"}}})", R"({"metadata":{"labels":{"a.b/c":"2"}}})",
       R"({"f:metadata":{"f:labels":{"f:a.b/c":{}}}})", "changed metadata.labels[a.b/c]"},
      {"labels of others", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"a":"1","b":"2"}}})", R"({"f:metadata":{"f:labels":{"f:a":{}}}})", ""},
      {"data of a ConfigMap", R"({"data":{"k":"v"}})", R"({"data":{"k":"w"}})", R"({"f:data":{"f:k":{}}})",
       "changed data.k"},
      {"a number in another form", R"({"spec":{"a":30}})", R"({"spec":{"a":30.0}})", R"({})", ""},
  };
  for (const Row& row : rows) check(row);
}

TEST_CASE("quantities are compared as quantities") {
  const Row rows[] = {
      {"limits", R"({"spec":{"limits":{"cpu":"1000m","memory":"1024Mi"}}})",
       R"({"spec":{"limits":{"cpu":"1","memory":"1Gi"}}})", R"({})", ""},
      {"a number", R"({"spec":{"requests":{"cpu":1}}})", R"({"spec":{"requests":{"cpu":"1"}}})", R"({})", ""},
      {"another amount", R"({"spec":{"limits":{"cpu":"2"}}})", R"({"spec":{"limits":{"cpu":"1"}}})", R"({})",
       "changed spec.limits.cpu"},
      {"a size limit", R"({"spec":{"emptyDir":{"sizeLimit":"1024Mi"}}})",
       R"({"spec":{"emptyDir":{"sizeLimit":"1Gi"}}})", R"({})", ""},
      {"an annotation is no quantity", R"({"metadata":{"annotations":{"a":"1000m"}}})",
       R"({"metadata":{"annotations":{"a":"1"}}})", R"({})", "changed metadata.annotations.a"},
  };
  for (const Row& row : rows) check(row);
}

TEST_CASE("lists") {
  constexpr std::string_view kEnv =
      R"({"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"B\"}":{".":{},"f:name":{}}}})";
  constexpr std::string_view kPorts =
      R"({"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{}}}})";
  const Row rows[] = {
      {"items of others in a list map", R"({"env":[{"name":"A","value":"1"},{"name":"B"}]})",
       R"({"env":[{"name":"X"},{"name":"A","value":"1"},{"name":"Y"},{"name":"B"},{"name":"Z"}]})", kEnv, ""},
      {"a changed item", R"({"env":[{"name":"A","value":"1"},{"name":"B"}]})",
       R"({"env":[{"name":"X"},{"name":"A","value":"2"},{"name":"B"}]})", kEnv, "changed env[0].value"},
      {"a missing item", R"({"env":[{"name":"A","value":"1"},{"name":"B"}]})",
       R"({"env":[{"name":"A","value":"1"}]})", kEnv, "changed env[1]"},
      {"another order", R"({"env":[{"name":"B"},{"name":"A","value":"1"}]})",
       R"({"env":[{"name":"A","value":"1"},{"name":"B"}]})", kEnv, "changed env[1]"},
      {"a key with a default", R"({"ports":[{"containerPort":80,"name":"h"}]})",
       R"({"ports":[{"containerPort":80,"name":"h","protocol":"TCP"}]})", kPorts, ""},
      {"a removed item", R"({"env":[{"name":"A","value":"1"}]})",
       R"({"env":[{"name":"A","value":"1"},{"name":"B"}]})", kEnv, R"(surplus env[{"name":"B"}])"},
      {"a removed member of an item", R"({"env":[{"name":"A"},{"name":"B"}]})",
       R"({"env":[{"name":"A","value":"1"},{"name":"B"}]})", kEnv, "surplus env[0].value"},
      {"an atomic list", R"({"args":["a","b"]})", R"({"args":["a","b"]})", R"({"f:args":{}})", ""},
      {"an atomic list with one more", R"({"args":["a","b"]})", R"({"args":["a","b","c"]})",
       R"({"f:args":{}})", "changed args"},
      {"an atomic list in another order", R"({"args":["a","b"]})", R"({"args":["b","a"]})",
       R"({"f:args":{}})", "changed args[0]"},
      {"objects in an atomic list", R"({"rules":[{"a":1}]})", R"({"rules":[{"a":1,"defaulted":2}]})",
       R"({"f:rules":{}})", ""},
      {"a set", R"({"finalizers":["a"]})", R"({"finalizers":["b","a"]})",
       R"({"f:finalizers":{"v:\"a\"":{}}})", ""},
      {"a value that a set lacks", R"({"finalizers":["a"]})", R"({"finalizers":["b"]})",
       R"({"f:finalizers":{"v:\"a\"":{}}})", "changed finalizers[0]"},
      {"a value removed from a set", R"({"finalizers":["a"]})", R"({"finalizers":["a","b"]})",
       R"({"f:finalizers":{"v:\"a\"":{},"v:\"b\"":{}}})", R"(surplus finalizers["b"])"},
      {"owners", R"({"metadata":{"ownerReferences":[{"uid":"u","name":"n"}]}})",
       R"({"metadata":{"ownerReferences":[{"uid":"o"},{"uid":"u","name":"n"}]}})",
       R"({"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}})", ""},
  };
  for (const Row& row : rows) check(row);
}

TEST_CASE("fields that are no longer applied") {
  const Row rows[] = {
      {"a label", R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
       R"({"f:metadata":{"f:labels":{"f:a":{},"f:b":{}}}})", "surplus metadata.labels.b"},
      {"a whole map", R"({"spec":{"a":1}})", R"({"metadata":{"labels":{"b":"2"}},"spec":{"a":1}})",
       R"({"f:metadata":{"f:labels":{"f:b":{}}},"f:spec":{"f:a":{}}})", "surplus metadata"},
      {"a value that is null now", R"({"spec":{"a":null}})", R"({"spec":{"a":1}})",
       R"({"f:spec":{"f:a":{}}})", "surplus spec.a"},
      {"keys that are not JSON", R"({"l":[1]})", R"({"l":[1]})", R"({"f:l":{"k:x":{},"v:y":{}}})",
       "changed l"},
  };
  for (const Row& row : rows) check(row);
}

TEST_CASE("an object that the manager never applied is a change") {
  const json::Document object = parsed(R"({"spec":{"a":1}})");
  CHECK(textOf(findDrift(object, object, nullptr)) == "changed ");
}

TEST_CASE("what managers own") {
  struct Owned {
    std::string_view entries;
    std::string_view fields;  ///< of the manager "m"; empty: none
    std::string_view scaledBy;
    std::string_view replicas = "2";
  };
  const Owned rows[] = {
      {R"([])", "", ""},
      {R"([{"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"f:replicas":{}}}}])",
       R"({"f:spec":{"f:replicas":{}}})", ""},
      {R"([{"manager":"m","operation":"Update","fieldsV1":{"f:spec":{}}}])", "", ""},
      {R"([{"manager":"m","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{}}}])", "", ""},
      {R"([{"manager":"hpa","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}},)"
       R"({"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"f:a":{}}}}])",
       R"({"f:spec":{"f:a":{}}})", "hpa"},
      {R"([{"manager":"kubectl","operation":"Update","fieldsV1":{"f:spec":{"f:replicas":{}}}},)"
       R"({"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"f:replicas":{}}}}])",
       R"({"f:spec":{"f:replicas":{}}})", ""},
      {R"([{"manager":"kubectl","operation":"Update","fieldsV1":{"f:spec":{"f:replicas":{}}}}])", "", ""},
      // The API server records nobody for a 0 that was set through the scale subresource.
      {R"([{"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"f:a":{}}}}])",
       R"({"f:spec":{"f:a":{}}})", "somebody", "0"},
      {R"([{"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"f:replicas":{}}}}])",
       R"({"f:spec":{"f:replicas":{}}})", "", "0"},
      {R"([{"manager":"kubectl-edit","operation":"Update","fieldsV1":{"f:spec":{"f:replicas":{}}}}])", "", "",
       "0"},
      {R"([{"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"f:a":{}}}}])",
       R"({"f:spec":{"f:a":{}}})", "", "2"},
      {R"([])", "", "", "0"},
  };
  for (const Owned& row : rows) {
    INFO(row.entries);
    json::Document object = parsed(R"({"metadata":{"managedFields":)" + std::string{row.entries} +
                                   R"(},"spec":{"replicas":)" + std::string{row.replicas} + "}}");
    const json::Value* owned = ownedFields(object, "m");
    CHECK((owned == nullptr ? "" : json::dump(*owned)) == row.fields);
    CHECK(replicasOwner(object, "m") == row.scaledBy);
  }
}

}  // namespace
}  // namespace dynamo::k8s::test
