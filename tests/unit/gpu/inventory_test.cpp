// The GPUs of a cluster, and what a request is told of them.
#include "common/gpu/inventory.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <utility>

#include "common/gpu/exporter_pods.h"
#include "common/gpu/request_hardware.h"
#include "common/json/parse.h"

namespace dynamo::gpu::test {
namespace {

json::Document document(std::string_view text) {
  json::Document made;
  REQUIRE_FALSE(json::parse(text, made));
  return made;
}

Inventory inventoryOf(std::vector<GpuNode> nodes) {
  Inventory made;
  made.namespaces = {"gpu-operator", "own"};
  made.exporters = nodes.size();
  for (GpuNode& node : nodes) addNode(made, std::move(node));
  return made;
}

TEST_CASE("models and their values of gpuSku") {
  const std::pair<const char*, const char*> rows[] = {
      {"NVIDIA-B200", "b200_sxm"},
      {"NVIDIA GB200", "gb200_sxm"},
      {"h100 sxm5-80gb", "h100_sxm"},
      {"NVIDIA H100 80GB HBM3", "h100_sxm"},
      {"NVIDIA H100 PCIe", "h100_sxm"},
      {"NVIDIA GH200 480GB", "h200_sxm"},
      {"NVIDIA-H-200", "h200_sxm"},
      {"NVIDIA A100-SXM4-80GB", "a100_sxm"},
      {"NVIDIA-L40S", "l40s"},
      // No value: the model itself.
      {"NVIDIA L40", "NVIDIA L40"},
      {"Tesla V100", "Tesla V100"},
      {"NVIDIA GB300", "NVIDIA GB300"},
      {"NVIDIA H20", "NVIDIA H20"},
      {"NVIDIA H800", "NVIDIA H800"},
      {"", ""},
  };
  for (const auto& [model, sku] : rows) {
    INFO(model);
    CHECK(skuOf(model) == sku);
  }
}

TEST_CASE("labels of GPU feature discovery") {
  const auto found = [](std::string_view count, std::string_view product, std::string_view memory) {
    const auto node = nodeOfLabels(document(fmt::format(
        R"({{"metadata":{{"name":"n","labels":{{"nvidia.com/gpu.count":{},"nvidia.com/gpu.product":{},"nvidia.com/gpu.memory":{}}}}}}})",
        count, product, memory)));
    return node ? fmt::format("{}: {} x {}, {}", node->name, node->gpus, node->model, node->vramMb) : "";
  };
  CHECK(found(R"("8")", R"("NVIDIA-H100")", R"("81559")") == "n: 8 x NVIDIA-H100, 81559");
  for (const char* wrong :
       {R"("0")", R"("-1")", R"("eight")", R"("8 ")", R"("")", "null", "8", R"("99999999999999999999")"}) {
    INFO(wrong);
    CHECK(found(wrong, R"("NVIDIA-H100")", R"("81559")").empty());
    CHECK(found(R"("8")", R"("NVIDIA-H100")", wrong).empty());
  }
  CHECK(found(R"("8")", R"("")", R"("81559")").empty());
  CHECK_FALSE(nodeOfLabels(document(R"({"metadata":{"name":"n"}})")));
  CHECK_FALSE(nodeOfLabels(document("{}")));
}

TEST_CASE("the pods of exporters (decision life-Q40)") {
  const std::string owned =
      R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"u","controller":true}])";
  const auto url = [](std::string_view metadata, std::string_view status) {
    const auto found = exporterOf(document(fmt::format(
        R"({{"metadata":{{"namespace":"g","name":"p"{}{}}},"spec":{{"nodeName":"n"}},"status":{{{}}}}})",
        metadata.empty() ? "" : ",", metadata, status)));
    if (!found) return std::string{};
    CHECK((found->pod == "g/p" && found->node == "n"));
    return found->url;
  };
  const std::string running = R"("phase":"Running","podIP":"10.1.2.3")";
  CHECK(url(owned, running) == "http://10.1.2.3:9400/metrics");
  CHECK(url(owned, R"("phase":"Running","podIP":"fd00::1")") == "http://[fd00::1]:9400/metrics");
  struct Row {
    const char* what;
    std::string metadata;
    std::string status;
  };
  const Row rows[] = {
      {"without a controller", "", running},
      {"of a ReplicaSet",
       R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"d","uid":"u","controller":true}])",
       running},
      {"of a DaemonSet that is no controller",
       R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"u"}])", running},
      {"of another kind of this name",
       R"("ownerReferences":[{"apiVersion":"a.example/v1","kind":"DaemonSet","name":"d","uid":"u","controller":true}])",
       running},
      {"being deleted", owned + R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")", running},
      {"pending", owned, R"("phase":"Pending","podIP":"10.1.2.3")"},
      {"without an address", owned, R"("phase":"Running")"},
      {"with an address that is none", owned, R"("phase":"Running","podIP":"10.1.2.3@evil")"},
  };
  for (const Row& each : rows) {
    INFO(each.what);
    CHECK(url(each.metadata, each.status).empty());
  }
  const auto pod = document(fmt::format(R"({{"metadata":{{{}}},"status":{{{}}}}})", owned, running));
  CHECK(exporterOf(pod, "http://127.0.0.1:9400/m.txt")->url == "http://127.0.0.1:9400/m.txt");
  CHECK(exporterOf(pod, "http://{POD_IP}/{POD_IP}")->url == "http://10.1.2.3/10.1.2.3");
}

