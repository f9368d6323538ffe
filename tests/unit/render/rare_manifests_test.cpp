// Rendering of rare manifests.
#include <catch2/catch.hpp>

#include "common/render/epp.h"
#include "common/render/facts.h"
#include "common/render/graph_component.h"
#include "common/render/hash.h"
#include "common/render/object.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

using json::Value;

json::Document graphWith(const std::string& services, const std::string& annotations = "{}",
                         const std::string& more = "") {
  return parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"ns","annotations":)" +
      annotations + R"(},"spec":{"services":)" + services + more + "}}");
}

const Value* find(const Children& children, std::string_view kind, std::string_view name) {
  for (const Child& child : children.items) {
    if (json::findText(&child.object, "kind") == kind && nameOf(child.object) == name) return &child.object;
  }
  return nullptr;
}

std::size_t count(const Children& children, std::string_view kind) {
  std::size_t found = 0;
  for (const Child& child : children.items) found += json::findText(&child.object, "kind") == kind ? 1 : 0;
  return found;
}

TEST_CASE("a service with an empty discovery backend has the graph's (pod-Q26)") {
  const std::string etcd = R"({"nvidia.com/dynamo-discovery-backend":"etcd"})";
  for (const Pathway pathway : {Pathway::Deployment, Pathway::Grove}) {
    json::Document graph =
        graphWith(R"({"W":{"annotations":{"nvidia.com/dynamo-discovery-backend":""}}})", etcd);
    const Children children = rendered(Setup{pathway}, graph);
    const Value* pod = podSpecOf(children, "main");
    REQUIRE(pod != nullptr);
    CHECK(envOf(mainContainerOf(*pod)).find("DYN_DISCOVERY_BACKEND") == std::string::npos);
    CHECK(json::findText(pod, "serviceAccountName") == (pathway == Pathway::Grove ? "" : "default"));
    CHECK(count(children, "Role") == 0);
  }
}

TEST_CASE("cliques have the discovery backend as written") {
  struct Row {
    const char* graph;
    const char* service;
    const char* value;
  };
  const char* const key = "nvidia.com/dynamo-discovery-backend";
  const Row rows[] = {
      {"{}", "{}", "kubernetes"},
      {R"({"nvidia.com/dynamo-discovery-backend":"other"})", "{}", "other"},
      {R"({"nvidia.com/dynamo-discovery-backend":"etcd"})",
       R"({"annotations":{"nvidia.com/dynamo-discovery-backend":"kubernetes"}})", "kubernetes"}};
  for (const Row& row : rows) {
    INFO(row.graph << row.service);
    json::Document graph = graphWith(std::string{R"({"W":)"} + row.service + "}", row.graph);
    const Children children = rendered(Setup{}, graph);
    const Value* set = find(children, "PodCliqueSet", "g");
    REQUIRE(set != nullptr);
    const Value& clique = (*json::find(json::find(*specOf(*set), "template"), "cliques"))[0];
    CHECK(json::findText(json::find(clique, "annotations"), key) == row.value);
  }
}

TEST_CASE("only a frontend of a graph gets the configured Ingress") {
  Setup setup{Pathway::Deployment};
  setup.config.ingress.controllerClassName = "nginx";
  const auto of = [&](const char* spec) {
    json::Document deployment = parsed(
        std::string{
            R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment","metadata":{"name":"d","namespace":"ns"},"spec":)"} +
        spec + "}");
    return count(renderComponentDeployment(deployment, setup.context()), "Ingress");
  };
  CHECK(of(R"({"componentType":"frontend"})") == 0);
  CHECK(
      of(R"({"componentType":"frontend","ingress":{"enabled":true,"host":"h","ingressControllerClassName":"c"}})") ==
      1);
  for (const Pathway pathway : {Pathway::Deployment, Pathway::Grove}) {
    json::Document graph = graphWith(R"({"F":{"componentType":"frontend"}})");
    setup.config.orchestrators.grove.enabled = pathway == Pathway::Grove;
    CHECK(count(rendered(setup, graph), "Ingress") == 1);
  }
}

