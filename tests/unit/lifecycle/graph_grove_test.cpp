// The status of a graph on Grove.
#include <catch2/catch.hpp>

#include "common/lifecycle/conditions.h"
#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

json::Document setOf(int observed, const std::string& cliques = "[]") {
  return parsed("{'metadata':{'name':'g','uid':'set','generation':2},'spec':{'template':{'cliques':" +
                cliques + "}},'status':{'observedGeneration':" + std::to_string(observed) + "}}");
}

std::string clique(const std::string& name, int replicas, int ready) {
  const std::string count = std::to_string(replicas);
  return "{'apiVersion':'grove.io/v1alpha1','kind':'PodClique','metadata':{'name':'" + name +
         "','uid':'c','generation':1},'spec':{'replicas':" + count +
         "},'status':{'observedGeneration':1,'replicas':" + count + ",'updatedReplicas':" + count +
         ",'readyReplicas':" + std::to_string(ready) + ",'availableReplicas':" + std::to_string(ready) + "}}";
}

TEST_CASE(
    "a graph on Grove is ready when the PodCliqueSet is observed and its cliques are ready (quirk ctl-Q35)") {
  struct Row {
    const char* name;
    int observed;
    int ready;
    const char* condition;
  };
  const Row rows[] = {{"ready", 2, 1, "Ready=True all_resources_are_ready: All resources are ready\n"},
                      {"a clique is not ready", 2, 0,
                       "Ready=False some_resources_are_not_ready: Resources not ready: g-0-frontend: 0 of 1 "
                       "replicas ready\n"},
                      {"Grove has not observed the latest spec", 1, 1,
                       "Ready=False some_resources_are_not_ready: Resources not ready: PodCliqueSet: its "
                       "controller has not observed the latest spec\n"}};
  for (const Row& row : rows) {
    INFO(row.name);
    World world{graphText("{'Frontend':{'replicas':1}}")};
    world.grove = true;
    world.set = setOf(row.observed);
    world.cliques.add(clique("g-0-frontend", 1, row.ready));
    const Outcome outcome = world.pass();
    REQUIRE(outcome.status);
    CHECK(conditionsOf(*outcome.status) == row.condition);
    CHECK(outcome.writes.empty());
  }
}

TEST_CASE("a graph whose PodCliqueSet somebody scaled to 0 tells so") {
  World world{graphText("{'Frontend':{'replicas':1}}")};
  world.grove = true;
  world.set = parsed(
      "{'metadata':{'name':'g','generation':1},'spec':{'replicas':0},'status':{'observedGeneration':1}}");
  const Outcome outcome = world.pass();
  REQUIRE(outcome.status);
  CHECK(conditionsOf(*outcome.status).find("PodCliqueSet: is scaled to 0 replicas") != std::string::npos);
}

TEST_CASE("before a graph has a PodCliqueSet, cliques of a deleted one of the same name are not scaled") {
  World world{graphText("{'Frontend':{'replicas':3}}")};
  world.grove = true;
  std::string text = clique("g-0-frontend", 1, 1);
  world.cliques.add(text.insert(text.find(",'generation'"),
                                ",'ownerReferences':[{'kind':'PodCliqueSet','uid':'x','controller':true}]"));
  CHECK(world.pass().writes.empty());
}

TEST_CASE("cliques of a deleted PodCliqueSet of the same name are not counted") {
  const auto ownedBy = [](const std::string& kind, const std::string& uid) {
    std::string text = clique("g-0-frontend", 1, 1);
    return text.insert(text.find(",'generation'"),
                       ",'ownerReferences':[{'kind':'" + kind + "','uid':'" + uid + "','controller':true}]");
  };
  const std::string ready = "Ready=True all_resources_are_ready: All resources are ready\n";
  const std::string missing =
      "Ready=False some_resources_are_not_ready: Resources not ready: g-0-frontend: does not exist yet\n";
  const std::pair<std::string, std::string> rows[] = {{ownedBy("PodCliqueSet", "set"), ready},
                                                      {ownedBy("PodCliqueSet", "old"), missing},
                                                      {clique("g-0-frontend", 1, 1), ready}};
  for (const auto& [text, condition] : rows) {
    INFO(text);
    World world{graphText("{'Frontend':{'replicas':1}}")};
    world.grove = true;
    world.set = setOf(2);
    world.cliques.add(text);
    const Outcome outcome = world.pass();
    REQUIRE(outcome.status);
    CHECK(conditionsOf(*outcome.status) == condition);
  }
}

