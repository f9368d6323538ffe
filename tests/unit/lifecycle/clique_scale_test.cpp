// Who decides about the replicas of PodCliques.
#include "common/lifecycle/clique_scale.h"

#include <catch2/catch.hpp>

#include <chrono>

#include "common/json/build.h"
#include "common/k8s/object_key.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

json::Document setOf(const std::string& cliques) {
  return parsed("{'metadata':{'name':'g','uid':'set','generation':2},'spec':{'template':{'cliques':" +
                cliques + "}},'status':{'observedGeneration':2}}");
}

/// A clique "g-0-worker" of 5 replicas, and the entries of its managedFields.
std::string scaledClique(const std::string& entries, int replicas = 5) {
  const std::string count = std::to_string(replicas);
  return "{'apiVersion':'grove.io/"
         "v1alpha1','kind':'PodClique','metadata':{'name':'g-0-worker','namespace':'n',"
         "'uid':'c','resourceVersion':'7','generation':1,'managedFields':[" +
         entries + "]},'spec':{'replicas':" + count +
         "},'status':{'observedGeneration':1,'replicas':" + count + ",'updatedReplicas':" + count +
         ",'readyReplicas':" + count + "}}";
}

std::string entry(const std::string& manager, const std::string& subresource) {
  return "{'manager':'" + manager + "','operation':'Update','subresource':'" + subresource +
         "','time':'2026-01-01T00:00:00Z','fieldsV1':{'f:spec':{'f:replicas':{}}}}";
}

/// A set whose template has `replicas` of the worker, and whose annotation records `record`.
json::Document recordingSet(int replicas, const std::string& record = "") {
  json::Document set = setOf("[{'name':'worker','spec':{'replicas':" + std::to_string(replicas) + "}}]");
  auto& allocator = set.GetAllocator();
  if (record.empty()) return set;
  json::Value& metadata = *json::find(set, "metadata");
  json::set(json::ensureObject(metadata, "annotations", allocator), render::kRenderedReplicas,
            json::string(record, allocator), allocator);
  return set;
}

TEST_CASE("whoever changed the replicas of a clique last wins (decision ctl-Q45)") {
  const std::string grove =
      "{'manager':'grove','operation':'Update','fieldsV1':{'f:spec':{'f:podSpec':{},'f:replicas':{}}}}";
  const std::string unowned =
      "{'manager':'grove','operation':'Update','fieldsV1':{'f:spec':{'f:podSpec':{}}}}";
  const std::string hand = entry("kubectl", "scale");
  const std::string ready = "All resources are ready";
  const std::string told = "; kubectl scales PodClique.grove.io n/g-0-worker: ";
  const std::string scaling = "Resources not ready: g-0-worker: is being scaled from 5 to 3 replicas";
  struct Row {
    const char* name;
    int wanted;
    std::string clique;
    json::Document set;
    const char* writes;
    std::string message;
    std::string record;  ///< what the next PodCliqueSet records; empty: nothing
  };
  Row rows[] = {
      {"Grove's number", 3, scaledClique(grove), recordingSet(3), "scale PodClique/g-0-worker 3\n", scaling,
       ""},
      {"the operator's number", 3, scaledClique(entry("dynamo-controller", "scale")), recordingSet(3),
       "scale PodClique/g-0-worker 3\n", scaling, ""},
      {"the reference operator's number", 3, scaledClique(entry("manager", "scale")), recordingSet(3),
       "scale PodClique/g-0-worker 3\n", scaling, ""},
      {"an edit", 3, scaledClique(entry("kubectl-edit", "")), recordingSet(3),
       "scale PodClique/g-0-worker 3\n", scaling, ""},
      {"a hand", 3, scaledClique(hand), recordingSet(3), "", ready + told + "5 replicas instead of 3", ""},
      {"a hand with the wanted number", 5, scaledClique(hand), recordingSet(5), "", ready, ""},
      {"a hand, then another number is rendered", 3, scaledClique(hand), recordingSet(2),
       "scale PodClique/g-0-worker 3\n", scaling, R"({"worker":2})"},
      // The controller was restarted after the set had been written.
      {"a hand, then another number, which the set has already", 3, scaledClique(hand),
       recordingSet(3, R"({"worker":2})"), "scale PodClique/g-0-worker 3\n", scaling, R"({"worker":2})"},
      {"the record of a number that has been written", 3,
       scaledClique(entry("dynamo-controller", "scale"), 3), recordingSet(3, R"({"worker":2})"), "", ready,
       ""},
      {"a hand, and nothing is known of the set", 3, scaledClique(hand), setOf("[]"), "",
       ready + told + "5 replicas instead of 3", ""},
      {"a hand's 0", 3, scaledClique(unowned, 0), recordingSet(3), "",
       "Resources not ready: g-0-worker: is scaled to 0 replicas instead of 3; somebody scales "
       "PodClique.grove.io n/g-0-worker: 0 replicas instead of 3",
       ""},
      // Grove has made the rendered 0 a 1 in the set.
      {"a rendered 0", 0, scaledClique(unowned, 0), recordingSet(1), "", ready, R"({"worker":0})"},
      {"a hand after a rendered 0", 0, scaledClique(hand), recordingSet(1, R"({"worker":0})"), "",
       ready + told + "5 replicas instead of 0", R"({"worker":0})"},
      {"another number after a rendered 0", 5, scaledClique(unowned, 0), recordingSet(1, R"({"worker":0})"),
       "scale PodClique/g-0-worker 5\n",
       "Resources not ready: g-0-worker: is being scaled from 0 to 5 replicas", R"({"worker":0})"},
      {"a record that cannot be read", 3, scaledClique(hand), recordingSet(3, "[]"), "",
       ready + told + "5 replicas instead of 3", ""},
  };
  for (Row& row : rows) {
    INFO(row.name);
    World world{graphText("{'Worker':{'replicas':" + std::to_string(row.wanted) + "}}")};
    world.grove = true;
    world.set.Swap(row.set);
    world.cliques.add(row.clique);
    const Outcome outcome = world.pass();
    CHECK(writesOf(outcome.writes) == row.writes);
    REQUIRE(outcome.status);
    CHECK(json::findText(findCondition(&*outcome.status, "Ready"), "message") == row.message);
    world.keep(outcome);
    CHECK(world.pass().events.empty());

    render::Children children;
    json::Document next = parsed(
        "{'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueSet','metadata':{'name':'g','namespace':'n'}}");
    children.add(json::copy(next, children.memory()));
    recordReplicas(world.view(), children);
    CHECK(json::findText(annotationsOf(children.items[0].object), render::kRenderedReplicas) == row.record);
  }
}

