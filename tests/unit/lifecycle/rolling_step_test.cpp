// Steps of managed rolling updates (quirks ctl-Q8, ctl-Q44).
#include <catch2/catch.hpp>

#include "common/lifecycle/rolling_step.h"
#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

TEST_CASE("annotations limit surge and unavailability") {
  struct Row {
    const char* surge;
    const char* unavailable;
    long long desired;
    RollingLimits limits;
  };
  const Row rows[] = {{"", "", 4, {1, 1}},    {"2", "", 4, {2, 1}},    {"", "0", 4, {1, 0}},
                      {"+2", "", 4, {2, 1}},  {"50%", "", 4, {2, 1}},  {"", "50%", 4, {1, 2}},
                      {"0", "0", 4, {1, 0}},  {"0", "1", 4, {0, 1}},   {"34%", "", 3, {2, 0}},
                      {"", "34%", 3, {1, 1}}, {"x", "y%", 4, {1, 0}},  {"", "", 1, {1, 0}},
                      {"-1", "1", 4, {0, 1}}, {"100%", "9", 2, {2, 2}}};
  for (const Row& row : rows) {
    INFO(row.surge << ' ' << row.unavailable << ' ' << row.desired);
    const json::Document service = parsed(
        std::string{R"({"annotations":{"nvidia.com/deployment-rolling-update-max-surge":")"} + row.surge +
        R"(","nvidia.com/deployment-rolling-update-max-unavailable":")" + row.unavailable + "\"}}");
    CHECK(rollingLimits(service, row.desired) == row.limits);
  }
}

json::Document graphWith(const std::string& services) {
  return parsed(R"({"spec":{"services":)" + services + "}}");
}

std::string text(const std::map<std::string, long long, std::less<>>& counts) {
  std::string out;
  for (const auto& [name, count] : counts)
    out += (out.empty() ? "" : " ") + name + '=' + std::to_string(count);
  return out;
}

WorkerGeneration generation(const char* name, const char* hash, const char* created, long long replicas,
                            long long available) {
  return {name, "w", hash, created, replicas, available, available, available};
}

/// A generation whose status counts `present` pods, all available. `observed`: the status is of its spec.
WorkerGeneration lateGeneration(const char* name, const char* hash, const char* created, long long replicas,
                                long long present, bool observed, bool settled = false) {
  return {name, "w", hash, created, replicas, present, present, present, observed, settled};
}

/// A generation of which a child is refused, with the pods that it has.
WorkerGeneration refusedGeneration(const char* name, const char* hash, const char* created,
                                   long long replicas, long long present) {
  return {name, "w", hash, created, replicas, present, present, present, true, false, true};
}