TEST_CASE("an empty tls block of an Ingress names no secret") {
  json::Document graph = graphWith(
      R"({"F":{"componentType":"frontend","ingress":{"enabled":true,"host":"h","ingressControllerClassName":"c","tls":{}}}})");
  const Children children = rendered(Setup{}, graph);
  const Value* ingress = find(children, "Ingress", "g-f");
  REQUIRE(ingress != nullptr);
  CHECK(json::dump(*json::find(specOf(*ingress), "tls")) == R"([{"hosts":["h.local"]}])");
}

TEST_CASE("an error is reported once, and Grove gets no incomplete set") {
  struct Row {
    const char* service;
    const char* errors;
  };
  const Row rows[] = {
      {R"({"componentType":"worker","multinode":{"nodeCount":2},"resources":{"limits":{"memory":"16GB"}},"extraPodSpec":{"mainContainer":{"args":["x"]}}})",
       "spec.services[W].resources.limits.memory: Invalid value: \"16GB\": must be a quantity, such as 500m, "
       "2 "
       "or 16Gi\n"},
      {R"({"componentType":"worker","extraPodSpec":{"mainContainer":{"command":["python3","-m","dynamo.vllm"]}}})",
       "spec.services[W].extraPodSpec.mainContainer.command: Invalid value: the command runs vllm, but "
       "backendFramework is sglang\n"},
      {R"({"componentType":"worker","extraPodSpec":{"mainContainer":{"args":["python3 -m dynamo.vllm"]}}})",
       "spec.services[W].extraPodSpec.mainContainer.args: Invalid value: the command runs vllm, but "
       "backendFramework is sglang\n"}};
  for (const Row& row : rows) {
    for (const Pathway pathway : {Pathway::Grove, Pathway::LeaderWorkerSet}) {
      INFO(row.service);
      json::Document graph = graphWith(std::string{R"({"W":)"} + row.service + R"(,"Other":{}})", "{}",
                                       R"(,"backendFramework":"sglang")");
      const Children children = rendered(Setup{pathway}, graph);
      CHECK(errorsOf(children) == row.errors);
      CHECK(count(children, "PodCliqueSet") == 0);
      CHECK(count(children, "Deployment") == (pathway == Pathway::Grove ? 0U : 1U));
    }
  }
}

TEST_CASE("labels of LeaderWorkerSet pods (pod-Q20)") {
  const std::string spec =
      R"("componentType":"worker","multinode":{"nodeCount":2},"labels":{"team":"own"},)"
      R"("extraPodMetadata":{"labels":{"team":"extra","more":"extra"}},"resources":{"limits":{"gpu":"1"}},)"
      R"("extraPodSpec":{"mainContainer":{"image":"i","command":["run"],"args":["x"]}})";
  const Setup setup{Pathway::LeaderWorkerSet};
  const auto labelsOfPod = [](const Children& children) {
    for (const Child& child : children.items) {
      if (json::findText(&child.object, "kind") != "LeaderWorkerSet") continue;
      const Value* body = json::find(specOf(child.object), "leaderWorkerTemplate");
      const Value* labels = json::find(json::find(json::find(body, "workerTemplate"), "metadata"), "labels");
      return std::string{json::findText(labels, "team")} + " " + std::string{json::findText(labels, "more")};
    }
    return std::string{"no set"};
  };
  json::Document alone = parsed(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment",)"
                                R"("metadata":{"name":"w","namespace":"ns"},"spec":{)" +
                                spec + "}}");
  CHECK(labelsOfPod(renderComponentDeployment(alone, setup.context())) == "own extra");
  json::Document graph = graphWith(R"({"W":{)" + spec + "}}");
  CHECK(labelsOfPod(rendered(setup, graph)) == "extra extra");
}

