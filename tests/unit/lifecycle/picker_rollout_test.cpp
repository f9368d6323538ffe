// Endpoint pickers in a rolling update of workers (dec-20).
#include "common/lifecycle/picker_rollout.h"

#include <catch2/catch.hpp>

#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

/// A picker whose pods look for workers in `where`.
std::string picker(const std::string& where, bool ready = true) {
  Component component;
  component.service = "Epp";
  component.hash = "";
  component.ready = ready ? 1 : 0;
  component.more =
      "'dynamoNamespace':'ns-g','extraPodSpec':{'mainContainer':{'env':[{'name':'DYN_NAMESPACE','value':'" +
      where + "'}]}}";
  return component.text();
}

WorkerGeneration generation(const std::string& hash, long long replicas, long long available) {
  WorkerGeneration made;
  made.name = "g-worker-" + hash;
  made.service = "Worker";
  made.hash = hash;
  made.replicas = made.present = replicas;
  made.available = made.ready = available;
  return made;
}

std::string services(const std::string& annotations, int replicas = 2, const std::string& epp = "") {
  return "{'Epp':{'componentType':'epp'" + epp +
         "},'Worker':{'componentType':'worker','replicas':" + std::to_string(replicas) + ",'annotations':{" +
         annotations + "}}}";
}

struct Row {
  const char* name;
  std::string services;
  std::string picker;  ///< empty: does not exist yet
  std::vector<WorkerGeneration> generations;
  std::string named;  ///< "new", or the generation that is named in its place
  long long last;     ///< replicas of the old generation after a step that removes it
};

const std::string kSurge = "";
const std::string kNoSurge =
    "'nvidia.com/deployment-rolling-update-max-surge':'0','nvidia.com/"
    "deployment-rolling-update-max-unavailable':'1'";
const std::string kRecreate = "'nvidia.com/deployment-strategy':'Recreate'";

TEST_CASE("pickers name the new generation when it has its minimum of ready pods (dec-20)") {
  const Row rows[] = {
      {"no new pod is ready",
       services(kSurge),
       picker("ns-g-old"),
       {generation("old", 1, 1), generation("new", 2, 1)},
       "old",
       1},
      {"the minimum is ready",
       services(kSurge),
       picker("ns-g-old"),
       {generation("old", 1, 1), generation("new", 2, 2)},
       "new",
       1},
      {"the picker has been told, and is not ready",
       services(kSurge),
       picker("ns-g-new", false),
       {generation("old", 1, 1), generation("new", 2, 2)},
       "new",
       1},
      {"the picker has been rolled out",
       services(kSurge),
       picker("ns-g-new"),
       {generation("old", 1, 1), generation("new", 2, 2)},
       "new",
       0},
      {"new pods fail later",
       services(kSurge),
       picker("ns-g-new"),
       {generation("old", 1, 1), generation("new", 2, 0)},
       "new",
       0},
      {"an earlier operator set no suffix",
       services(kSurge),
       picker("ns-g"),
       {generation("old", 1, 1), generation("new", 2, 0)},
       "old",
       1},
      {"the picker follows another generation than the serving one",
       services(kSurge),
       picker("ns-g-mid"),
       {generation("old", 1, 1), generation("mid", 1, 1), generation("new", 2, 0)},
       "mid",
       1},
      {"no surge: one less is the minimum",
       services(kNoSurge),
       picker("ns-g-old"),
       {generation("old", 1, 1), generation("new", 1, 1)},
       "new",
       1},
      {"no surge, one replica: the old pod has to go first",
       services(kNoSurge, 1),
       picker("ns-g-old"),
       {generation("old", 1, 1), generation("new", 0, 0)},
       "new",
       0},
      {"Recreate: the old pods have to go first",
       services(kRecreate),
       picker("ns-g-old"),
       {generation("old", 1, 1), generation("new", 0, 0)},
       "new",
       0},
      {"scaled to zero",
       services(kSurge, 0),
       picker("ns-g-old"),
       {generation("old", 1, 1), generation("new", 0, 0)},
       "new",
       0},
      {"the user's namespace",
       services(kSurge, 2, ",'envs':[{'name':'DYN_NAMESPACE','value':'x'}]"),
       picker("x"),
       {generation("old", 1, 1), generation("new", 2, 0)},
       "new",
       0},
      {"no old worker is available",
       services(kSurge),
       picker("ns-g-old"),
       {generation("old", 1, 0), generation("new", 2, 1)},
       "old",
       0},
      {"one of two old generations is available",
       services(kSurge),
       picker("ns-g-old"),
       {generation("old", 1, 0), generation("mid", 1, 1), generation("new", 2, 1)},
       "old",
       1},
      {"old workers are gone",
       services(kSurge),
       picker("ns-g-old"),
       {generation("old", 0, 0), generation("new", 2, 2)},
       "new",
       0},
      {"no picker",
       "{'Worker':{'componentType':'worker','replicas':2}}",
       "",
       {generation("old", 1, 1), generation("new", 2, 0)},
       "new",
       0},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world{graphText(row.services, "old")};
    if (!row.picker.empty()) world.components.add(row.picker);
    RollingStep next;
    for (const WorkerGeneration& each : row.generations) {
      if (each.hash != "new") next.oldReplicas[each.name] = 0;
    }
    const auto named =
        followRollingUpdate(world.view(), "old", row.generations, next, world.memory.GetAllocator());
    CHECK(named.value_or("new") == row.named);
    long long left = 0;
    for (const auto& [name, replicas] : next.oldReplicas) left += replicas;
    CHECK(left == row.last);
  }
}

TEST_CASE("old workers without a hash have no suffix (dec-20)") {
  World world{graphText(services(kSurge), "")};
  world.components.add(picker("ns-g"));
  RollingStep next;
  const auto named = followRollingUpdate(world.view(), "legacy", {generation("new", 2, 0)}, next,
                                         world.memory.GetAllocator());
  REQUIRE(named);
  CHECK(named->empty());
}

TEST_CASE("a plan tells the pickers which generation serves (dec-20)") {
  World world{graphText(services(kSurge), "old")};
  world.components.add(picker("ns-g-old"));
  Component old;
  old.hash = "old";
  old.replicas = old.ready = 2;
  world.components.add(old.text());
  CHECK(world.plan().inputs.pickerHash == std::optional<std::string>{"old"});
  world.hash = "old";
  CHECK_FALSE(world.plan().inputs.pickerHash);
}

}  // namespace
}  // namespace dynamo::lifecycle::test