TEST_CASE("URLs of metrics") {
  const auto parts = [](std::string_view url) {
    const auto found = parseMetricsUrl(url);
    return found ? fmt::format("{} {} {}", found->address, found->port, found->path) : "";
  };
  CHECK(parts("http://10.1.2.3:9400/metrics") == "10.1.2.3 9400 /metrics");
  CHECK(parts("http://[fd00::1]:9400/metrics?a=b") == "fd00::1 9400 /metrics?a=b");
  CHECK(parts("http://[fd00::1]") == "fd00::1 80 /");
  CHECK(parts("http://10.1.2.3") == "10.1.2.3 80 /");
  for (const char* wrong :
       {"", "10.1.2.3", "https://10.1.2.3/", "http://", "http:///metrics", "http://host:9400/",
        "http://10.1.2.3:/", "http://10.1.2.3:0/", "http://10.1.2.3:65536/", "http://10.1.2.3:9x/",
        "http://a@10.1.2.3/", "http://10.1.2.3/a b", "http://10.1.2.3/\r\nX: y", "http://[fd00::1/",
        "http://fd00::1]/"}) {
    INFO(wrong);
    CHECK(parts(wrong).empty());
  }
}

TEST_CASE("the node that counts") {
  const GpuNode a100{"a", "NVIDIA A100", 4, 80000};
  const GpuNode h100{"b", "NVIDIA H100", 8, 40000};
  const GpuNode h200{"c", "NVIDIA H200", 8, 141000};
  const auto chosen = [](std::vector<GpuNode> nodes, std::string_view sku = "") {
    const auto choice = choose(inventoryOf(std::move(nodes)), sku);
    if (!choice) return std::string{};
    const render::HardwareFact& found = choice->hardware;
    return fmt::format("{} {} {} {} {}{}", choice->node.name, found.gpuSku, found.vramMb, found.perNode,
                       found.inTotal, choice->asRequested ? "" : " other");
  };
  CHECK(chosen({}).empty());
  CHECK(chosen({a100, h100}) == "b h100_sxm 40000 8 8");
  CHECK(chosen({h100, h200}) == "c h200_sxm 141000 8 8");
  CHECK(chosen({h200, {"d", "NVIDIA H200", 8, 141000}}) == "c h200_sxm 141000 8 16");
  CHECK(chosen({a100, h100, h200}, "a100_sxm") == "a a100_sxm 80000 4 4");
  CHECK(chosen({a100, h100}, "l40s") == "b h100_sxm 40000 8 8 other");
  // life-Q41: two exporters on a node count once, and GPUs of other models do not count.
  CHECK(chosen({h100, {"b", "NVIDIA H100", 8, 1}, a100}) == "b h100_sxm 40000 8 8");
  std::vector<GpuNode> five;
  for (const char* name : {"a", "b", "c", "d", "e"}) five.push_back({name, "NVIDIA H100", 8, 1});
  CHECK(chosen(five) == "a h100_sxm 1 8 32");
  CHECK(chosen({{"v", "Tesla V100", 8, 32000}}) == "v Tesla V100 32000 8 8");
}