TEST_CASE("labels of the operator win in LeaderWorkerSets of a component on its own (child-Q17)") {
  const Setup setup{Pathway::LeaderWorkerSet};
  json::Document alone = parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment","metadata":{"name":"w",)"
      R"("namespace":"ns","labels":{"nvidia.com/dynamo-sub-component-type":"mine"}},"spec":{)"
      R"("componentType":"worker","subComponentType":"prefill","multinode":{"nodeCount":2},)"
      R"("labels":{"nvidia.com/dynamo-component-type":"frontend","nvidia.com/selector":"s",)"
      R"("nvidia.com/metrics-enabled":"mine"},)"
      R"("extraPodSpec":{"mainContainer":{"image":"i","command":["run"],"args":["x"]}}}})");
  const Children children = renderComponentDeployment(alone, setup.context());
  std::size_t templates = 0;
  for (const Child& child : children.items) {
    if (json::findText(&child.object, "kind") != "LeaderWorkerSet") continue;
    const Value* body = json::find(specOf(child.object), "leaderWorkerTemplate");
    for (const char* name : {"leaderTemplate", "workerTemplate"}) {
      const Value* labels = json::find(json::find(json::find(body, name), "metadata"), "labels");
      CHECK(json::findText(labels, "nvidia.com/dynamo-component-type") == "worker");
      CHECK(json::findText(labels, "nvidia.com/dynamo-sub-component-type") == "prefill");
      CHECK(json::findText(labels, "nvidia.com/metrics-enabled") == "mine");
      CHECK(json::find(labels, "nvidia.com/selector") == nullptr);
      ++templates;
    }
  }
  CHECK(templates == 2);
}

TEST_CASE("the user's restore label is kept by Grove and removed by the component pathway") {
  const char* service =
      R"({"W":{"extraPodMetadata":{"labels":{"nvidia.com/snapshot-is-restore-target":"true"}}}})";
  json::Document grove = graphWith(service);
  const Children cliques = rendered(Setup{}, grove);
  const Value& clique =
      (*json::find(json::find(*specOf(*find(cliques, "PodCliqueSet", "g")), "template"), "cliques"))[0];
  CHECK(json::findText(json::find(clique, "labels"), "nvidia.com/snapshot-is-restore-target") == "true");
  json::Document plain = graphWith(service);
  const Children pods = rendered(Setup{Pathway::Deployment}, plain);
  const Value* body = json::find(*specOf(*find(pods, "Deployment", "g-w")), "template");
  CHECK(json::find(json::find(json::find(*body, "metadata"), "labels"),
                   "nvidia.com/snapshot-is-restore-target") == nullptr);
}

TEST_CASE("checkpoints") {
  Setup setup;
  setup.config.checkpoint.enabled = true;
  const std::string identity = R"("identity":{"model":"meta-llama/Llama-2-7b-hf","backendFramework":"vllm"})";
  SECTION("services of one identity share one checkpoint") {
    const std::string service = R"({"checkpoint":{"enabled":true,"mode":"Auto",)" + identity + "}}";
    json::Document graph = graphWith("{\"A\":" + service + ",\"B\":" + service + "}");
    const Children children = rendered(setup, graph);
    CHECK(count(children, "DynamoCheckpoint") == 1);
    const Value* made = find(children, "DynamoCheckpoint", "96429b2725761a09");
    REQUIRE(made != nullptr);
    CHECK(json::findText(labelsOf(*made), "nvidia.com/dynamo-component") == "A");
  }
  SECTION("without reference and identity") {
    setup.facts.setCheckpoint({"ns", "manual", "abc", "", true});
    json::Document graph = graphWith(R"({"A":{"checkpoint":{"enabled":true}}})");
    CHECK(errorsOf(rendered(setup, graph)) ==
          "spec.services[A].checkpoint: Invalid value: must have a checkpointRef or an identity\n");
  }
  SECTION("a referenced checkpoint whose hash is not yet in its status") {
    const json::Document checkpoint =
        parsed(R"({"metadata":{"name":"c","namespace":"ns"},"spec":{)" + identity + "}}");
    CHECK(checkpointFact(checkpoint).hash == "96429b2725761a09");
  }
}

