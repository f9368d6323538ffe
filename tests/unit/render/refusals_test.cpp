// Errors of rendering: objects that bypassed admission, and limits of rendering.

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/json/build.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

TEST_CASE("errors of rendering") {
  struct Row {
    Pathway pathway;
    const char* service;
    const char* expected;
  };
  const Row rows[] = {
      {Pathway::Grove, "null",
       "E render.service spec.services[Svc]: Required value: a service must not be null"},
      {Pathway::Grove, R"({"componentType":"worker","volumeMounts":[{"mountPoint":"/a"}]})",
       "E render.mount-name spec.services[Svc].volumeMounts[0].name: Required value: the name of a claim"},
      {Pathway::Grove, R"({"componentType":"worker","volumeMounts":[{"name":"c"}]})",
       "E render.mount-point spec.services[Svc].volumeMounts[0].mountPoint: Required value: where to mount "
       "the "
       "claim"},
      {Pathway::Grove, R"({"componentType":"worker","resources":{"limits":{"cpu":"x"}}})",
       "E render.quantity spec.services[Svc].resources.limits.cpu: Invalid value: \"x\": must be a quantity, "
       "such "
       "as 500m, 2 or 16Gi"},
      {Pathway::Grove, R"({"componentType":"epp"})",
       "E render.epp-config spec.services[Svc].eppConfig: Required value: must have config or configMapRef"},
      {Pathway::Grove,
       R"({"componentType":"worker","checkpoint":{"enabled":true,"identity":{"model":"m","backendFramework":"vllm"}}})",
       "E render.checkpoint spec.services[Svc].checkpoint: Invalid value: checkpointing is disabled in "
       "the operator configuration"},
      {Pathway::LeaderWorkerSet, R"({"componentType":"worker","multinode":{"nodeCount":2}})",
       "E render.lws-command spec.services[Svc].extraPodSpec.mainContainer.args: Required value: must be set "
       "for a multinode component in a LeaderWorkerSet"},
      {Pathway::LeaderWorkerSet, R"({"componentType":"worker","replicas":1001,"multinode":{"nodeCount":2}})",
       "E render.lws-replicas spec.services[Svc].replicas: Invalid value: 1001: must be at most 1000, "
       "because each replica is a LeaderWorkerSet"},
      {Pathway::Grove,
       R"({"componentType":"worker","multinode":{"nodeCount":4097},"resources":{"limits":{"gpu":"1"}},)"
       R"("extraPodSpec":{"mainContainer":{"image":"i","command":["python3"],"args":["-m","dynamo.trtllm"]}}})",
       "E render.trtllm-nodes spec.services[Svc].multinode.nodeCount: Invalid value: 4097: must be at most "
       "4096 for TensorRT-LLM, because one command lists all hosts"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.service);
    json::Document graph = graphOf(row.service);
    const Children children = rendered(Setup{row.pathway}, graph);
    REQUIRE(!children.errors.empty());
    for (const auto& error : children.errors) {
      CHECK(fmt::format("E {} {}", error.rule, error.message()) == row.expected);
    }
  }
}

TEST_CASE("a deployment configuration that Go cannot decode is not applied") {
  struct Row {
    const char* config;
    const char* problem;  ///< empty: no error
  };
  const Row rows[] = {
      {R"({"Svc":{"ServiceArgs":{"workers":"2"}}})", "Svc.ServiceArgs.workers must be a 32-bit integer"},
      {R"({"Svc":{"ServiceArgs":{"Workers":2.5}}})", "Svc.ServiceArgs.workers must be a 32-bit integer"},
      {R"({"Svc":{"ServiceArgs":{"workers":3000000000}}})",
       "Svc.ServiceArgs.workers must be a 32-bit integer"},
      {R"({"Svc":{"ServiceArgs":{"Resources":{"Memory":"1Gi","CPU":2}}}})",
       "Svc.ServiceArgs.resources.cpu must be a string"},
      {R"({"Svc":{"ServiceArgs":{"resources":[]}}})", "Svc.ServiceArgs.resources must be an object"},
      {R"({"Svc":{"ServiceArgs":{"resources":{"custom":{"a":5}}}}})",
       "Svc.ServiceArgs.resources.custom.a must be a string"},
      {R"({"Svc":{"ServiceArgs":{"resources":{"custom":"a"}}}})",
       "Svc.ServiceArgs.resources.custom must be an object"},
      {R"({"Svc":5})", "Svc must be an object"},
      {R"({"Svc":{"ServiceArgs":[1]}})", "Svc.ServiceArgs must be an object"},
      {R"({"Svc":{"ServiceArgs":{"workers":2}},"Other":"x"})", "Other must be an object"},
      {R"({"Svc":{"ServiceArgs":{"resources":{"memory":"2Gi","cpu":"two"}}}})",
       "Svc.ServiceArgs.resources.cpu must be a quantity, such as 500m, 2 or 16Gi"},
      {R"({"Svc":{"ServiceArgs":{"resources":{"custom":{"a/b":null}}}}})",
       "Svc.ServiceArgs.resources.custom.a/b must be a quantity, such as 500m, 2 or 16Gi"},
      {R"({"Other":{"ServiceArgs":{"resources":{"cpu":"two"}}}})", ""},
      {R"({"Svc":null,"Other":{"ServiceArgs":null,"more":[1]},"Third":{"ServiceArgs":{"workers":null,"resources":null}}})",
       ""},
      {R"({"Svc":{"ServiceArgs":{"workers":1}},"Svc":{"ServiceArgs":{"workers":2,"Workers":3}}})", ""},
  };
  for (const bool own : {true, false}) {
    for (const Row& row : rows) {
      CAPTURE(row.config, own);
      json::Document graph =
          graphOf(R"({"componentType":"frontend","extraPodSpec":{"mainContainer":{"image":"i"}}})");
      auto& allocator = graph.GetAllocator();
      json::Value& spec = *json::find(graph, "spec");
      json::Value& service = *json::find(*json::find(spec, "services"), "Svc");
      const json::Maker make{allocator};
      json::set(
          own ? service : spec, "envs",
          make.list(make.object("name", "DYN_DEPLOYMENT_CONFIG", "value", std::string_view{row.config})),
          allocator);
      const Children children = rendered(Setup{Pathway::Deployment}, graph);
      const std::string path = own ? "spec.services[Svc].envs[0].value" : "spec.envs[0].value";
      CHECK(errorsOf(children) ==
            (std::string_view{row.problem}.empty() ? "" : path + ": Invalid value: " + row.problem + '\n'));
      for (const Child& child : children.items) {
        if (json::findText(&child.object, "kind") != "DynamoComponentDeployment") continue;
        const json::Value* made = json::find(child.object, "spec");
        CHECK(json::find(made, "resources") == nullptr);
        const bool kept = json::findText(json::findNamed(json::find(made, "envs"), "DYN_DEPLOYMENT_CONFIG"),
                                         "value") == row.config;
        CHECK((kept || std::string_view{row.problem}.empty()));
      }
    }
  }
}