TEST_CASE("a writer who scales a clique causes one Event (decision ctl-Q45)") {
  World world{graphText("{'Worker':{'replicas':3}}")};
  world.grove = true;
  world.set = recordingSet(3);
  world.cliques.add(scaledClique(entry("hpa", "scale")));
  const Outcome first = world.pass();
  CHECK(eventsOf(first.events) ==
        "Warning ReplicasOverridden: hpa scales PodClique.grove.io n/g-0-worker: 5 replicas instead of 3\n");
  world.keep(first);
  world.cliques = Objects{{scaledClique(entry("hpa", "scale"), 6)}};
  const Outcome second = world.pass();
  CHECK(second.events.empty());
  CHECK(conditionsOf(*second.status).find("6 replicas instead of 3") != std::string::npos);
}

TEST_CASE("a number that somebody keeps writing is written back after longer times (decision ctl-Q67)") {
  using namespace std::chrono_literals;
  World world{graphText("{'Worker':{'replicas':3}}")};
  world.grove = true;
  world.set = recordingSet(3);
  render::Contests contests;
  render::Clock::time_point now{1h};
  int version = 100;
  std::vector<render::Clock::time_point> writes;
  std::string events;
  // The rival writes the main resource 100 ms after each write of the operator.
  for (const auto end = now + 60s; now < end; now += 100ms) {
    std::string text = scaledClique(entry("rival", ""));
    text.replace(text.find("'7'"), 3, "'" + std::to_string(version) + "'");
    world.cliques = Objects{{text}};
    GraphView view = world.view();
    view.contests = &contests;
    view.clock = now;
    Outcome outcome = graphOutcome(view, world.plan(), {}, kNow, world.memory.GetAllocator());
    events += eventsOf(outcome.events);
    for (const Write& write : outcome.writes) {
      REQUIRE(write.plan);
      contests.remember(k8s::keyOf(*view.podCliques[0]), *write.plan, now);
      writes.push_back(now);
      ++version;
    }
    if (outcome.writes.empty()) CHECK(outcome.requeueAfter.has_value());
    if (outcome.status) world.keep(outcome);
  }
  REQUIRE(writes.size() == 7);  // at 0, 0.1, 1.1, 3.1, 7.1, 15.1 and 31.1 s
  CHECK(writes[1] - writes[0] == 100ms);
  CHECK(writes[6] - writes[5] == 16s);
  CHECK(events ==
        "Warning FieldContested: rival keeps changing spec.replicas of PodClique.grove.io n/g-0-worker\n");
}

TEST_CASE("a clique is not scaled again before the watch has told of it") {
  using namespace std::chrono_literals;
  World world{graphText("{'Worker':{'replicas':3}}")};
  world.grove = true;
  world.set = recordingSet(3);
  world.cliques.add(scaledClique(""));
  render::Contests contests;
  const render::Clock::time_point start{1h};
  std::vector<render::Clock::duration> writes;
  for (render::Clock::duration after = 0s; after <= 6s; after += 1s) {
    GraphView view = world.view();
    view.contests = &contests;
    view.clock = start + after;
    const Outcome outcome = graphOutcome(view, world.plan(), {}, kNow, world.memory.GetAllocator());
    if (outcome.writes.empty()) continue;
    contests.remember(k8s::keyOf(*view.podCliques[0]), *outcome.writes[0].plan, view.clock);
    writes.push_back(after);
  }
  CHECK(writes == std::vector<render::Clock::duration>{0s, 5s});
}

}  // namespace
}  // namespace dynamo::lifecycle::test