TEST_CASE("several addresses of one registry (pod-Q28)") {
  Facts facts;
  const json::Document document = parsed(
      R"({"pullSecrets":{"ns":{"https://index.docker.io/v1/":["b","a"],"docker.io":["c","a"],"nvcr.io":["n"]}}})");
  CHECK(readFacts(document, facts).empty());
  const auto secrets = facts.pullSecrets("ns", "docker.io");
  CHECK(std::vector<std::string>(secrets.begin(), secrets.end()) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("numbers of DYN_DEPLOYMENT_CONFIG are written as in Go") {
  struct Row {
    const char* given;
    const char* written;
  };
  const Row rows[] = {{"1.0", "1"},
                      {"0.00001", "0.00001"},
                      {"1e-6", "0.000001"},
                      {"1e-7", "1e-7"},
                      {"2.5e-10", "2.5e-10"},
                      {"1e21", "1e+21"},
                      {"1e20", "100000000000000000000"},
                      {"0.1", "0.1"},
                      {"-12.50", "-12.5"},
                      {"3", "3"},
                      {"1.5e3", "1500"},
                      {"0.0", "0"},
                      {"123456789012345678901", "123456789012345680000"}};
  for (const Row& row : rows) {
    INFO(row.given);
    CHECK(goJson(parsed(row.given)) == row.written);
  }
}

TEST_CASE("large numbers of a frontend's DYN_DEPLOYMENT_CONFIG are Go's float64") {
  json::Document graph =
      graphOf(R"({"componentType":"frontend","envs":[{"name":"DYN_DEPLOYMENT_CONFIG",)"
              R"("value":"{\"Svc\":{\"x\":9007199254740993,\"y\":[-3,18446744073709551615]}}"}],)"
              R"("extraPodSpec":{"mainContainer":{"image":"i"}}})");
  const Children children = rendered(Setup{Pathway::Deployment}, graph);
  const Value* pod = podSpecOf(children, "main");
  REQUIRE(pod != nullptr);
  const Value* variable = json::findNamed(json::find(mainContainerOf(*pod), "env"), "DYN_DEPLOYMENT_CONFIG");
  CHECK(json::findText(variable, "value") ==
        R"({"Svc":{"port":8000,"x":9007199254740992,"y":[-3,18446744073709552000]}})");
}

TEST_CASE("the endpoint picker's saturation detector") {
  struct Row {
    const char* given;
    const char* written;
  };
  const Row rows[] = {
      {"{}", R"({"metricsStalenessThreshold":"0s"})"},
      {R"({"queueDepthThreshold":0,"kvCacheUtilThreshold":0.8,"metricsStalenessThreshold":"90s","more":1})",
       R"({"kvCacheUtilThreshold":0.8,"metricsStalenessThreshold":"1m30s"})"},
      {R"({"queueDepthThreshold":5,"metricsStalenessThreshold":"200ms"})",
       R"({"metricsStalenessThreshold":"200ms","queueDepthThreshold":5})"}};
  for (const Row& row : rows) {
    INFO(row.given);
    json::Document config = parsed(std::string{R"({"saturationDetector":)"} + row.given + "}");
    const Value made = endpointPickerConfig(config, config.GetAllocator());
    CHECK(json::dump(*json::find(made, "saturationDetector")) == row.written);
  }
}

TEST_CASE("Ray behind a shell of any form (pod-Q12)") {
  struct Row {
    const char* command;
    const char* args;
    const char* leader;
  };
  const Row rows[] = {
      {R"(["/bin/bash","-c"])", R"(["python3 -m dynamo.vllm --tensor-parallel-size 16"])",
       "/bin/sh|-c|ray start --head --port=6379 && /bin/bash -c \"python3 -m dynamo.vllm "
       "--distributed-executor-backend ray --tensor-parallel-size 16\""},
      {R"(["bash","-lc"])", R"(["python3 -m dynamo.vllm --tensor-parallel-size 16"])",
       "/bin/sh|-c|ray start --head --port=6379 && bash -lc \"python3 -m dynamo.vllm "
       "--distributed-executor-backend ray --tensor-parallel-size 16\""},
      {R"(["sh"])", R"(["-c","python3 -m dynamo.vllm --tensor-parallel-size 16"])",
       "/bin/sh|-c|ray start --head --port=6379 && sh -c \"python3 -m dynamo.vllm "
       "--distributed-executor-backend ray --tensor-parallel-size 16\""},
      {R"(["numactl","python3"])", R"(["-m","dynamo.vllm","--tensor-parallel-size","16"])",
       "/bin/sh|-c|ray start --head --port=6379 && numactl python3 -m dynamo.vllm --tensor-parallel-size 16 "
       "--distributed-executor-backend ray"}};
  for (const Row& row : rows) {
    INFO(row.command);
    json::Document graph = graphWith(
        std::string{
            R"({"W":{"componentType":"worker","multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"8"}},"extraPodSpec":{"mainContainer":{"command":)"} +
        row.command + R"(,"args":)" + row.args + "}}}}");
    const Children children = rendered(Setup{}, graph);
    REQUIRE(podSpecOf(children, "leader") != nullptr);
    CHECK(commandOf(mainContainerOf(*podSpecOf(children, "leader"))) == row.leader);
  }
}

TEST_CASE("TensorRT-LLM: texts of GPU counts, and the user's volume") {
  const auto leader = [](const std::string& resources, const std::string& pod) {
    json::Document graph = graphWith(
        R"({"W":{"componentType":"worker","multinode":{"nodeCount":2},"resources":)" + resources +
        R"(,"extraPodSpec":{)" + pod + R"("mainContainer":{"args":["python3 -m dynamo.trtllm"]}}}})");
    const Children children = rendered(Setup{}, graph);
    const Value* spec = podSpecOf(children, "leader");
    REQUIRE(spec != nullptr);
    std::string names;
    for (const Value& volume : json::find(*spec, "volumes")->GetArray())
      names += std::string{json::findText(&volume, "name")} + ' ';
    return names + commandOf(mainContainerOf(*spec));
  };
  CHECK(leader(R"({"limits":{"gpu":"+4"}})", "").find(" -n 8 ") != std::string::npos);
  CHECK(leader(R"({"limits":{"custom":{"nvidia.com/gpu":"2k"}}})", "").find(" -n 4000 ") !=
        std::string::npos);
  CHECK(leader(R"({"limits":{"gpu":"4"}})", R"("volumes":[{"name":"mpi-secret","emptyDir":{}}],)")
            .starts_with("mpi-secret shared-memory /bin/sh"));
}

TEST_CASE("a default mount is left out if its path is in use (pod-Q7, pod-Q11b)") {
  json::Document graph = graphWith(
      R"({"E":{"componentType":"epp","eppConfig":{"config":{}},"sharedMemory":{"disabled":true},"extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"mine","mountPath":"/etc/epp"}]}}}})");
  const Children children = rendered(Setup{}, graph);
  const Value* pod = podSpecOf(children, "main");
  REQUIRE(pod != nullptr);
  CHECK(json::dump(*json::find(mainContainerOf(*pod), "volumeMounts")) ==
        R"([{"name":"mine","mountPath":"/etc/epp"},{"name":"hf-cache","mountPath":"/home/nonroot/.cache"}])");
}