TEST_CASE("a step sets the replicas of old and new generations (quirk ctl-Q8)") {
  struct Row {
    const char* name;
    const char* service;  ///< besides its type
    std::vector<WorkerGeneration> observed;
    const char* newer;
    const char* older;
    bool complete;
  };
  const Row rows[] = {
      {"start", R"("replicas":4)", {generation("a", "old", "1", 4, 4)}, "w=1", "a=3", false},
      {"no new replica is available",
       R"("replicas":4)",
       {generation("a", "old", "1", 3, 3), generation("n", "new", "2", 1, 0)},
       "w=2",
       "a=3",
       false},
      {"one new replica is available",
       R"("replicas":4)",
       {generation("a", "old", "1", 3, 3), generation("n", "new", "2", 2, 1)},
       "w=2",
       "a=2",
       false},
      {"unavailable old replicas are removed first",
       R"("replicas":4)",
       {generation("a", "old", "1", 4, 1)},
       "w=1",
       "a=3",
       false},
      {"one replica: the old one stays until the new one is available",
       "",
       {generation("a", "old", "1", 1, 1), generation("n", "new", "2", 1, 0)},
       "w=1",
       "a=1",
       false},
      {"one replica: then it is removed",
       "",
       {generation("a", "old", "1", 1, 1), generation("n", "new", "2", 1, 1)},
       "w=1",
       "a=0",
       false},
      {"complete", R"("replicas":2)", {generation("n", "new", "2", 2, 2)}, "w=2", "", true},
      {"drained, not yet deleted",
       R"("replicas":2)",
       {generation("a", "old", "1", 0, 0), generation("n", "new", "2", 2, 2)},
       "w=2",
       "a=0",
       true},
      {"the newest old generation keeps its replicas",
       R"("replicas":4,"annotations":{"nvidia.com/deployment-rolling-update-max-unavailable":"1"})",
       {generation("a", "older", "1", 4, 4), generation("b", "old", "2", 2, 2)},
       "w=0",
       "a=1 b=2",
       false},
      {"available replicas are kept before newer ones",
       R"("replicas":4)",
       {generation("a", "older", "1", 3, 3), generation("b", "old", "2", 3, 0)},
       "w=0",
       "a=3 b=0",
       false},
      {"no replicas desired", R"("replicas":0)", {generation("a", "old", "1", 2, 2)}, "w=0", "a=0", false},
      {"the status of the new generation is of an older spec: nothing is scaled down (quirk ctl-Q44)",
       R"("replicas":4)",
       {generation("a", "old", "1", 4, 4), lateGeneration("n", "new", "2", 1, 1, false)},
       "w=1",
       "a=4",
       false},
      {"the status of the old generation is of an older spec: nothing is scaled down",
       R"("replicas":4)",
       {lateGeneration("a", "old", "1", 3, 4, false), generation("n", "new", "2", 2, 2)},
       "w=2",
       "a=3",
       false},
      {"going back to a generation whose pods are ending: it does not grow yet",
       "",
       {generation("a", "old", "1", 1, 1), lateGeneration("n", "new", "2", 0, 1, true)},
       "w=0",
       "a=1",
       false},
      {"going back to a generation whose pods are gone: it grows",
       "",
       {generation("a", "old", "1", 1, 1), lateGeneration("n", "new", "2", 0, 0, true)},
       "w=1",
       "a=1",
       false},
      {"available pods count up to the replicas of the spec",
       R"("replicas":4)",
       {generation("a", "old", "1", 3, 3), lateGeneration("n", "new", "2", 1, 4, true)},
       "w=1",
       "a=2",
       false},
      {"somebody has scaled the Deployment of the new generation: it grows",
       R"("replicas":2)",
       {generation("a", "old", "1", 1, 1), lateGeneration("n", "new", "2", 1, 2, true, true)},
       "w=2",
       "a=1",
       false},
      {"a child of the old generation is refused, but its pods are gone: complete (decision ctl-Q65)",
       R"("replicas":2)",
       {refusedGeneration("a", "old", "1", 0, 0), generation("n", "new", "2", 2, 2)},
       "w=2",
       "a=0",
       true},
      {"the scale-down of the old generation is refused: not complete (decision ctl-Q65)",
       R"("replicas":2)",
       {refusedGeneration("a", "old", "1", 0, 2), generation("n", "new", "2", 2, 2)},
       "w=2",
       "a=0",
       false},
      {"the scale-down of the old generation is refused: its pods leave no room for the surge",
       R"("replicas":2)",
       {refusedGeneration("a", "old", "1", 1, 2), generation("n", "new", "2", 1, 1)},
       "w=1",
       "a=1",
       false},
      {"a child of the new generation is refused: it does not count as available (decision ctl-Q65)",
       R"("replicas":2)",
       {generation("a", "old", "1", 2, 2), refusedGeneration("n", "new", "2", 1, 1)},
       "w=1",
       "a=2",
       false},
      {"a migrated generation", "", {generation("a", "legacy", "1", 1, 1)}, "w=1", "a=1", false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const json::Document graph =
        graphWith(std::string{R"({"f":{"componentType":"frontend"},"w":{"componentType":"worker")"} +
                  (row.service[0] == '\0' ? "" : ",") + row.service + "}}");
    const RollingStep step = rollingStep(graph, "new", "old", row.observed);
    CHECK(step.inProgress);
    CHECK(text(step.newReplicas) == row.newer);
    CHECK(text(step.oldReplicas) == row.older);
    CHECK(step.complete == row.complete);
    CHECK(step.updatedServices ==
          (row.complete ? std::vector<std::string>{"w"} : std::vector<std::string>{}));
  }
}

TEST_CASE("DYN_DEPLOYMENT_CONFIG gives the desired replicas of a service that sets none (quirk child-Q31)") {
  struct Row {
    const char* name;
    const char* service;  ///< further members
    const char* graph;    ///< further members of the graph's spec
    const char* newer;
  };
  const auto envs = [](const char* workers) {
    return std::string{
               R"("envs":[{"name":"DYN_DEPLOYMENT_CONFIG","value":"{\"w\":{\"ServiceArgs\":{\"workers\":)"} +
           workers + R"(}}}"}])";
  };
  const std::string six = ',' + envs("6");
  const std::string both = R"(,"replicas":2)" + six;
  const std::string invalid = ',' + envs("\\\"x\\\"");
  const std::string negative = ',' + envs("-1");
  const Row rows[] = {{"variable of the service", six.c_str(), "", "w=6"},
                      {"variable of the graph", "", six.c_str(), "w=6"},
                      {"replicas of the service take precedence", both.c_str(), "", "w=2"},
                      {"invalid configuration", invalid.c_str(), "", "w=1"},
                      {"negative number", negative.c_str(), "", "w=0"},
                      {"no variable", "", "", "w=1"}};
  for (const Row& row : rows) {
    INFO(row.name);
    const json::Document graph = parsed(R"({"spec":{"services":{"w":{"componentType":"worker")" +
                                        std::string{row.service} + "}}" + row.graph + "}}");
    CHECK(text(rollingStep(graph, "new", "old", {}).newReplicas) == row.newer);
  }
}

