// Keys of maps may hold ']' and '.', which part a printed path.

#include "common/admission/request.h"
#include "common/admission/validate.h"
#include "graph_support.h"

namespace dynamo::admission {
namespace {

using rules::test::dgdr;
using rules::test::graph;
using rules::test::lines;
using rules::test::object;

std::string said(std::string_view text, std::string_view old = {}) {
  const json::Document now = object(text);
  const json::Document before = object(old.empty() ? text : old);
  return lines(
      validate({"DynamoGraphDeployment", now, old.empty() ? nullptr : &before, "u"}, *usualSettings()));
}

/// A graph of the service "a", whose pods have these labels.
std::string labelled(std::string_view labels) {
  return graph(
      fmt::format(R"("services":{{"a":{{"componentType":"worker","extraPodMetadata":{{"labels":)"
                  R"({{{}}}}},"extraPodSpec":{{"mainContainer":{{"image":"i:1","command":["x"]}}}}}}}})",
                  labels));
}

std::string wrongKey(std::string_view severity, std::string_view key) {
  return fmt::format(
      "{} service.labels spec.services[a].extraPodMetadata.labels[{}]: Invalid value: ", severity, key);
}

TEST_CASE("what rendering says of a key is known for what a rule has said") {
  for (const std::string_view key : {"x].y", "x]", "[x", "x]].y[0", "].services[b]"}) {
    INFO(key);
    const std::string text = said(labelled(fmt::format(R"("{}":"v")", key)));
    CHECK(text.starts_with(wrongKey("E", key)));
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  }
}

TEST_CASE("an update that leaves such a key alone only warns of it") {
  const std::string before = labelled(R"("x].y":"v","x":"v")");
  CHECK(said(labelled(R"("x].y":"v","x":"w")"), before).starts_with(wrongKey("W", "x].y")));
  CHECK(said(labelled(R"("x].y":"w","x":"v")"), before).starts_with(wrongKey("E", "x].y")));
}

TEST_CASE("types in an override are told at the service's key, whatever it holds") {
  const auto told = [](std::string_view key) {
    const rules::DgdrPolicy policy;
    const json::Document request =
        object(dgdr(fmt::format(R"({{"model":"m","overrides":{{"dgd":{{"apiVersion":"nvidia.com/v1alpha1",)"
                                R"("kind":"DynamoGraphDeployment","spec":{{"services":{{"{}":)"
                                R"({{"replicas":"x"}},"a":{{}}}}}}}}}}}})",
                                key)));
    return lines(validateRequest({request, nullptr, "v1beta1", policy}));
  };
  for (const std::string_view key : {"b", "a.b", "a.replicas", "a]", "a].replicas", ""}) {
    INFO(key);
    CHECK(told(key).find(fmt::format("E schema.type spec.overrides.dgd.spec.services[{0}].replicas: Invalid "
                                     "value: \"string\": spec.overrides.dgd.spec.services[{0}].replicas in "
                                     "body must be of type integer: \"string\"\n",
                                     key)) != std::string::npos);
  }
}

}  // namespace
}  // namespace dynamo::admission