TEST_CASE("a service with several nodes is ready when all pods of its cliques are (decision ctl-Q53)") {
  const auto cliqueOf = [](const std::string& name, const char* group, int replicas, int ready,
                           const char* more = "") {
    std::string text = clique(name, replicas, ready);
    text.insert(text.find(",'generation'"),
                ",'ownerReferences':[{'uid':'" + std::string{group} + "','controller':true}]" + more);
    return text;
  };
  struct Row {
    const char* name;
    std::string clique;
    const char* message;
  };
  const Row rows[] = {
      {"all workers", cliqueOf("g-0-worker-0-worker-wkr", "sg", 3, 3), "All resources are ready"},
      {"a worker is missing", cliqueOf("g-0-worker-0-worker-wkr", "sg", 3, 2),
       "Resources not ready: g-0-worker: g-0-worker-0-worker-wkr: 2 of 3 replicas ready"},
      {"a clique of another group", cliqueOf("h-0-worker-0-worker-wkr", "other", 3, 2),
       "All resources are ready"},
      {"a clique that is being deleted",
       cliqueOf("g-0-worker-1-worker-wkr", "sg", 3, 0, ",'deletionTimestamp':'2026-01-01T00:00:00Z'"),
       "All resources are ready"}};
  for (const Row& row : rows) {
    INFO(row.name);
    World world{graphText("{'Worker':{'replicas':1,'multinode':{'nodeCount':4}}}")};
    world.grove = true;
    world.set = setOf(2);
    world.groups.add(
        "{'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueScalingGroup','metadata':{'name':'g-0-worker',"
        "'uid':'sg','generation':1},'spec':{'replicas':1},'status':{'observedGeneration':1,'replicas':1,"
        "'availableReplicas':1,'updatedReplicas':1}}");
    world.cliques.add(row.clique);
    const Outcome outcome = world.pass();
    REQUIRE(outcome.status);
    CHECK(json::findText(findCondition(&*outcome.status, "Ready"), "message") == row.message);
  }
}

TEST_CASE("cliques that do not exist yet have counts of zero (quirk ctl-Q4)") {
  World world{graphText("{'Frontend':{},'Worker':{'multinode':{'nodeCount':2}}}")};
  world.grove = true;
  const Outcome outcome = world.pass();
  CHECK(
      json::dump(*json::find(*outcome.status, "services")) ==
      R"({"Frontend":{"componentKind":"PodClique","componentName":"g-0-frontend","componentNames":["g-0-frontend"],)"
      R"("replicas":0,"updatedReplicas":0,"readyReplicas":0},"Worker":{"componentKind":"PodCliqueScalingGroup",)"
      R"("componentName":"g-0-worker","componentNames":["g-0-worker"],"replicas":0,"updatedReplicas":0,)"
      R"("availableReplicas":0}})");
}

TEST_CASE("cliques are scaled through their scale subresource (quirk child-Q38)") {
  World world{graphText("{'Frontend':{'replicas':3},'Worker':{}}")};
  world.grove = true;
  world.set = setOf(2);
  world.cliques.add(clique("g-0-frontend", 1, 1));
  world.cliques.add(clique("g-0-worker", 5, 5));
  CHECK(writesOf(world.pass().writes) == "scale PodClique/g-0-frontend 3\n");
}

std::string group(const std::string& name, int replicas) {
  std::string text = clique(name, replicas, replicas);
  return text.replace(text.find("'PodClique'"), 11, "'PodCliqueScalingGroup'");
}

std::string readyMessage(World& world) {
  const Outcome outcome = world.pass();
  REQUIRE(outcome.status);
  return std::string{json::findText(findCondition(&*outcome.status, "Ready"), "message")};
}

TEST_CASE("Grove keeps the replicas of a service with several nodes that is wanted with 0 (child-Q43)") {
  World world{graphText("{'Worker':{'replicas':0,'multinode':{'nodeCount':2}}}")};
  world.grove = true;
  world.set = setOf(2);
  world.groups.add(group("g-0-worker", 2));
  const Outcome outcome = world.pass();
  CHECK(outcome.writes.empty());
  REQUIRE(outcome.status);
  CHECK(conditionsOf(*outcome.status) ==
        "Ready=False some_resources_are_not_ready: Resources not ready: g-0-worker: keeps 2 replicas: Grove "
        "does not run a service with several nodes with 0\n");
}

TEST_CASE("an update that waits for a clique with 0 replicas tells so (child-Q43)") {
  World world{graphText("{'Worker':{'replicas':0}}")};
  world.grove = true;
  world.set = setOf(2);
  json::set(*json::find(world.set, "status"), "currentGenerationHash",
            json::string("new", world.set.GetAllocator()), world.set.GetAllocator());
  std::string text = clique("g-0-worker", 0, 0);
  world.cliques.add(
      text.insert(text.find("'replicas':0,'updated"), "'currentPodCliqueSetGenerationHash':'old',"));
  CHECK(readyMessage(world) ==
        "Resources not ready: g-0-worker: Grove does not end the update to the latest spec while it has 0 "
        "replicas");
}

TEST_CASE("a graph tells what its PodCliqueSet cannot change (child-Q35, child-Q43)") {
  const auto set = [](int minAvailable) {
    return setOf(2,
                 "[{'name':'worker-ldr','spec':{'minAvailable':1}},{'name':'worker-wkr','spec':{"
                 "'minAvailable':" +
                     std::to_string(minAvailable) + "}}]");
  };
  World world{graphText("{'Worker':{'replicas':1,'multinode':{'nodeCount':4}}}")};
  world.grove = true;
  world.groups.add(group("g-0-worker", 1));
  world.set = set(3);
  const std::string ready = "All resources are ready";
  CHECK(readyMessage(world) == ready);
  world.set = set(2);
  CHECK(readyMessage(world) ==
        ready +
            "; Grove starts a replica of Worker with 2 of 3 workers, because minAvailable cannot change: "
            "delete PodCliqueSet g to make it anew");
  const Outcome outcome = world.pass();
  const json::Value* status = json::find(json::find(*outcome.status, "services"), "Worker");
  CHECK(json::find(status, "minAvailable")->GetInt64() == 2);
}

