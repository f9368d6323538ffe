// The phases of a managed rolling update.
#include "common/lifecycle/rollout.h"

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
  const Rollout made = rollWorkers(world.view(), kNow, world.memory.GetAllocator());
  std::string replicas;
  for (const auto& [service, count] : made.newReplicas) replicas += service + '=' + std::to_string(count);
  CHECK(replicas == row.replicas);
  CHECK(json::dump(made.status) == row.status);
  CHECK(writesOf(made.writes) == row.writes);
  CHECK(eventsOf(made.events) == row.events);
  CHECK(made.underWay == !replicas.empty());
}

constexpr const char* kSetNew =
    R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"new"}}})"
    "\n";
constexpr const char* kSetOld =
    R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"old"}}})"
    "\n";

TEST_CASE("the annotation names the generation that serves (quirk child-Q5)") {
  const Row rows[] = {{"a new graph", graphText(kOne), {}, "", "null", kSetNew, ""},
                      {"nothing is to be done", graphText(kOne, "new"), {{.ready = 1}}, "", "null", "", ""},
                      {"a graph without workers",
                       graphText("{'F':{'componentType':'frontend'}}"),
                       {},
                       "",
                       "null",
                       kSetNew,
                       ""},
                      {"a graph without annotation whose workers serve",
                       graphText(kOne),
                       {{.hash = "old", .ready = 1}},
                       "Worker=1",
                       R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
                       kSetOld,
                       "Normal RollingUpdateStarted: workers roll from old to new\n"},
                      {"a graph without annotation whose old workers never served",
                       graphText(kOne),
                       {{.hash = "old"}},
                       "Worker=1",
                       R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
                       kSetNew,
                       "Normal RollingUpdateStarted: workers roll from old to new\n"},
                      {"a graph without annotation whose workers are of the wanted spec",
                       graphText(kOne),
                       {{.ready = 1}},
                       "",
                       "null",
                       kSetNew,
                       ""}};
  for (const Row& row : rows) check(row);
}

TEST_CASE("workers that a release without hashes made are marked, and rolled") {
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
      "Normal LegacyMigrationStarted: workers without a hash are replaced by a rolling update\n"
      "Normal RollingUpdateStarted: workers roll from legacy to new\n"};
  check(row);
}

TEST_CASE("a rolling update from its start to its end (quirk ctl-Q7)") {
  const Row rows[] = {
      {"it starts",
       graphText(kFour, "old"),
       {{.hash = "old", .replicas = 4, .ready = 4}},
       "Worker=1",
       R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
       "patch DynamoComponentDeployment/g-worker-old {\"spec\":{\"replicas\":3}}\n",
       "Normal RollingUpdateStarted: workers roll from old to new\n"},
      {"the new generation is there",
       graphText(kFour, "old", kMoves),
       {{.hash = "old", .replicas = 3, .ready = 3}, {.replicas = 1}},
       "Worker=2",
       R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})",
       "",
       ""},
      {"it ends: old ones go first, the annotation last",
       graphText(kFour, "old", kMoves),
       {{.hash = "old", .replicas = 0}, {.replicas = 4, .ready = 4}},
       "",
       R"({"phase":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T03:04:05Z","updatedServices":["Worker"]})",
       "delete DynamoComponentDeployment/g-worker-old\n"
       R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"new"}}})"
       "\n",
       "Normal RollingUpdateCompleted: all workers are of new\n"},
      {"the status of its end was lost",
       graphText(kFour, "new", kMoves),
       {{.replicas = 4, .ready = 4}},
       "",
       R"({"phase":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T03:04:05Z","updatedServices":["Worker"]})",
       "",
       "Normal RollingUpdateCompleted: all workers are of new\n"},
      {"new ones are ready, an old one still answers",
       graphText(kOne, "old", kMoves),
       {{.hash = "old", .ready = 1}, {.ready = 1}},
       "Worker=1",
       R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})",
       "patch DynamoComponentDeployment/g-worker-old {\"spec\":{\"replicas\":0}}\n",
       ""},
      {"after one that ended, another starts",
       graphText(kOne, "old",
                 "{'rollingUpdate':{'phase':'Completed','startTime':'2026-01-01T00:00:00Z','endTime':'x',"
                 "'updatedServices':['Worker']}}"),
       {{.hash = "old", .ready = 1}},
       "Worker=1",
       R"({"phase":"Pending","startTime":"2026-01-02T03:04:05Z"})",
       "",
       "Normal RollingUpdateStarted: workers roll from old to new\n"},
      {"only the annotation is old: another operator stopped before it wrote it",
       graphText(kOne, "old", "{'rollingUpdate':{'phase':'Completed','startTime':'s','endTime':'e'}}"),
       {{.ready = 1}},
       "",
       R"({"phase":"Completed","startTime":"s","endTime":"e"})",
       kSetNew,
       ""},
      {"no worker is wanted",
       graphText("{'Worker':{'componentType':'worker','replicas':0}}", "old", kMoves),
       {{.hash = "old", .replicas = 0}},
       "",
       R"({"phase":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T03:04:05Z","updatedServices":["Worker"]})",
       "delete DynamoComponentDeployment/g-worker-old\n"
       R"(patch DynamoGraphDeployment/g@7 {"metadata":{"annotations":{"nvidia.com/current-worker-hash":"new"}}})"
       "\n",
       "Normal RollingUpdateCompleted: all workers are of new\n"}};
  for (const Row& row : rows) check(row);
}

