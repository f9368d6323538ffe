// The Events of an object and of what belongs to it.

#include "controller/view/object_events.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "../lifecycle/support.h"

namespace dynamo::view::test {
namespace {

using lifecycle::test::kNow;
using lifecycle::test::Objects;

/// An Event about KIND/NAME. `rest`: further members.
std::string event(const std::string& kind, const std::string& name, const std::string& rest) {
  return "{'apiVersion':'v1','kind':'Event','metadata':{'name':'e'},'reason':'R','message':'m',"
         "'involvedObject':{'kind':'" +
         kind + "','name':'" + name + "'}," + rest + "}";
}

std::string at(const std::string& seconds) {
  return "'type':'Normal','lastTimestamp':'2026-01-02T03:00:" + seconds + "Z'";
}

Node node(const std::string& kind, const std::string& name, std::vector<Node> children = {}) {
  Node made;
  made.kind = kind;
  made.name = name;
  made.children = std::move(children);
  return made;
}

/// The objects that the Events of the graph "g" with `nodes` are about, in their order.
std::vector<std::string> about(const std::vector<Node>& nodes, const std::vector<std::string>& events) {
  const Objects objects{events};
  std::vector<std::string> found;
  for (const ObjectEvent& each : eventsOf(objects.view(), "DynamoGraphDeployment", "g", nodes))
    found.push_back(each.object);
  return found;
}

}  // namespace

TEST_CASE("Events of the object and of everything below it, oldest first") {
  const std::vector<Node> nodes = {node("service", "A", {node("Deployment", "g-a", {node("Pod", "g-a-1")})})};
  CHECK(about(nodes, {event("Pod", "g-a-1", at("03")), event("DynamoGraphDeployment", "g", at("01")),
                      event("Deployment", "g-a", at("02")), event("Pod", "other", at("00")),
                      event("DynamoGraphDeployment", "g-2", at("00")), event("Service", "g-a", at("00"))}) ==
        std::vector<std::string>{"DynamoGraphDeployment/g", "Deployment/g-a", "Pod/g-a-1"});
}

TEST_CASE("objects between a workload and its pods count by their names") {
  struct Row {
    std::string workload;
    std::string kind;
    std::string name;
    bool found;
  };
  const std::vector<Row> rows = {
      {"Deployment", "ReplicaSet", "w-5c8f6b", true},
      {"Deployment", "ReplicaSet", "w-5c8f6b7d9c", true},
      {"Deployment", "ReplicaSet", "w-5c8f6b7d9c4", false},  // longer than a hash
      {"Deployment", "ReplicaSet", "w-worker", false},       // a hash has no vowels
      {"Deployment", "ReplicaSet", "w-", false},
      {"Deployment", "ReplicaSet", "w", false},
      {"Deployment", "ReplicaSet", "v-5c8f6b", false},
      {"Deployment", "StatefulSet", "w", false},
      {"LeaderWorkerSet", "StatefulSet", "w", true},
      {"LeaderWorkerSet", "StatefulSet", "w-0", true},
      {"LeaderWorkerSet", "StatefulSet", "w-12", true},
      {"LeaderWorkerSet", "StatefulSet", "w-a", false},
      {"LeaderWorkerSet", "StatefulSet", "w-", false},
      {"LeaderWorkerSet", "ReplicaSet", "w-5c8f6b", false},
  };
  for (const Row& row : rows) {
    INFO(row.workload << " " << row.kind << " " << row.name);
    CHECK(about({node(row.workload, "w")}, {event(row.kind, row.name, at("00"))}).empty() != row.found);
  }
}

TEST_CASE("the time and the count of an Event are those of its series if it has one") {
  const Objects objects{std::vector<std::string>{
      event("DynamoGraphDeployment", "g",
            "'type':'Warning','eventTime':'2026-01-02T02:00:00.000000Z','lastTimestamp':null,"
            "'series':{'count':7,'lastObservedTime':'2026-01-02T03:03:05.000000Z'}"),
      event("DynamoGraphDeployment", "g", "'type':'Normal','eventTime':'2026-01-02T03:02:05.000000Z'"),
      event("DynamoGraphDeployment", "g", "'type':'Normal','count':3," + at("05").substr(16)),
      event("DynamoGraphDeployment", "g", "'type':'Normal'")}};
  const auto events = eventsOf(objects.view(), "DynamoGraphDeployment", "g", {});
  CHECK(toText(events, {Style{}, kNow}) ==
        "LAST SEEN  TYPE     REASON  OBJECT                   MESSAGE\n"
        "           Normal   R       DynamoGraphDeployment/g  m\n"
        "4m         Normal   R       DynamoGraphDeployment/g  m (3 times)\n"
        "2m         Normal   R       DynamoGraphDeployment/g  m\n"
        "60s        Warning  R       DynamoGraphDeployment/g  m (7 times)\n");
}

}  // namespace dynamo::view::test