TEST_CASE("a multinode graph without a multinode orchestrator has no workloads (dec-8)") {
  const json::Document graph = parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g",)"
      R"("namespace":"ns"},"spec":{"pvcs":[{"name":"c","create":true,"size":"1Gi","volumeAccessMode":"ReadWriteMany"}],)"
      R"("services":{"F":{"componentType":"frontend","modelRef":{"name":"m"},)"
      R"("extraPodSpec":{"mainContainer":{"image":"i"}}},"W":{"componentType":"worker","multinode":{"nodeCount":2},)"
      R"("extraPodSpec":{"mainContainer":{"image":"i","command":["python3"],"args":["-m","dynamo.vllm"]}}}}}})");
  const auto made = [&](const Context& context, std::string& kinds) {
    const Children children = renderAll(graph, context, {});
    for (const Child& child : children.items) {
      kinds += std::string{json::findText(&child.object, "kind")} + ' ';
    }
    return errorsOf(children);
  };
  const Setup none{Pathway::Deployment};
  std::string kinds;
  CHECK(made(none.context(), kinds) ==
        "spec.services[W].multinode: Invalid value: needs Grove or LeaderWorkerSet, but neither is installed "
        "and enabled\n");
  CHECK(kinds == "PersistentVolumeClaim ServiceAccount Role RoleBinding ");
  kinds.clear();
  CHECK(made({none.config, none.defaults, none.facts, std::nullopt, "0a1b2c3d"}, kinds).empty());
  CHECK(kinds.find("Deployment ") != std::string::npos);
  kinds.clear();
  CHECK(made(Setup{Pathway::LeaderWorkerSet}.context(), kinds).empty());
}

TEST_CASE("a multinode component deployment without a graph falls back to a Deployment") {
  const Setup none{Pathway::Deployment};
  json::Document alone = parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment","metadata":{"name":"w",)"
      R"("namespace":"ns"},"spec":{"componentType":"worker","multinode":{"nodeCount":2},)"
      R"("extraPodSpec":{"mainContainer":{"image":"i","command":["run"],"args":["x"]}}}})");
  const Children children = renderComponentDeployment(alone, none.context());
  CHECK(errorsOf(children).empty());
  CHECK(podSpecOf(children, "main") != nullptr);
}

TEST_CASE("a trial rendering renders one of several replicas that only differ in their index") {
  const Setup setup{Pathway::LeaderWorkerSet};
  const json::Document graph =
      graphOf(R"({"componentType":"worker","replicas":1000,"multinode":{"nodeCount":2},"extraPodSpec":)"
              R"({"mainContainer":{"image":"i","command":["python3"],"args":["-m","dynamo.vllm"]}}})");
  const auto setsIn = [&](const Context& context) {
    std::vector<std::string> names;
    for (const Child& child : renderAll(graph, context, {}).items) {
      if (json::findText(&child.object, "kind") != "LeaderWorkerSet") continue;
      names.emplace_back(json::findText(json::find(child.object, "metadata"), "name"));
    }
    return names;
  };
  CHECK(setsIn(setup.context()).size() == 1000);
  const auto one = setsIn({setup.config, setup.defaults, setup.facts, std::nullopt, "0a1b2c3d"});
  REQUIRE(one.size() == 1);
  CHECK(one[0].ends_with("-999"));
}

}  // namespace
}  // namespace dynamo::render::test
