// The namespace in which an endpoint picker looks for workers (dec-20).
#include <catch2/catch.hpp>

#include "common/defaults/apply.h"
#include "common/json/build.h"
#include "common/render/hash.h"
#include "common/render/picker_namespace.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

constexpr const char* kWorker =
    R"("Worker":{"componentType":"worker","extraPodSpec":{"mainContainer":{"image":"i"}}})";

std::string graphText(const std::string& picker, const std::string& container = "",
                      const std::string& spec = "", const std::string& workers = kWorker) {
  return R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)"
         R"("metadata":{"name":"g","namespace":"ns"},"spec":{)" +
         spec + R"("services":{"Epp":{"componentType":"epp",)" + picker +
         R"("extraPodSpec":{"mainContainer":{"image":"e")" + container + "}}}" +
         (workers.empty() ? "" : ",") + workers + "}}}";
}

/// DYN_NAMESPACE of the picker's pods.
std::string namespaceOf(const Children& children, std::string_view kind = "Deployment") {
  std::string found;
  for (const Child& child : children.items) {
    const std::string text = json::dump(child.object);
    if (child.key.kind != kind || child.key.name.find("epp") == std::string::npos) continue;
    const std::size_t at = text.find(R"({"name":"DYN_NAMESPACE","value":")");
    if (at == std::string::npos) continue;
    const std::size_t begin = at + 33;
    found = text.substr(begin, text.find('"', begin) - begin);
  }
  return found;
}

struct Row {
  const char* name;
  std::string graph;
  std::optional<std::string> pickerHash;
  std::string expected;
};

TEST_CASE("an endpoint picker looks for the worker generation (dec-20)") {
  const std::string own = R"({"name":"DYN_NAMESPACE","value":"mine"})";
  const Row rows[] = {
      {"the workers' generation", graphText(""), std::nullopt, "ns-g-HASH"},
      {"the generation that still serves", graphText(""), "old", "ns-g-old"},
      {"old workers without a suffix", graphText(""), "", "ns-g"},
      {"other variables", graphText("", R"(,"env":[{"name":"A","value":"b"}])"), std::nullopt, "ns-g-HASH"},
      {"the global namespace", graphText(R"("globalDynamoNamespace":true,)"), std::nullopt, "dynamo-HASH"},
      {"the user's, in the container", graphText("", R"(,"env":[)" + own + "]"), std::nullopt, "mine"},
      {"the user's, in the service", graphText(R"("envs":[)" + own + "],"), std::nullopt, "mine"},
      {"the user's, in the graph", graphText("", "", R"("envs":[)" + own + "],"), std::nullopt, "mine"},
      {"the user's, equal to the default",
       graphText("", R"(,"env":[{"name":"DYN_NAMESPACE","value":"ns-g"}])"), std::nullopt, "ns-g"},
      {"no workers", graphText("", "", "", ""), std::nullopt, "ns-g"},
  };
  const Setup setup{Pathway::Deployment};
  for (const Row& row : rows) {
    INFO(row.name);
    json::Document graph = parsed(row.graph);
    const std::string hash = workerHash(graph);
    std::string expected = row.expected;
    if (const std::size_t at = expected.find("HASH"); at != std::string::npos) expected.replace(at, 4, hash);
    LifecycleInputs inputs;
    inputs.pickerHash = row.pickerHash;
    CHECK(namespaceOf(renderAll(graph, setup.context(), inputs)) == expected);
    // The webhook stores its defaults, DYN_NAMESPACE among them. They are not the user's.
    defaults::applyComponentDefaults(graph, nullptr, {setup.defaults, setup.config, "1.0.0", "ns"},
                                     graph.GetAllocator());
    CHECK(json::dump(graph).find("DYN_NAMESPACE") != std::string::npos);
    CHECK(namespaceOf(renderAll(graph, setup.context(), inputs)) == expected);
    CHECK(workerHash(defaults::intent(graph, graph.GetAllocator())) == hash);
  }
}

TEST_CASE("on Grove, workers have no suffix and a picker needs none (dec-20)") {
  json::Document graph = parsed(graphText(""));
  const Children children = rendered(Setup{Pathway::Grove}, graph);
  for (const Child& child : children.items)
    CHECK(json::dump(child.object).find(R"("value":"ns-g-)") == std::string::npos);
}

TEST_CASE("the namespace of a picker is read from its component") {
  json::Document graph = parsed(graphText(""));
  const Setup setup{Pathway::Deployment};
  LifecycleInputs inputs;
  inputs.workerHash = "0123abcd";
  const Children children = renderGraph(graph, setup.context(), inputs);
  std::string names;
  for (const Child& child : children.items) {
    const std::string_view found = pickerNamespace(child.object);
    if (!found.empty()) names += child.key.name + '=' + std::string{found} + ' ';
  }
  CHECK(names == "g-epp=" + workerNamespace("ns-g", "0123abcd") + ' ');
}

}  // namespace
}  // namespace dynamo::render::test
