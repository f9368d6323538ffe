// Keys of maps may contain ']' and '.', the separators of a printed path.

#include "common/admission/dgdr.h"
#include "common/admission/validate.h"
#include "graph_support.h"

namespace dynamo::admission {
namespace {

using rules::test::dgdr;
using rules::test::graph;
using rules::test::lines;
using rules::test::object;

std::string findingsOf(std::string_view text, std::string_view old = {}) {
  const json::Document now = object(text);
  const json::Document before = object(old.empty() ? text : old);
  return lines(judge(now, {.kind = "DynamoGraphDeployment", .old = old.empty() ? nullptr : &before},
                     *usualSettings()));
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

TEST_CASE("an error about a key from rendering and from a rule is reported once") {
  for (const std::string_view key : {"x].y", "x]", "[x", "x]].y[0", "].services[b]"}) {
    INFO(key);
    const std::string text = findingsOf(labelled(fmt::format(R"("{}":"v")", key)));
    CHECK(text.starts_with(wrongKey("E", key)));
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  }
}

TEST_CASE("an update with an unchanged invalid key only warns") {
  const std::string before = labelled(R"("x].y":"v","x":"v")");
  CHECK(findingsOf(labelled(R"("x].y":"v","x":"w")"), before).starts_with(wrongKey("W", "x].y")));
  CHECK(findingsOf(labelled(R"("x].y":"w","x":"v")"), before).starts_with(wrongKey("E", "x].y")));
}

TEST_CASE("type errors in an override are reported at any service key") {
  const auto typeError = [](std::string_view key) {
    const rules::DgdrPolicy policy;
    const json::Document request =
        object(dgdr(fmt::format(R"({{"model":"m","overrides":{{"dgd":{{"apiVersion":"nvidia.com/v1alpha1",)"
                                R"("kind":"DynamoGraphDeployment","spec":{{"services":{{"{}":)"
                                R"({{"replicas":"x"}},"a":{{}}}}}}}}}}}})",
                                key)));
    return lines(validateDgdr({request, nullptr, "v1beta1", policy}));
  };
  for (const std::string_view key : {"b", "a.b", "a.replicas", "a]", "a].replicas", ""}) {
    INFO(key);
    CHECK(typeError(key).find(
              fmt::format("E schema.type spec.overrides.dgd.spec.services[{0}].replicas: Invalid "
                          "value: \"string\": spec.overrides.dgd.spec.services[{0}].replicas in "
                          "body must be of type integer: \"string\"\n",
                          key)) != std::string::npos);
  }
}

}  // namespace
}  // namespace dynamo::admission