TEST_CASE("accounts of planner and endpoint picker (child-Q22)") {
  Setup setup;
  setup.config.rbac.plannerClusterRoleName = "p";
  setup.config.rbac.eppClusterRoleName = "e";
  const auto accounts = [&](const char* services) {
    json::Document graph = graphWith(services);
    const Children children = rendered(setup, graph);
    return std::string{find(children, "ServiceAccount", "planner-serviceaccount") != nullptr ? "p" : ""} +
           (find(children, "ServiceAccount", "epp-serviceaccount") != nullptr ? "e" : "");
  };
  CHECK(accounts(R"({"A":{"componentType":"planner"}})") == "p");
  CHECK(accounts(R"({"A":{"extraPodSpec":{"serviceAccountName":"planner-serviceaccount"}}})") == "p");
  CHECK(accounts(R"({"A":{"componentType":"epp","eppConfig":{"config":{}}}})") == "e");
  CHECK(accounts(R"({"A":{"extraPodSpec":{"serviceAccountName":"epp-serviceaccount"}}})").empty());
  CHECK(accounts(R"({"A":{"componentType":"worker"}})").empty());
}

TEST_CASE("args that are no list are left to the schema") {
  for (const char* command : {R"(["python3"])", R"(["sh","-c"])"}) {
    json::Document graph = graphWith(
        std::string{
            R"({"W":{"componentType":"worker","multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"1"}},"extraPodSpec":{"mainContainer":{"command":)"} +
            command + R"(,"args":"python3 -m dynamo.sglang"}}}})",
        "{}", R"(,"backendFramework":"sglang")");
    CHECK(podSpecOf(rendered(Setup{}, graph), "leader") != nullptr);
  }
}

}  // namespace
}  // namespace dynamo::render::test