TEST_CASE("a rolling update is in progress while the current hash differs from the desired one") {
  const json::Document graph =
      graphWith(R"({"w":{"componentType":"worker"},"v":{"componentType":"decode"}})");
  CHECK_FALSE(rollingStep(graph, "new", "", {}).inProgress);  // quirk child-Q5
  CHECK_FALSE(rollingStep(graph, "new", "new", {}).inProgress);

  const std::vector<WorkerGeneration> observed = {{"z", "gone", "old", "1", 1, 1, 1},
                                                  {"n", "w", "new", "2", 1, 1, 1},
                                                  {"a", "w", "legacy", "1", 0, 0, 0}};
  const RollingStep half = rollingStep(graph, "new", "old", observed);
  CHECK(half.updatedServices == std::vector<std::string>{"w"});
  CHECK_FALSE(half.complete);
  CHECK(half.outdated == std::vector<std::string>{"a", "z"});
  CHECK(text(half.oldReplicas) == "a=0");  // the graph no longer has the service "gone"

  const json::Document none = graphWith(R"({"f":{"componentType":"frontend"}})");
  CHECK(rollingStep(none, "new", "old", observed).complete);  // quirk ctl-Q20
}

TEST_CASE("a worker generation is read from its DynamoComponentDeployment") {
  const json::Document deployment = parsed(
      R"({"metadata":{"name":"d","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"nvidia.com/dynamo-worker-hash":"h"}},
      "spec":{"serviceName":"w","replicas":3},"status":{"service":{"readyReplicas":2,"availableReplicas":1}}})");
  const WorkerGeneration made = workerGeneration(deployment);
  CHECK(made.name == "d");
  CHECK(made.service == "w");
  CHECK(made.hash == "h");
  CHECK(made.created == "2026-01-01T00:00:00Z");
  CHECK(made.replicas == 3);
  CHECK(made.available == 1);
  CHECK(made.ready == 2);
  const json::Document bare = parsed(
      R"({"metadata":{"name":"d"},"spec":{"serviceName":"w"},"status":{"service":{"readyReplicas":2}}})");
  CHECK(workerGeneration(bare).replicas == 1);
  CHECK(workerGeneration(bare).available == 2);
  CHECK(workerGeneration(bare).hash.empty());
}

}  // namespace
}  // namespace dynamo::lifecycle::test
