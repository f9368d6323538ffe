// Every new field of a schema must be mapped or kept on purpose. The list known_fields.txt enforces this.

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "edge_support.h"
#include "tests/unit/source_dir.h"

namespace dynamo::test {
namespace {

using schema::Node;
using schema::Type;

/// Kubernetes' own types. Conversion treats them as whole values, so their members are not listed.
bool isEmbedded(std::string_view path) {
  constexpr std::string_view kEmbedded[] = {"spec.overrides.profilingJob", "spec.profilingConfig.resources",
                                            "spec.profilingConfig.tolerations[]", "status.conditions[]"};
  return std::find(std::begin(kEmbedded), std::end(kEmbedded), path) != std::end(kEmbedded);
}

const char* nameOf(const Node& node) {
  if (node.preserveUnknown) return "any";
  switch (node.type) {
    case Type::Object:
      return node.additional == nullptr ? "object" : "map";
    case Type::Array:
      return "list";
    case Type::String:
      return "string";
    case Type::Integer:
      return "integer";
    case Type::Number:
      return "number";
    case Type::Boolean:
      return "boolean";
    case Type::IntOrString:
      return "integer or string";
    case Type::Any:
      return "any";
  }
  return "";
}

void collect(const Node& node, const std::string& path, std::string_view version,
             std::vector<std::string>& fields) {
  const bool embedded = isEmbedded(path);
  fields.push_back(std::string{version} + " " + path + " " + (embedded ? "embedded" : nameOf(node)));
  if (embedded || node.preserveUnknown) return;
  for (const schema::Property& property : node.properties) {
    collect(*property.node, path + "." + std::string{property.name}, version, fields);
  }
  if (node.items != nullptr) collect(*node.items, path + "[]", version, fields);
  if (node.additional != nullptr) collect(*node.additional, path + ".*", version, fields);
}

std::vector<std::string> actual() {
  std::vector<std::string> fields;
  for (const std::string version : {"v1alpha1", "v1beta1"}) {
    const Node* root = schema::find("nvidia.com/" + version, "DynamoGraphDeploymentRequest");
    REQUIRE(root != nullptr);
    for (const schema::Property& property : root->properties) {
      if (property.name != "spec" && property.name != "status") continue;
      collect(*property.node, std::string{property.name}, version, fields);
    }
  }
  std::sort(fields.begin(), fields.end());
  return fields;
}

std::vector<std::string> known() {
  std::ifstream file{sourceFile("tests/unit/conversion/known_fields.txt")};
  REQUIRE(file.good());
  std::vector<std::string> fields;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') fields.push_back(line);
  }
  std::sort(fields.begin(), fields.end());
  return fields;
}

TEST_CASE("every field of both versions is listed in known_fields.txt") {
  const std::vector<std::string> now = actual();
  const std::vector<std::string> then = known();
  for (const std::string& field : now) {
    if (std::binary_search(then.begin(), then.end(), field)) continue;
    FAIL_CHECK(
        field << " is new: decide its mapping in common/conversion/base_mapping.cpp (a field that the other "
                 "version does not represent travels in the remainder by itself), give the generator in "
                 "tests/unit/conversion a chance of it, and add the line to known_fields.txt");
  }
  for (const std::string& field : then) {
    if (std::binary_search(now.begin(), now.end(), field)) continue;
    FAIL_CHECK(
        field << " is gone or of another type: check common/conversion/base_mapping.cpp, then take the line "
                 "out of known_fields.txt");
  }
  CHECK(now.size() > 80);
}

TEST_CASE("converted objects have every schema default") {
  const char* spec = GENERATE(
      R"({"model":"m"})", R"({"model":"m","backend":"vllm","autoApply":true})",
      R"({"model":"m","profilingConfig":{"config":{"sla":{"ttft":1,"isl":5}}}})",
      R"({"model":"m","profilingConfig":{"config":{"sla":{"osl":5}}}})",
      R"({"model":"m","profilingConfig":{"config":{"sla":{},"deployment":{"modelCache":{}}}}})",
      R"({"model":"m","profilingConfig":{"config":{"deployment":{"modelCache":{"pvcName":"p"}},"planner":{"a":1}}}})",
      R"({"model":"m","useMocker":true,"profilingConfig":{"resources":{"requests":{"cpu":1}}}})");
  INFO(spec);
  json::Document stored = object(converted(alpha(spec)));
  const std::string before = json::dump(stored);
  const Node* kind = schema::find(api::kV1beta1, api::kDynamoGraphDeploymentRequest);
  REQUIRE(kind != nullptr);
  schema::applySchemaDefaults(*kind, stored, stored.GetAllocator());
  CHECK(json::dump(stored) == before);
}

TEST_CASE("defaults written by conversion equal the schema defaults") {
  struct Row {
    const char* spec;
    std::vector<const char*> filled;  ///< below spec
  };
  const Row row = GENERATE(
      Row{R"({"model":"m"})", {"/backend", "/searchStrategy"}},
      Row{R"({"model":"m","profilingConfig":{"config":{"sla":{"osl":5}}}})", {"/workload/isl"}},
      Row{R"({"model":"m","profilingConfig":{"config":{"sla":{"isl":5}}}})", {"/workload/osl"}},
      Row{R"({"model":"m","profilingConfig":{"config":{"deployment":{"modelCache":{"pvcName":"p"}}}}})",
          {"/modelCache/pvcMountPath"}});
  INFO(row.spec);
  json::Document stored = object(converted(alpha(row.spec)));
  auto& allocator = stored.GetAllocator();
  const json::Value before = json::copy(stored, allocator);
  for (const char* path : row.filled) {
    INFO(path);
    REQUIRE(rapidjson::Pointer{path}.Erase(*json::find(stored, "spec")));
  }
  schema::applySchemaDefaults(*schema::find(api::kV1beta1, api::kDynamoGraphDeploymentRequest), stored,
                              allocator);
  CHECK(json::equal(stored, before));
}

}  // namespace
}  // namespace dynamo::test