TEST_CASE("going back is a rolling update like any other (quirk ctl-Q37)") {
  const Row rows[] = {
      {"the first generation still serves: what the update made goes at once",
       graphText(kOne, "new", kMoves),
       {{.ready = 1}, {.hash = "two"}},
       "",
       R"({"phase":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T03:04:05Z","updatedServices":["Worker"]})",
       "delete DynamoComponentDeployment/g-worker-two\n",
       "Normal RollingUpdateCompleted: all workers are of new\n"},
      {"it serves no more: ready pods stay until their successors are ready",
       graphText(kOne, "new", kMoves),
       {{.replicas = 0}, {.hash = "two", .ready = 1}},
       "Worker=1",
       R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})",
       "",
       ""},
      {"a generation that somebody left over is drained",
       graphText(kOne, "new"),
       {{.ready = 1}, {.hash = "two", .ready = 1}},
       "Worker=1",
       R"({"phase":"InProgress","startTime":"2026-01-02T03:04:05Z"})",
       "patch DynamoComponentDeployment/g-worker-two {\"spec\":{\"replicas\":0}}\n",
       "Normal RollingUpdateStarted: workers roll from two to new\n"}};
  for (const Row& row : rows) check(row);
}

TEST_CASE("Recreate starts nothing new before the old pods are gone (quirk ctl-Q38)") {
  const std::string graph = graphText(
      "{'Worker':{'componentType':'worker','replicas':2,'annotations':{'nvidia.com/deployment-strategy':"
      "'Recreate'}}}",
      "old", kMoves);
  const char* moving = R"({"phase":"InProgress","startTime":"2026-01-01T00:00:00Z"})";
  const Row rows[] = {
      {"old ones go",
       graph,
       {{.hash = "old", .replicas = 2, .ready = 2}, {.replicas = 0}},
       "Worker=0",
       moving,
       "patch DynamoComponentDeployment/g-worker-old {\"spec\":{\"replicas\":0}}\n",
       ""},
      {"their controller has not seen it yet",
       graph,
       {{.hash = "old", .replicas = 0, .observed = false}, {.replicas = 0}},
       "Worker=0",
       moving,
       "",
       ""},
      {"they are gone", graph, {{.hash = "old", .replicas = 0}, {.replicas = 0}}, "Worker=2", moving, "", ""},
      {"some new ones are there already",
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
  CHECK(rollWorkers(world.view(), kNow, world.memory.GetAllocator()).newReplicas.at("Worker") == 0);
}

TEST_CASE("components of others, and those that go, are no generations") {
  World world{graphText(kOne, "new")};
  std::string foreign = Component{.hash = "x", .ready = 1}.text();
  foreign.replace(foreign.find("'uid':'u'"), 9, "'uid':'v'");
  std::string going = Component{.hash = "y", .ready = 1}.text();
  going.replace(going.find("'metadata':{"), 12, "'metadata':{'deletionTimestamp':'t',");
  world.components.add(foreign);
  world.components.add(going);
  const Rollout made = rollWorkers(world.view(), kNow, world.memory.GetAllocator());
  CHECK_FALSE(made.underWay);
  CHECK(made.writes.empty());
}

TEST_CASE("on Grove an update that the other pathway began is over") {
  World world{graphText(kOne, "old", kMoves)};
  const Rollout made = leaveRollout(world.view(), kNow, world.memory.GetAllocator());
  CHECK_FALSE(made.underWay);
  CHECK(json::findText(&made.status, "phase") == "Completed");
  CHECK(writesOf(made.writes) == kSetNew);
  World fresh{graphText(kOne)};
  CHECK(leaveRollout(fresh.view(), kNow, fresh.memory.GetAllocator()).writes.empty());
}

}  // namespace
}  // namespace dynamo::lifecycle::test
