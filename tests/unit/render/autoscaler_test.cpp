// Scaling adapters and HorizontalPodAutoscalers of services (dec-3).
#include <catch2/catch.hpp>

#include "common/render/object.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

Children childrenWith(std::string_view members, bool honours, Pathway pathway = Pathway::Deployment) {
  Setup setup{pathway};
  setup.config.compatibilityAutoscaling = honours;
  json::Document graph =
      graphOf(R"({"extraPodSpec":{"mainContainer":{"image":"i","command":["c"],"args":["a"]}})" +
              std::string{members} + "}");
  return rendered(setup, graph);
}

const Child* childOf(const Children& children, std::string_view kind) {
  for (const Child& child : children.items) {
    if (child.key.kind == kind) return &child;
  }
  return nullptr;
}

constexpr std::string_view kAutoscaler = "HorizontalPodAutoscaler";
constexpr std::string_view kAdapter = "DynamoGraphDeploymentScalingAdapter";

TEST_CASE("which services get a scaling adapter and a HorizontalPodAutoscaler") {
  struct Row {
    const char* members;
    bool honours;
    bool adapter;
    bool autoscaler;
  };
  const Row rows[] = {
      {"", true, false, false},
      {R"(,"scalingAdapter":{"enabled":true})", true, true, false},
      {R"(,"autoscaling":{"enabled":true,"maxReplicas":3})", false, false, false},
      {R"(,"autoscaling":{"enabled":true,"maxReplicas":3})", true, true, true},
      {R"(,"autoscaling":{"enabled":false,"maxReplicas":3})", true, false, false},
      {R"(,"autoscaling":{"maxReplicas":3})", true, false, false},
      {R"(,"autoscaling":null)", true, false, false},
      {R"(,"autoscaling":{"enabled":true,"maxReplicas":3},"scalingAdapter":{"enabled":false})", true, true,
       true},
      {R"(,"autoscaling":{"enabled":true,"maxReplicas":3},"scalingAdapter":{"enabled":true})", false, true,
       false},
  };
  for (const Pathway pathway : {Pathway::Deployment, Pathway::Grove}) {
    for (const Row& row : rows) {
      INFO(row.members << row.honours);
      const Children children = childrenWith(row.members, row.honours, pathway);
      CHECK(errorsOf(children).empty());
      CHECK((childOf(children, kAdapter) != nullptr) == row.adapter);
      CHECK((childOf(children, kAutoscaler) != nullptr) == row.autoscaler);
    }
  }
}

TEST_CASE("a HorizontalPodAutoscaler scales the adapter of its service") {
  const Children children =
      childrenWith(R"(,"autoscaling":{"enabled":true,"minReplicas":2,"maxReplicas":3})", true);
  const Child* autoscaler = childOf(children, kAutoscaler);
  const Child* adapter = childOf(children, kAdapter);
  REQUIRE(autoscaler != nullptr);
  REQUIRE(adapter != nullptr);
  CHECK(autoscaler->policy == Policy::Applied);
  CHECK(autoscaler->stage == Stage::Scaling);
  CHECK(autoscaler->service == "Svc");
  CHECK(json::dump(*json::find(autoscaler->object, "metadata")) ==
        json::dump(*json::find(adapter->object, "metadata")));
  CHECK(json::dump(*json::find(autoscaler->object, "metadata")) ==
        R"({"name":"g-svc","namespace":"ns","labels":{"nvidia.com/dynamo-graph-deployment-name":"g",)"
        R"("nvidia.com/dynamo-component":"Svc"},"ownerReferences":[{"apiVersion":"nvidia.com/v1alpha1",)"
        R"("kind":"DynamoGraphDeployment","name":"g","uid":"00000000-0000-0000-0000-000000000000",)"
        R"("controller":true,"blockOwnerDeletion":true}]})");
  CHECK(json::findText(&autoscaler->object, "apiVersion") == "autoscaling/v2");
}

TEST_CASE("limits, metrics and behavior of a HorizontalPodAutoscaler are those of the service") {
  const std::string target =
      R"({"scaleTargetRef":{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentScalingAdapter",)"
      R"("name":"g-svc"},)";
  const std::string cpu =
      R"("metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",)"
      R"("averageUtilization":80}}}])";
  const std::string external =
      R"("metrics":[{"type":"External","external":{"metric":{"name":"q"},"target":{"type":"Value","value":"5"}}}])";
  const std::string behavior = R"("behavior":{"scaleDown":{"stabilizationWindowSeconds":60}})";
  struct Row {
    std::string given;
    std::string spec;
  };
  const Row rows[] = {
      {R"("maxReplicas":3)", R"("maxReplicas":3,)" + cpu},
      {R"("maxReplicas":3,"minReplicas":2)", R"("minReplicas":2,"maxReplicas":3,)" + cpu},
      {R"("maxReplicas":3,"minReplicas":null,"metrics":[],"behavior":{})", R"("maxReplicas":3,)" + cpu},
      {R"("maxReplicas":3,"metrics":null,"behavior":null)", R"("maxReplicas":3,)" + cpu},
      {R"("maxReplicas":3,)" + external, R"("maxReplicas":3,)" + external},
      {R"("maxReplicas":3,)" + behavior, R"("maxReplicas":3,)" + cpu + ',' + behavior},
  };
  for (const Row& row : rows) {
    INFO(row.given);
    const Children children = childrenWith(R"(,"autoscaling":{"enabled":true,)" + row.given + "}", true);
    const Child* autoscaler = childOf(children, kAutoscaler);
    REQUIRE(autoscaler != nullptr);
    CHECK(json::dump(*json::find(autoscaler->object, "spec")) == target + row.spec + "}");
  }
}

TEST_CASE("enabled autoscaling without maxReplicas is an error, and the service keeps its adapter") {
  const Children children = childrenWith(R"(,"autoscaling":{"enabled":true})", true);
  REQUIRE(children.errors.size() == 1);
  CHECK("E " + std::string{children.errors[0].rule} + " " + children.errors[0].message() ==
        "E render.autoscaling spec.services[Svc].autoscaling.maxReplicas: Required value: must be set when "
        "autoscaling is enabled");
  CHECK(childOf(children, kAdapter) != nullptr);
  CHECK(childOf(children, kAutoscaler) == nullptr);
}

}  // namespace
}  // namespace dynamo::render::test
