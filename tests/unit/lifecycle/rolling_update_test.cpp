// The phases of a managed rolling update.
#include "common/lifecycle/rolling_update.h"

#include <catch2/catch.hpp>

#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

const std::string kOne = "{'Worker':{'componentType':'worker','replicas':1}}";
const std::string kFour = "{'Worker':{'componentType':'worker','replicas':4}}";
const std::string kMoves = "{'rollingUpdate':{'phase':'InProgress','startTime':'2026-01-01T00:00:00Z'}}";

struct Row {
  const char* name;
  std::string graph;
  std::vector<Component> components;
  const char* replicas;  ///< of the new generation
  const char* status;
  const char* writes;
  const char* events;
};

void check(const Row& row) {
  INFO(row.name);
  World world{row.graph};
  for (const Component& component : row.components) world.components.add(component.text());
  const RollingUpdate made = advanceRollingUpdate(world.view(), kNow, world.memory.GetAllocator());
  std::string replicas;
  for (const auto& [service, count] : made.newReplicas) replicas += service + '=' + std::to_string(count);
  CHECK(replicas == row.replicas);
  CHECK(json::dump(made.status) == row.status);
  CHECK(writesOf(made.writes) == row.writes);
  CHECK(eventsOf(made.events) == row.events);
  CHECK(made.inProgress == !replicas.empty());
}

constexpr const char* kSetNew =
    R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"new"}}})"
    "\n";
constexpr const char* kSetOld =
    R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"old"}}})"
    "\n";

TEST_CASE("the annotation names the serving generation (quirk child-Q5)") {
  const Row rows[] = {{"a new graph", graphText(kOne), {}, "", "null", kSetNew, ""},
                      {"no update is due", graphText(kOne, "new"), {{.ready = 1}}, "", "null", "", ""},
                      {"a graph without workers",
                       graphText("{'F':{'componentType':'frontend'}}"),
                       {},
                       "",
                       "null",
                       kSetNew,
                       ""},
                      {"no annotation, available workers of another hash",
                       graphText(kOne),
                       {{.hash = "old", .ready = 1}},
                       "Worker=1",
                       R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
                       kSetOld,
                       "Normal RollingUpdateStarted: updating workers from generation old to new\n"},
                      {"no annotation, unavailable workers of another hash",
                       graphText(kOne),
                       {{.hash = "old"}},
                       "Worker=1",
                       R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
                       kSetNew,
                       "Normal RollingUpdateStarted: updating workers from generation old to new\n"},
                      {"no annotation, workers of the desired hash",
                       graphText(kOne),
                       {{.ready = 1}},
                       "",
                       "null",
                       kSetNew,
                       ""}};
  for (const Row& row : rows) check(row);
}

TEST_CASE("workers of a release without hashes are labelled and replaced") {
  const Row row{
      "legacy",
      graphText(kOne),
      {{.hash = "", .ready = 1}},
      "Worker=1",
      R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
      R"(patch DynamoComponentDeployment/g-worker {"metadata":{"labels":{"nvidia.com/dynamo-worker-hash":"legacy"}}})"
      "\n"
      R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"legacy"}}})"
      "\n",
      "Normal LegacyMigrationStarted: a rolling update replaces workers that have no hash\n"
      "Normal RollingUpdateStarted: updating workers from generation legacy to new\n"};
  check(row);
}

