// Every field of a DynamoGraphDeploymentRequest with every wrong JSON type is denied with the field path. The
// fields come from the schema, so new fields are covered automatically.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/schema/registry.h"
#include "common/schema/validator.h"
#include "support.h"

namespace dynamo::webhook::test {
namespace {

using json::Allocator;
using json::Value;
using schema::Node;
using schema::Type;

struct Step {
  std::string_view name;
  enum class Kind { Field, Key, Item } kind;
};

/// A field of the schema and the steps to it.
struct SchemaField {
  std::vector<Step> way;
  const Node* node;

  /// The field path as the API server prints it.
  std::string path() const {
    std::string text;
    for (const Step& step : way) {
      if (step.kind == Step::Kind::Item) {
        text += "[0]";
      } else {
        text += (text.empty() ? "" : ".") + std::string{step.name};
      }
    }
    return text;
  }
};

void collect(const Node& node, std::vector<Step>& way, std::vector<SchemaField>& places) {
  if (!way.empty()) places.push_back({way, &node});
  const auto below = [&](Step step, const Node& child) {
    way.push_back(step);
    collect(child, way, places);
    way.pop_back();
  };
  for (const schema::Property& property : node.properties) {
    const bool identity = property.name == "apiVersion" || property.name == "kind";
    if (way.empty() && identity) continue;  // tested in bad_review_test.cpp
    below({property.name, Step::Kind::Field}, *property.node);
  }
  if (node.items != nullptr) below({{}, Step::Kind::Item}, *node.items);
  if (node.additional != nullptr) below({"key", Step::Kind::Key}, *node.additional);
}

const Node& rootOf(std::string_view version) {
  const Node* root = schema::find(version, "DynamoGraphDeploymentRequest");
  REQUIRE(root != nullptr);
  return *root;
}

std::vector<SchemaField> places(std::string_view version = "nvidia.com/v1beta1") {
  const Node* root = &rootOf(version);
  std::vector<Step> way;
  std::vector<SchemaField> all;
  collect(*root, way, all);
  return all;
}

/// Sets `value` at the end of the steps and creates missing parents.
void put(Value& object, const std::vector<Step>& way, Value value, Allocator& allocator) {
  Value* at = &object;
  for (const Step& step : way) {
    if (step.kind == Step::Kind::Item) {
      if (!at->IsArray()) at->SetArray();
      if (at->Empty()) at->PushBack(Value{}, allocator);
      at = &(*at)[0];
      continue;
    }
    if (!at->IsObject()) at->SetObject();
    if (json::findRaw(*at, step.name) == nullptr) json::set(*at, step.name, Value{}, allocator);
    at = json::findRaw(*at, step.name);
  }
  *at = std::move(value);
}

struct Sample {
  const char* json;
  const char* type;  ///< the API server's name of the type
  std::vector<Type> fits;
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> kSamples = {
      {"\"text\"", "string", {Type::String, Type::IntOrString}},
      {"7", "integer", {Type::Integer, Type::Number, Type::IntOrString}},
      {"-9223372036854775808", "integer", {Type::Integer, Type::Number, Type::IntOrString}},
      {"1.5", "number", {Type::Number}},
      {"1e300", "number", {Type::Number}},
      {"true", "boolean", {Type::Boolean}},
      {"{}", "object", {Type::Object}},
      {"[]", "array", {Type::Array}},
  };
  return kSamples;
}

const char* nameOf(Type type) {
  switch (type) {
    case Type::Object:
      return "object";
    case Type::Array:
      return "array";
    case Type::String:
      return "string";
    case Type::Integer:
      return "integer";
    case Type::Number:
      return "number";
    case Type::Boolean:
      return "boolean";
    case Type::IntOrString:
      return "integer,string";
    case Type::Any:
      return "any";
  }
  return "";
}

/// The causes of type errors in the answer, one per line.
std::string typeCauses(const Reply& reply) {
  const json::Document answer = parsed(reply);
  const Value* response = json::find(&answer, "response");
  REQUIRE(json::findText(response, "uid") == "u");
  const Value* causes = json::find(json::find(json::find(response, "status"), "details"), "causes");
  std::string lines;
  if (causes == nullptr) return lines;
  REQUIRE((*response)["status"]["code"].GetInt() == 422);
  for (const Value& cause : causes->GetArray()) {
    if (json::findText(&cause, "reason") != "FieldValueTypeInvalid") continue;
    lines += fmt::format("{} | {}\n", json::findText(&cause, "field"), json::findText(&cause, "message"));
  }
  return lines;
}

std::string bodyWith(const SchemaField& place, const char* sample) {
  json::Document object;
  REQUIRE_FALSE(json::parse(goodDgdr(), object).has_value());
  json::Document value{&object.GetAllocator()};
  REQUIRE_FALSE(json::parse(sample, value).has_value());
  put(object, place.way, Value{value, object.GetAllocator()}, object.GetAllocator());
  return review("CREATE", json::dump(object));
}

TEST_CASE("a wrong type in any field is denied with its path as the only type error") {
  std::size_t asked = 0;
  for (const SchemaField& place : places()) {
    const std::string path = place.path();
    for (const Sample& sample : samples()) {
      const Type type = place.node->type;
      if (type == Type::Any || std::count(sample.fits.begin(), sample.fits.end(), type) != 0) continue;
      const std::string expected =
          fmt::format("{0} | Invalid value: \"{1}\": {0} in body must be of type {2}: \"{1}\"\n", path,
                      sample.type, nameOf(type));
      INFO(path << " = " << sample.json);
      REQUIRE(typeCauses(ask(kValidate, bodyWith(place, sample.json))) == expected);
      // The defaulting webhook runs first and must not deny the object.
      REQUIRE(outcome(ask(kMutate, bodyWith(place, sample.json))) == "allowed");
      ++asked;
    }
  }
  CHECK(asked > 5000);
}

/// A valid request of v1alpha1 with `sample` at `place`.
json::Document alphaWith(const SchemaField& place, const char* sample) {
  json::Document object;
  REQUIRE_FALSE(
      json::parse(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest",)"
                  R"("metadata":{"name":"r","namespace":"ns"},"spec":{"model":"m","backend":"vllm",)"
                  R"("profilingConfig":{"profilerImage":"i:1"}}})",
                  object)
          .has_value());
  json::Document value{&object.GetAllocator()};
  REQUIRE_FALSE(json::parse(sample, value).has_value());
  put(object, place.way, Value{value, object.GetAllocator()}, object.GetAllocator());
  return object;
}

/// Converts the object with /convert, which must not fail.
json::Document convertedTo(std::string_view version, const Value& object) {
  const std::string body = fmt::format(
      R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u",)"
      R"("desiredAPIVersion":"{}","objects":[{}]}}}})",
      version, json::dump(object));
  const json::Document answer = parsed(ask(kConvert, body));
  const Value& response = answer["response"];
  REQUIRE(json::findText(json::find(&response, "result"), "status") == "Success");
  json::Document converted;
  converted.CopyFrom(response["convertedObjects"][0], converted.GetAllocator());
  return converted;
}

TEST_CASE(
    "a wrong type in any v1alpha1 field survives the round trip, and the v1alpha1 schema reports its path") {
  constexpr std::string_view kAlpha = "nvidia.com/v1alpha1";
  const Node& root = rootOf(kAlpha);
  std::size_t asked = 0;
  std::string lost;
  for (const SchemaField& place : places(kAlpha)) {
    // The API server decodes metadata first. A spec of the wrong type is reported by its missing fields, and
    // a status is dropped.
    if (place.way.front().name == "metadata" || place.way.size() == 1) continue;
    const std::string path = place.path();
    for (const Sample& sample : samples()) {
      const Type type = place.node->type;
      if (type == Type::Any || std::count(sample.fits.begin(), sample.fits.end(), type) != 0) continue;
      INFO(path << " = " << sample.json);
      const json::Document alpha = alphaWith(place, sample.json);
      // The API server calls both webhooks before it validates the schema of the written version.
      const json::Document hub = convertedTo("nvidia.com/v1beta1", alpha);
      const Reply mutated = ask(kMutate, review("CREATE", json::dump(hub), {}, "v1alpha1"));
      REQUIRE(outcome(mutated) == "allowed");
      // A default would replace the wrong value and hide the error.
      REQUIRE(patchOf(mutated).empty());
      const std::string outcomeOfReview =
          outcome(ask(kValidate, review("CREATE", json::dump(hub), {}, "v1alpha1")));
      REQUIRE(
          (outcomeOfReview.starts_with("allowed") || outcomeOfReview.starts_with("denied 422 Invalid: ")));
      const json::Document back = convertedTo(kAlpha, hub);
      const auto errors = schema::wrongTypes(root, back);
      const bool found = std::any_of(errors.begin(), errors.end(),
                                     [&](const auto& error) { return error.field.text() == path; });
      if (!found) lost += fmt::format("{} = {}\n", path, sample.json);
      ++asked;
    }
  }
  CHECK(lost == "");
  CHECK(asked > 300);
}

TEST_CASE("null counts as absent, except as an item of a list") {
  std::size_t asked = 0;
  for (const SchemaField& place : places()) {
    const std::string path = place.path();
    INFO(path);
    const Reply reply = ask(kValidate, bodyWith(place, "null"));
    if (place.way.back().kind == Step::Kind::Item && place.node->type != Type::Any) {
      REQUIRE(typeCauses(reply) ==
              fmt::format("{0} | Invalid value: \"null\": {0} in body must be of type {1}: \"null\"\n", path,
                          nameOf(place.node->type)));
    } else if (path == "spec" || path == "spec.model") {
      REQUIRE(outcome(reply).ends_with("is invalid: spec.model: Required value: must name a model"));
    } else {
      REQUIRE(typeCauses(reply).empty());  // other rules may have findings
    }
    ++asked;
  }
  CHECK(asked > 1000);
}

TEST_CASE("the fields of the schema include the ones of the API") {
  std::vector<std::string> paths;
  for (const SchemaField& place : places()) paths.push_back(place.path());
  for (const char* path :
       {"metadata.annotations.key", "spec.hardware.vramMb", "spec.features.mocker.enabled",
        "spec.overrides.profilingJob.template.spec.containers[0].resources.limits.key",
        "status.conditions[0].lastTransitionTime", "status.profilingResults.pareto[0].config"}) {
    INFO(path);
    CHECK(std::count(paths.begin(), paths.end(), path) == 1);
  }
}

TEST_CASE("wrong types in fields without described members") {
  struct Row {
    const char* spec;
    const char* causes;
  };
  const Row rows[] = {
      {R"({"model":"m","overrides":{"dgd":{"apiVersion":"nvidia.com/v1alpha1",)"
       R"("kind":"DynamoGraphDeployment","metadata":7}}})",
       "spec.overrides.dgd.metadata | Invalid value: \"integer\": spec.overrides.dgd.metadata in body must "
       "be of "
       "type object: \"integer\"\n"},
      {R"({"model":"m","overrides":{"dgd":{"apiVersion":"nvidia.com/v1alpha1",)"
       R"("kind":"DynamoGraphDeployment",)"
       R"("metadata":{"labels":{"a":true}}}}})",
       "spec.overrides.dgd.metadata.labels.a | Invalid value: \"boolean\": "
       "spec.overrides.dgd.metadata.labels.a in "
       "body must be of type string: \"boolean\"\n"},
      {R"({"model":"m","features":{"planner":{"anything":[null,{"a":1}]}}})", ""},
      {R"({"model":"m","unknown":{"anything":[null,{"a":1}]}})", ""},
  };
  for (const Row& row : rows) {
    INFO(row.spec);
    CHECK(typeCauses(ask(kValidate, review("CREATE", dgdr(row.spec)))) == row.causes);
  }
}

TEST_CASE("an UPDATE is not denied for an unchanged wrong type") {
  const std::string old = dgdr(R"({"model":"m","sla":{"ttft":"fast","itl":1}})");
  CHECK(outcome(
            ask(kValidate, review("UPDATE", dgdr(R"({"model":"n","sla":{"ttft":"fast","itl":1}})"), old))) ==
        "allowed [spec.sla.ttft: Invalid value: \"string\": spec.sla.ttft in body must be of type number: "
        "\"string\"]");
  CHECK(
      outcome(
          ask(kValidate, review("UPDATE", dgdr(R"({"model":"m","sla":{"ttft":"slow","itl":1}})"), old))) ==
      "denied 422 Invalid: DynamoGraphDeploymentRequest.nvidia.com \"r\" is invalid: spec.sla.ttft: Invalid "
      "value: \"string\": spec.sla.ttft in body must be of type number: \"string\"");
}

}  // namespace
}  // namespace dynamo::webhook::test