std::string told(std::string_view hardware, const Inventory& inventory) {
  const RequestHardware result =
      hardwareFor(document(fmt::format(R"({{"spec":{{"hardware":{}}}}})", hardware)), inventory);
  CHECK(result.found.empty() == !result.hardware.has_value());
  CHECK(result.found.empty() == !result.problem.empty());
  return result.found + result.problem;
}

TEST_CASE("what a request is told (decision life-Q42)") {
  Inventory found =
      inventoryOf({{"a", "NVIDIA H100 80GB HBM3", 8, 81507}, {"b", "NVIDIA H100 80GB HBM3", 1, 81507}});
  const std::string h100 =
      "node a has 8 GPUs NVIDIA H100 80GB HBM3 (h100_sxm) of 81507 MiB, 9 such GPUs in total on 2 nodes";
  CHECK(told("null", found) == h100 + "; found by DCGM exporters");
  CHECK(told(R"({"gpuSku":"l40s"})", found) == h100 +
                                                   "; no node has GPUs of spec.hardware.gpuSku l40s, so only "
                                                   "numGpusPerNode is taken from it; found by DCGM "
                                                   "exporters");
  found.problems = {"pod g/x: connection refused"};
  CHECK(told("{}", found) == h100 + "; found by DCGM exporters; not read: pod g/x: connection refused");
  found = inventoryOf({});
  addNode(found, {"", "Tesla V100", 1, 0});
  found.source = Source::NodeLabels;
  CHECK(told("{}", found) ==
        "node without a name has 1 GPU Tesla V100, 1 such GPU in total on 1 node; found by labels of GPU "
        "feature "
        "discovery, because no DCGM exporter runs in namespaces gpu-operator, own");
  found.nodes.assign(1, {"a", "NVIDIA H100", 40, 1});
  found.exporters = 2;
  CHECK(told("{}", found) ==
        "node a has 40 GPUs NVIDIA H100 (h100_sxm) of 1 MiB, 40 such GPUs in total on 1 node, of which "
        "profiling uses "
        "32; found by labels of GPU feature discovery, because 2 DCGM exporters gave no metrics of GPUs");
}

TEST_CASE("why nothing was found, and what to add") {
  const std::string failed = "GPU hardware info required but auto-discovery failed. Add ";
  const std::string labels =
      "no node has the labels nvidia.com/gpu.product, nvidia.com/gpu.count and nvidia.com/gpu.memory";
  Inventory none = inventoryOf({});
  none.labelsRead = true;
  const std::string all = "spec.hardware.gpuSku, spec.hardware.vramMb, spec.hardware.numGpusPerNode: ";
  const std::string absent = "no DCGM exporter runs in namespaces gpu-operator, own; " + labels;
  CHECK(told("null", none) == failed + all + absent);
  CHECK(told(R"({"totalGpus":8})", none) == failed + all + absent);
  CHECK(told(R"({"vramMb":8})", none) ==
        failed + "spec.hardware.gpuSku, spec.hardware.numGpusPerNode: " + absent);
  CHECK(told(R"({"gpuSku":"l40s"})", none) == failed + "spec.hardware.numGpusPerNode: " + absent);
  CHECK(told(R"({"numGpusPerNode":8})", none) == failed + "spec.hardware.gpuSku: " + absent);
  none.namespaces = {"own"};
  none.labelsRead = false;
  none.problems = {"pods in namespace gpu-operator: forbidden", "nodes: forbidden"};
  CHECK(told("{}", none) ==
        failed + all +
            "no DCGM exporter runs in namespace own; not read: pods in namespace gpu-operator: "
            "forbidden; nodes: forbidden");
  none = {};
  CHECK(told("{}", none) == failed + all + "gpu.exporterNamespaces of the operator's configuration is empty");
  none.exporters = 7;
  for (int i = 0; i < 7; ++i) none.problems.push_back(fmt::format("p{}", i));
  CHECK(told("{}", none) ==
        failed + all + "7 DCGM exporters gave no metrics of GPUs; not read: p0; p1; p2; p3; p4; and 2 more");
  addNode(none, {"a", "", 8, 1});
  none.problems.clear();
  CHECK(told("{}", none) ==
        failed + "" + all +
            "the model is unknown: node a has 8 GPUs of 1 MiB, 8 such GPUs in total on 1 node; "
            "found by DCGM exporters");
}

}  // namespace
}  // namespace dynamo::gpu::test