TEST_CASE("the phases of a rolling update (quirk ctl-Q7)") {
  const Row rows[] = {
      {"start",
       graphText(kFour, "old"),
       {{.hash = "old", .replicas = 4, .ready = 4}},
       "Worker=1",
       R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
       "patch DynamoComponentDeployment/g-worker-old {\"spec\":{\"replicas\":3}}\n",
       "Normal RollingUpdateStarted: updating workers from generation old to new\n"},
      {"the new generation exists",
       graphText(kFour, "old", kMoves),
       {{.hash = "old", .replicas = 3, .ready = 3}, {.replicas = 1}},
       "Worker=2",
       R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})",
       "",
       ""},
      {"the target changes: the phase stays, although the new generation does not exist yet",
       graphText(kFour, "old", kMoves),
       {{.hash = "old", .replicas = 3, .ready = 3}, {.hash = "two", .replicas = 1}},
       "Worker=1",
       R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})",
       "patch DynamoComponentDeployment/g-worker-two {\"spec\":{\"replicas\":0}}\n",
       ""},
      {"completion: old generations are deleted first, the annotation comes last",
       graphText(kFour, "old", kMoves),
       {{.hash = "old", .replicas = 0}, {.replicas = 4, .ready = 4}},
       "",
       R"({"phase":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T03:04:05Z","updatedServices":["Worker"]})",
       "delete DynamoComponentDeployment/g-worker-old\n"
       R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"new"}}})"
       "\n",
       "Normal RollingUpdateCompleted: all workers run generation new\n"},
      {"completion whose status was lost",
       graphText(kFour, "new", kMoves),
       {{.replicas = 4, .ready = 4}},
       "",
       R"({"phase":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T03:04:05Z","updatedServices":["Worker"]})",
       "",
       "Normal RollingUpdateCompleted: all workers run generation new\n"},
      {"new workers are ready, an old worker is still ready",
       graphText(kOne, "old", kMoves),
       {{.hash = "old", .ready = 1}, {.ready = 1}},
       "Worker=1",
       R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})",
       "patch DynamoComponentDeployment/g-worker-old {\"spec\":{\"replicas\":0}}\n",
       ""},
      {"a second update",
       graphText(kOne, "old",
                 "{'rollingUpdate':{'phase':'Completed','startTime':'2026-01-01T00:00:00Z','endTime':'x',"
                 "'updatedServices':['Worker']}}"),
       {{.hash = "old", .ready = 1}},
       "Worker=1",
       R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
       "",
       "Normal RollingUpdateStarted: updating workers from generation old to new\n"},
      {"only the annotation is outdated",
       graphText(kOne, "old", "{'rollingUpdate':{'phase':'Completed','startTime':'s','endTime':'e'}}"),
       {{.ready = 1}},
       "",
       R"({"phase":"Completed","startTime":"s","endTime":"e"})",
       kSetNew,
       ""},
      {"zero desired workers",
       graphText("{'Worker':{'componentType':'worker','replicas':0}}", "old", kMoves),
       {{.hash = "old", .replicas = 0}},
       "",
       R"({"phase":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T03:04:05Z","updatedServices":["Worker"]})",
       "delete DynamoComponentDeployment/g-worker-old\n"
       R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"new"}}})"
       "\n",
       "Normal RollingUpdateCompleted: all workers run generation new\n"}};
  for (const Row& row : rows) check(row);
}

TEST_CASE("a rollback is a rolling update (quirk ctl-Q37)") {
  const Row rows[] = {
      {"the first generation still serves: the other one is deleted at once",
       graphText(kOne, "new", kMoves),
       {{.ready = 1}, {.hash = "two"}},
       "",
       R"({"phase":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T03:04:05Z","updatedServices":["Worker"]})",
       "delete DynamoComponentDeployment/g-worker-two\n",
       "Normal RollingUpdateCompleted: all workers run generation new\n"},
      {"the first generation has no replicas: ready pods stay until their successors are ready",
       graphText(kOne, "new", kMoves),
       {{.replicas = 0}, {.hash = "two", .ready = 1}},
       "Worker=1",
       R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})",
       "",
       ""},
      {"an orphaned generation is scaled down",
       graphText(kOne, "new"),
       {{.ready = 1}, {.hash = "two", .ready = 1}},
       "Worker=1",
       R"({"phase":"InProgress","startTime":"2026-01-02T03:04:05Z"})",
       "patch DynamoComponentDeployment/g-worker-two {\"spec\":{\"replicas\":0}}\n",
       "Normal RollingUpdateStarted: updating workers from generation two to new\n"}};
  for (const Row& row : rows) check(row);
}

TEST_CASE("Recreate starts no new pod before the old pods are gone (quirk ctl-Q38)") {
  const std::string graph = graphText(
      "{'Worker':{'componentType':'worker','replicas':2,'annotations':{'nvidia.com/deployment-strategy':"
      "'Recreate'}}}",
      "old", kMoves);
  const char* moving = R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})";
  const Row rows[] = {{"old workers are scaled down",
                       graph,
                       {{.hash = "old", .replicas = 2, .ready = 2}, {.replicas = 0}},
                       "Worker=0",
                       moving,
                       "patch DynamoComponentDeployment/g-worker-old {\"spec\":{\"replicas\":0}}\n",
                       ""},
                      {"their controller has not observed it yet",
                       graph,
                       {{.hash = "old", .replicas = 0, .observed = false}, {.replicas = 0}},
                       "Worker=0",
                       moving,
                       "",
                       ""},
                      {"they are gone, although a child of theirs is refused (decision ctl-Q65)",
                       graph,
                       {{.hash = "old", .replicas = 0, .observed = false, .refused = true}, {.replicas = 0}},
                       "Worker=2",
                       moving,
                       "",
                       ""},
                      {"old workers are gone",
                       graph,
                       {{.hash = "old", .replicas = 0}, {.replicas = 0}},
                       "Worker=2",
                       moving,
                       "",
                       ""},
                      {"some new workers exist already",
                       graph,
                       {{.hash = "old", .replicas = 1, .ready = 1}, {.replicas = 1}},
                       "Worker=1",
                       moving,
                       "patch DynamoComponentDeployment/g-worker-old {\"spec\":{\"replicas\":0}}\n",
                       ""}};
  for (const Row& row : rows) check(row);

  World world{graph};
  world.components.add(Component{.hash = "old", .replicas = 0}.text());
  world.components.add(Component{.replicas = 0}.text());
  world.pods.add(
      "{'metadata':{'labels':{'nvidia.com/dynamo-graph-deployment-name':'g','nvidia.com/dynamo-component':"
      "'Worker','nvidia.com/dynamo-worker-hash':'old'}},'status':{'phase':'Running'}}");
  CHECK(advanceRollingUpdate(world.view(), kNow, world.memory.GetAllocator()).newReplicas.at("Worker") == 0);
}

