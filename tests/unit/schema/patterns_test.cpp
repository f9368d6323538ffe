#include "common/schema/patterns.h"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "common/schema/registry.h"

namespace dynamo::schema {
namespace {

const Pattern& quantity() {
  const Node* node = find("nvidia.com/v1alpha1", "DynamoGraphDeployment");
  for (const char* name : {"spec", "services", "any", "sharedMemory", "size"}) node = node->member(name);
  return *node->pattern;
}

const Pattern& conditionType() {
  const Node* node = find("nvidia.com/v1alpha1", "DynamoGraphDeployment");
  return *node->member("status")->member("conditions")->items->member("type")->pattern;
}

}  // namespace

TEST_CASE("quantities", "[schema]") {
  const auto [text, wanted] = GENERATE(table<std::string, bool>({
      {"10Gi", true},
      {"1e3", true},
      {"+.5", true},
      {"1.", true},
      {"-1Gi", true},
      {"100u", true},
      {"2E-1.5", true},
      {"5E", true},
      {"", false},
      {".", false},
      {"1Gib", false},
      {"1 Gi", false},
      {"e3", false},
      {"1ki", false},
      {"0x10", false},
      {"1\n", false},
      {"1\xc3", false},
  }));
  INFO(text);
  CHECK(quantity().matches(text) == wanted);
}

TEST_CASE("types of conditions", "[schema]") {
  const auto [text, wanted] = GENERATE(table<std::string, bool>({
      {"Ready", true},
      {"a.b-c_d", true},
      {"example.com/Ready", true},
      {"", false},
      {"-a", false},
      {"Example.com/Ready", false},
      {"a/b/c", false},
      {"/a", false},
  }));
  INFO(text);
  CHECK(conditionType().matches(text) == wanted);
}

TEST_CASE("reasons of conditions", "[schema]") {
  const Node* kind = find("nvidia.com/v1beta1", "DynamoGraphDeploymentRequest");
  const Pattern& reason = *kind->member("status")->member("conditions")->items->member("reason")->pattern;
  const auto [text, wanted] = GENERATE(table<std::string, bool>({{"A", true},
                                                                 {"A_", true},
                                                                 {"a:b", true},
                                                                 {"a,b1", true},
                                                                 {"1a", false},
                                                                 {"a,", false},
                                                                 {"a-", false}}));
  INFO(text);
  CHECK(reason.matches(text) == wanted);
}

TEST_CASE("long texts do not exhaust the stack", "[schema]") {
  CHECK(quantity().matches(std::string(4'000'000, '9')));
}

TEST_CASE("an invalid expression is rejected at start-up", "[schema]") {
  CHECK_THROWS_AS(Pattern{"("}, std::logic_error);
}

}  // namespace dynamo::schema
