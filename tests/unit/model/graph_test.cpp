// Names, discovery backend, nodes and pathway of graphs and component deployments.
#include "common/model/graph.h"

#include <catch2/catch.hpp>

#include "common/model/pathway.h"
#include "tests/unit/model/support.h"

namespace dynamo::model::test {
namespace {

TEST_CASE("the Dynamo namespace of a graph") {
  struct Row {
    bool global;
    const char* namespaceName;
    const char* graph;
    const char* wanted;
  };
  const Row rows[] = {{true, "n", "a.b", "dynamo"}, {false, "n", "a.b", "n-a-b"},
                      {false, "n.m", "a", "n.m-a"}, {true, "", "", "dynamo"},
                      {false, "", "a", ""},         {false, "n", "", ""}};
  for (const Row& row : rows) {
    INFO(row.namespaceName << ' ' << row.graph);
    CHECK(dynamoNamespace(row.global, row.namespaceName, row.graph) == row.wanted);
  }
}

TEST_CASE("the first discovery backend that is not empty counts; every value but etcd means kubernetes") {
  struct Row {
    const char* component;
    const char* graph;
    const char* configured;
    const char* wanted;
  };
  const Row rows[] = {{"", "", "etcd", "etcd"},
                      {"", "", "kubernetes", "kubernetes"},
                      {"", "etcd", "kubernetes", "etcd"},
                      {"etcd", "kubernetes", "kubernetes", "etcd"},
                      {"ETCD", "etcd", "etcd", "kubernetes"}};
  for (const Row& row : rows) {
    INFO(row.component << ' ' << row.graph << ' ' << row.configured);
    CHECK(discoveryBackend(row.component, row.graph, row.configured) == row.wanted);
  }
}

TEST_CASE("a component deployment belongs to its owner, else to the graph in its label, else to itself") {
  struct Row {
    const char* metadata;
    const char* spec;
    const char* wanted;
  };
  const Row rows[] = {
      {R"("ownerReferences":[{"kind":"Other","name":"o"},{"kind":"DynamoGraphDeployment","name":"g"}],
          "labels":{"nvidia.com/dynamo-graph-deployment-name":"l"})",
       "{}", "g"},
      {R"("labels":{"nvidia.com/dynamo-graph-deployment-name":"l"})",
       R"({"labels":{"nvidia.com/dynamo-graph-deployment-name":"s"}})", "l"},
      {R"("labels":{})", R"({"labels":{"nvidia.com/dynamo-graph-deployment-name":"s"}})", "s"},
      {R"("labels":{})", "{}", "d"}};
  for (const Row& row : rows) {
    const auto object = parsed(std::string{R"({"kind":"DynamoComponentDeployment","metadata":{"name":"d",)"} +
                               row.metadata + R"(},"spec":)" + row.spec + '}');
    CHECK(resolveGraph(object).graphName == row.wanted);
  }
}

TEST_CASE(
    "the services of a graph are its components, sorted by key; values that are not objects are skipped") {
  const auto object = parsed(R"({"kind":"DynamoGraphDeployment","metadata":{"name":"g","annotations":
      {"nvidia.com/dynamo-discovery-backend":"etcd"}},"spec":{"backendFramework":"sglang","services":{
      "b":{"componentType":"worker","multinode":{"nodeCount":2}},"a":{"globalDynamoNamespace":true},"n":null}}})");
  const ResolvedGraph graph = resolveGraph(object, "ns");
  const std::vector<Component> components = resolveComponents(graph, "kubernetes");
  REQUIRE(components.size() == 2);
  const Component& a = components[0];
  CHECK(a.key == "a");
  CHECK(a.path.text() == "spec.services[a]");
  CHECK(a.dynamoNamespace == "dynamo");
  CHECK_FALSE(a.multinode());
  CHECK(a.framework.name == kNoop);
  const Component& b = components[1];
  CHECK(b.at("replicas").text() == "spec.services[b].replicas");
  CHECK(b.namespaceName == "ns");
  CHECK(b.dynamoNamespace == "ns-g");
  CHECK(b.discovery == "etcd");
  CHECK(b.framework.name == kSglang);
  CHECK(b.multinode());
}

TEST_CASE("a component deployment is one component, named by its serviceName, else by its name") {
  for (const auto& [spec, key] : {std::pair{R"({"serviceName":"Svc"})", "Svc"}, std::pair{"{}", "d"}}) {
    const auto object = parsed(std::string{R"({"kind":"DynamoComponentDeployment","metadata":{"name":"d",
        "annotations":{"nvidia.com/dynamo-discovery-backend":"etcd"}},"spec":)"} +
                               spec + '}');
    const ResolvedGraph graph = resolveGraph(object);
    const std::vector<Component> components = resolveComponents(graph, "kubernetes");
    REQUIRE(components.size() == 1);
    CHECK(components[0].key == key);
    CHECK(components[0].path.text() == "spec");
    // Only the annotations of its spec count. Those of a graph are read from the graph.
    CHECK(components[0].discovery == "kubernetes");
  }
}

TEST_CASE("the orchestrator of a graph") {
  struct Row {
    std::optional<bool> configured;
    std::optional<bool> api;
    const char* annotation;
    std::optional<bool> enabled;
    bool used;
  };
  const Row rows[] = {{{}, {}, "", {}, true},          {{}, true, "", true, true},
                      {{}, false, "", false, false},   {true, false, "", true, true},
                      {false, true, "", false, false}, {{}, true, "False", true, false},
                      {{}, true, "no", true, true}};
  for (const Row& row : rows) {
    INFO(row.annotation);
    config::OrchestratorsConfig orchestrators;
    orchestrators.grove.enabled = row.configured;
    const auto annotations =
        parsed(std::string{R"({"nvidia.com/enable-grove":")"} + row.annotation + R"("})");
    const std::optional<bool> enabled = groveEnabled(orchestrators, row.api);
    CHECK(enabled == row.enabled);
    CHECK(usesGrove(&annotations, enabled) == row.used);
  }
  config::OrchestratorsConfig orchestrators;
  CHECK(lwsEnabled(orchestrators, {}));
  CHECK_FALSE(lwsEnabled(orchestrators, false));
  orchestrators.lwsEnabled = false;
  CHECK_FALSE(lwsEnabled(orchestrators, true));
}

TEST_CASE("the flag --pathway selects the orchestrators") {
  struct Row {
    const char* pathway;
    std::optional<bool> grove;
    std::optional<bool> lws;
  };
  const Row rows[] = {
      {"auto", {}, {}}, {"grove", true, {}}, {"lws", false, true}, {"deployment", false, false}};
  for (const Row& row : rows) {
    INFO(row.pathway);
    config::OrchestratorsConfig orchestrators;
    choosePathway(row.pathway, orchestrators);
    CHECK(orchestrators.grove.enabled == row.grove);
    CHECK(orchestrators.lwsEnabled == row.lws);
  }
}

}  // namespace
}  // namespace dynamo::model::test