TEST_CASE("components of other graphs and deleted components are not worker generations") {
  World world{graphText(kOne, "new")};
  std::string foreign = Component{.hash = "x", .ready = 1}.text();
  foreign.replace(foreign.find("'uid':'u'"), 9, "'uid':'v'");
  std::string going = Component{.hash = "y", .ready = 1}.text();
  going.replace(going.find("'metadata':{"), 12, "'metadata':{'deletionTimestamp':'t',");
  world.components.add(foreign);
  world.components.add(going);
  const RollingUpdate made = advanceRollingUpdate(world.view(), kNow, world.memory.GetAllocator());
  CHECK_FALSE(made.inProgress);
  CHECK(made.writes.empty());
}

TEST_CASE("an earlier generation without an owner is adopted, and the workers roll from it (quirk ctl-Q57)") {
  const auto orphan = [](const std::string& label) {
    std::string text = Component{.hash = "0123abcd", .ready = 1}.text();
    const std::string owners = ",'ownerReferences':[{'controller':true,'uid':'u'}]";
    text.erase(text.find(owners), owners.size());
    return text.insert(text.find("'labels':{") + 10,
                       "'nvidia.com/dynamo-graph-deployment-name':'" + label + "',");
  };
  World world{graphText(kOne)};
  world.components.add(orphan("g"));
  const RollingUpdate made = advanceRollingUpdate(world.view(), kNow, world.memory.GetAllocator());
  CHECK(made.inProgress);
  const std::string writes = writesOf(made.writes);
  CHECK(writes.find("patch DynamoComponentDeployment/g-worker-0123abcd") == 0);
  CHECK(
      writes.find(
          R"({"metadata":{"ownerReferences":[{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)"
          R"("name":"g","uid":"u","controller":true,"blockOwnerDeletion":true}]}})") != std::string::npos);

  // Its other owners stay, and the write is for this version of the list.
  std::string text = orphan("g");
  text.insert(text.find("'labels':{"),
              "'resourceVersion':'9','ownerReferences':[{'kind':'Other','uid':'o'}],");
  World shared{graphText(kOne)};
  shared.components.add(text);
  const RollingUpdate both = advanceRollingUpdate(shared.view(), kNow, shared.memory.GetAllocator());
  CHECK(
      writesOf(both.writes)
          .find(
              R"(g-worker-0123abcd@9 {"metadata":{"ownerReferences":[{"apiVersion":"nvidia.com/v1alpha1",)"
              R"("kind":"DynamoGraphDeployment","name":"g","uid":"u","controller":true,"blockOwnerDeletion":true},)"
              R"({"kind":"Other","uid":"o"}]}})") != std::string::npos);

  World other{graphText(kOne)};
  other.components.add(orphan("h"));
  CHECK_FALSE(advanceRollingUpdate(other.view(), kNow, other.memory.GetAllocator()).inProgress);
}

TEST_CASE("Grove completes an update that began on the component pathway") {
  World world{graphText(kOne, "old", kMoves)};
  const RollingUpdate made = endRollingUpdate(world.view(), kNow, world.memory.GetAllocator());
  CHECK_FALSE(made.inProgress);
  CHECK(json::findText(&made.status, "phase") == "Completed");
  CHECK(writesOf(made.writes) == kSetNew);
  World fresh{graphText(kOne)};
  CHECK(endRollingUpdate(fresh.view(), kNow, fresh.memory.GetAllocator()).writes.empty());
}

}  // namespace
}  // namespace dynamo::lifecycle::test