TEST_CASE("a graph tells which cliques get the pods of another one (child-Q43)") {
  World world{graphText("{'decode':{'replicas':1},'vllmdecode':{'replicas':1}}")};
  world.grove = true;
  world.set = setOf(2, "[{'name':'decode'},{'name':'vllmdecode'}]");
  world.cliques.add(clique("g-0-decode", 1, 1));
  world.cliques.add(clique("g-0-vllmdecode", 1, 1));
  CHECK(readyMessage(world) ==
        "All resources are ready; Grove gives clique vllmdecode the pods of clique decode, because its name "
        "ends with that name: delete PodCliqueSet g to make it anew");
  world.set = setOf(2, "[{'name':'vllmdecode'},{'name':'decode'}]");
  CHECK(readyMessage(world) == "All resources are ready");
}

TEST_CASE("a graph on Grove reports why its pods do not run") {
  World world{graphText("{'Frontend':{}}")};
  world.grove = true;
  world.set = setOf(2);
  world.cliques.add(clique("g-0-frontend", 1, 0));
  const std::string pod =
      "'status':{'containerStatuses':[{'name':'main','image':'i','state':{'waiting':{'reason':'ErrImagePull'}"
      "}}]}}";
  world.pods.add(
      "{'metadata':{'labels':{'nvidia.com/dynamo-graph-deployment-name':'g','nvidia.com/dynamo-component':"
      "'Frontend'}}," +
      pod);
  world.pods.add(
      "{'metadata':{'labels':{'nvidia.com/dynamo-graph-deployment-name':'other','nvidia.com/"
      "dynamo-component':"
      "'Frontend'}}," +
      pod);
  const Outcome first = world.pass();
  REQUIRE(first.status);
  CHECK(eventsOf(first.events) == "Warning ImagePullFailed: Frontend: cannot pull image \"i\"\n");
  CHECK(conditionsOf(*first.status) ==
        "Ready=False some_resources_are_not_ready: Resources not ready: g-0-frontend: 0 of 1 replicas ready; "
        "cannot "
        "pull image \"i\"\n");
  world.keep(first);
  CHECK(world.pass().events.empty());
}

TEST_CASE("a graph on Grove tells what its pods wait for, without an Event (quirk ctl-Q72)") {
  World world{graphText("{'Frontend':{}}")};
  world.grove = true;
  world.set = setOf(2);
  world.cliques.add(clique("g-0-frontend", 1, 0));
  world.pods.add(
      "{'metadata':{'name':'p','labels':{'nvidia.com/dynamo-graph-deployment-name':'g',"
      "'nvidia.com/dynamo-component':'Frontend'}},'status':{'containerStatuses':[{'name':'main','image':'i',"
      "'started':false,'state':{'running':{'startedAt':'2026-01-02T03:00:00Z'}}}]}}");
  const Outcome outcome = world.pass();
  REQUIRE(outcome.status);
  CHECK(outcome.events.empty());
  CHECK(conditionsOf(*outcome.status) ==
        "Ready=False some_resources_are_not_ready: Resources not ready: g-0-frontend: 0 of 1 replicas ready; "
        "container \"main\" runs, but does not pass its startup probe (see kubectl describe pod p)\n");
}

TEST_CASE("a graph on Grove reports errors of Grove while a service is not ready") {
  World world{graphText("{'Frontend':{}}")};
  world.grove = true;
  world.set = setOf(2);
  json::Document errors = parsed("[{'code':'E','description':'pods is forbidden: exceeded quota: gpus'}]");
  json::set(*json::find(world.set, "status"), "lastErrors", json::copy(errors, world.set.GetAllocator()),
            world.set.GetAllocator());
  world.cliques.add(clique("g-0-frontend", 1, 0));
  const Outcome outcome = world.pass();
  REQUIRE(outcome.status);
  CHECK(
      conditionsOf(*outcome.status) ==
      "Ready=False insufficient_capacity: Resources not ready: PodCliqueSet: Grove reports an error: pods is "
      "forbidden: exceeded quota: gpus; g-0-frontend: 0 of 1 replicas ready\n");
  CHECK(eventsOf(outcome.events) ==
        "Warning QuotaExceeded: PodCliqueSet: Grove reports an error: pods is forbidden: exceeded quota: "
        "gpus\n");

  World ready{graphText("{'Frontend':{}}")};
  ready.grove = true;
  ready.set = json::Document{};
  ready.set.CopyFrom(world.set, ready.set.GetAllocator());
  ready.cliques.add(clique("g-0-frontend", 1, 1));
  CHECK(ready.pass().events.empty());
}

}  // namespace
}  // namespace dynamo::lifecycle::test
