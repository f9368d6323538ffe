// What a PodCliqueSet that exists keeps (decision child-Q35), and what Grove would refuse (child-Q43).
#include "common/render/live_cliques.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::render::test {
namespace {

using json::Value;

struct Rendered {
  json::Document graph;
  Children children;
  const Value* body = nullptr;  ///< spec.template of the PodCliqueSet
};

/// `services` without their containers; `live` is a PodCliqueSet or empty.
Rendered render(std::string_view services, std::string_view live = {}, std::string_view framework = "vllm") {
  Rendered result;
  result.graph = parsed(fmt::format(
      R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{{"name":"g",)"
      R"("namespace":"ns"}},"spec":{{"backendFramework":"{}","services":{{{}}}}}}})",
      framework, services));
  for (auto& service : json::findRaw(*json::findRaw(result.graph, "spec"), "services")->GetObject()) {
    json::Document pod = parsed(
        R"({"mainContainer":{"image":"i","command":["python3","-m","dynamo.vllm"],"args":["--model","m"]}})");
    json::set(service.value, "extraPodSpec", json::copy(pod, result.graph.GetAllocator()),
              result.graph.GetAllocator());
  }
  json::Document set;
  if (!live.empty()) set = parsed(live);
  const Setup setup{Pathway::Grove};
  result.children =
      renderGraph(result.graph, setup.context(), {.podCliqueSet = live.empty() ? nullptr : &set});
  for (const Child& child : result.children.items) {
    if (child.key.kind == "PodCliqueSet")
      result.body = json::find(json::find(child.object, "spec"), "template");
  }
  return result;
}

/// "name replicas/minAvailable" of the cliques, then of the groups.
std::string numbersOf(const Rendered& rendered) {
  if (rendered.body == nullptr) return errorsOf(rendered.children);
  const auto numbers = [](const Value& item, const Value* of) {
    const auto number = [&](std::string_view name) {
      const Value* value = json::find(of, name);
      return value == nullptr ? std::string{"-"} : json::dump(*value);
    };
    return fmt::format("{} {}/{}\n", json::findText(&item, "name"), number("replicas"),
                       number("minAvailable"));
  };
  std::string text;
  for (const Value& clique : json::find(*rendered.body, "cliques")->GetArray())
    text += numbers(clique, json::find(clique, "spec"));
  if (const Value* groups = json::find(*rendered.body, "podCliqueScalingGroups")) {
    for (const Value& group : groups->GetArray()) text += "group " + numbers(group, &group);
  }
  return text;
}

std::string liveSet(std::string_view cliques, std::string_view groups = "[]",
                    std::string_view type = "CliqueStartupTypeAnyOrder") {
  return fmt::format(
      R"({{"kind":"PodCliqueSet","metadata":{{"name":"g"}},"spec":{{"template":{{"cliqueStartupType":"{}",)"
      R"("cliques":{},"podCliqueScalingGroups":{}}}}}}})",
      type, cliques, groups);
}

std::string liveWorkers(int minAvailable, int replicas = 1) {
  return liveSet(fmt::format(R"([{{"name":"w-ldr","spec":{{"minAvailable":1}}}},{{"name":"w-wkr","spec":)"
                             R"({{"minAvailable":{}}}}}])",
                             minAvailable),
                 fmt::format(R"([{{"name":"w","minAvailable":1,"replicas":{}}}])", replicas));
}

std::string workers(int nodes, std::string_view more = "") {
  return fmt::format(R"("w":{{"componentType":"worker","multinode":{{"nodeCount":{}}}{}}})", nodes, more);
}

TEST_CASE(
    "all workers of a new set start together, and a set that exists keeps its minAvailable (child-Q35)") {
  CHECK(numbersOf(render(workers(4))) == "w-ldr 1/1\nw-wkr 3/3\ngroup w -/1\n");
  CHECK(numbersOf(render(workers(2))) == "w-ldr 1/1\nw-wkr 1/1\ngroup w -/1\n");
  CHECK(numbersOf(render(R"("f":{"replicas":3})")) == "f 3/1\n");
  CHECK(numbersOf(render(workers(4), liveWorkers(1))) == "w-ldr 1/1\nw-wkr 3/1\ngroup w -/1\n");
  CHECK(numbersOf(render(workers(8), liveWorkers(3))) == "w-ldr 1/1\nw-wkr 7/3\ngroup w -/1\n");
  CHECK(numbersOf(render(workers(2), liveWorkers(3)))
            .find("spec.services[w].multinode.nodeCount: Invalid value: 2: must be at least 4: PodCliqueSet "
                  "g was made "
                  "with minAvailable 3, which cannot change; delete the PodCliqueSet, or give the service "
                  "another "
                  "name") != std::string::npos);
}

TEST_CASE("no group without replicas is rendered: a set that exists keeps its number (child-Q43)") {
  const std::string zero = workers(2, R"(,"replicas":0)");
  CHECK(numbersOf(render(zero, liveWorkers(1, 5))) == "w-ldr 1/1\nw-wkr 1/1\ngroup w 5/1\n");
  CHECK(numbersOf(render(workers(2, R"(,"replicas":2)"), liveWorkers(1, 5))) ==
        "w-ldr 1/1\nw-wkr 1/1\ngroup w 2/1\n");
  CHECK(numbersOf(render(zero))
            .find("spec.services[w].replicas: Invalid value: 0: Grove needs at least one "
                  "replica of a service with several nodes") != std::string::npos);
}

TEST_CASE("cliques whose name ends with that of another come first in a new set (child-Q43)") {
  const std::string confusing = R"("decode":{},"front":{},"vllmdecode":{})";
  CHECK(numbersOf(render(confusing)) == "vllmdecode 1/1\ndecode 1/1\nfront 1/1\n");
  CHECK(numbersOf(render(R"("front":{},"decode":{})")) == "decode 1/1\nfront 1/1\n");
}

TEST_CASE("a set that exists keeps the order of its cliques and of their start (child-Q35)") {
  const auto named = [](std::string_view name, std::string_view spec = "{}") {
    return fmt::format(R"({{"name":"{}","spec":{}}})", name, spec);
  };
  const std::string order =
      liveSet("[" + named("decode") + "," + named("vllmdecode") + "," + named("front") + "]");
  CHECK(numbersOf(render(R"("decode":{},"front":{},"vllmdecode":{})", order)) ==
        "decode 1/1\nvllmdecode 1/1\nfront 1/1\n");
  const std::string started =
      liveSet("[" + named("w-wkr", R"({"minAvailable":1})") + "," +
                  named("w-ldr", R"({"minAvailable":1,"startsAfter":["w-wkr"]})") + "]",
              R"([{"name":"w","minAvailable":1,"replicas":1}])", "CliqueStartupTypeExplicit");
  const Rendered kept = render(workers(2), started);
  REQUIRE(kept.body != nullptr);
  CHECK(json::findText(kept.body, "cliqueStartupType") == "CliqueStartupTypeExplicit");
  CHECK(numbersOf(kept) == "w-wkr 1/1\nw-ldr 1/1\ngroup w -/1\n");
  const Value& leader = (*json::find(*kept.body, "cliques"))[1];
  CHECK(json::dump(*json::find(json::find(leader, "spec"), "startsAfter")) == R"(["w-wkr"])");
}

TEST_CASE("Grove takes the first clique whose name a PodClique's name ends with") {
  using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;
  CHECK(confusedCliques({"decode", "vllmdecode"}) == Pairs{{"vllmdecode", "decode"}});
  CHECK(confusedCliques({"vllmdecode", "decode"}).empty());
  CHECK(confusedCliques({"a", "b"}).empty());
  CHECK(cliqueOrder({"b", "a"}) == std::vector<std::string_view>{"b", "a"});
  CHECK(cliqueOrder({"a", "ba", "cba"}) == std::vector<std::string_view>{"cba", "ba", "a"});
}

}  // namespace
}  // namespace dynamo::render::test
