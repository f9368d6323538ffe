// Rolling updates with random events: pods become ready and fail, users change the image, roll back and
// scale, the controller stops between two writes, and statuses are late.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

struct Generation {
  long long replicas = 0;
  long long ready = 0;
  int created = 0;
  /// What the status says.
  long long saidPods = 0;
  long long saidReady = 0;
  bool observed = true;
};

struct Limits {
  const char* surge;
  const char* unavailable;
  bool recreate;
};

class Cluster {
 public:
  Cluster(unsigned seed, const Limits& limits) : random_(seed), limits_(limits) {}

  long long desired = 4;
  std::string target = "h0";
  std::string annotation;
  std::string status = "{}";
  std::map<std::string, Generation> generations;
  int clock = 0;

  long long roll(long long below) { return std::uniform_int_distribution<long long>{0, below - 1}(random_); }
  long long ready() const {
    long long sum = 0;
    for (const auto& [hash, generation] : generations) sum += generation.ready;
    return sum;
  }
  /// The ready replicas that a status reports.
  long long reportedReady() const {
    long long sum = 0;
    for (const auto& [hash, generation] : generations)
      sum += std::min(generation.ready, generation.saidReady);
    return sum;
  }
  long long replicas() const {
    long long sum = 0;
    for (const auto& [hash, generation] : generations) sum += generation.replicas;
    return sum;
  }
  long long maxUnavailable() const { return limits_.recreate ? desired : limits_.unavailable[0] - '0'; }
  long long maxSurge() const { return limits_.surge[0] - '0'; }

  /// One reconcile. If the controller `crashes`, it stops after one of its writes. Returns whether it wrote
  /// anything.
  bool pass(bool crashes = false) {
    World world{text()};
    world.hash = target;
    for (const auto& [hash, generation] : generations) {
      world.components.add(Component{.hash = hash,
                                     .replicas = generation.replicas,
                                     .ready = generation.saidReady,
                                     .created = std::to_string(1000 + generation.created),
                                     .observed = generation.observed,
                                     .present = generation.saidPods}
                               .text());
    }
    const GraphPlan plan = world.plan();
    Outcome outcome = graphOutcome(world.view(), plan, {}, kNow, world.memory.GetAllocator());
    const auto next = plan.inputs.workerReplicas.find("Worker");
    if (generations.find(target) == generations.end()) generations[target].created = ++clock;
    set(target, next == plan.inputs.workerReplicas.end() ? desired : next->second);
    std::size_t done = outcome.writes.size();
    if (crashes) done = static_cast<std::size_t>(roll(static_cast<long long>(done) + 1));
    for (std::size_t i = 0; i < done; ++i) apply(outcome.writes[i]);
    if (outcome.status && !crashes) status = json::dump(*outcome.status);
    return !outcome.writes.empty() || outcome.status.has_value() || !outcome.events.empty();
  }

  /// Each status is brought up to date; if statuses are `late`, some of them.
  void report(bool late) {
    for (auto& [hash, generation] : generations) {
      if (late && roll(3) != 0) continue;
      generation.saidPods = generation.replicas;
      generation.saidReady = generation.ready;
      generation.observed = true;
    }
  }

  /// Pods of one generation become ready, or stop being so.
  void podsMove(bool mayFail) {
    for (auto& [hash, generation] : generations) {
      if (roll(2) == 0 && generation.ready < generation.replicas) ++generation.ready;
      if (mayFail && roll(8) == 0 && generation.ready > 0) --generation.ready;
    }
  }

 private:
  std::string text() const {
    std::string annotations = std::string{"{'nvidia.com/deployment-rolling-update-max-surge':'"} +
                              limits_.surge + "','nvidia.com/deployment-rolling-update-max-unavailable':'" +
                              limits_.unavailable + "'" +
                              (limits_.recreate ? ",'nvidia.com/deployment-strategy':'Recreate'" : "") + "}";
    return graphText("{'Worker':{'componentType':'worker','replicas':" + std::to_string(desired) +
                         ",'annotations':" + annotations + "}}",
                     annotation, status);
  }

  /// A Deployment removes pods that are not ready first.
  void set(const std::string& hash, long long replicas) {
    Generation& generation = generations[hash];
    generation.observed = generation.observed && generation.replicas == replicas;
    generation.replicas = replicas;
    generation.ready = std::min(generation.ready, replicas);
  }

  void apply(const Write& write) {
    if (write.target.key.kind == "DynamoGraphDeployment") {
      const json::Value* annotations = json::find(json::find(&write.patch, "metadata"), "annotations");
      annotation = json::findText(annotations, "nvidia.com/current-worker-hash");
      return;
    }
    const std::string hash = write.target.key.name.substr(std::string_view{"g-worker-"}.size());
    if (write.verb == Write::Verb::Delete) {
      generations.erase(hash);
    } else {
      set(hash, json::find(json::find(&write.patch, "spec"), "replicas")->GetInt64());
    }
  }

  std::mt19937 random_;
  Limits limits_;
};

/// One generation runs all replicas, and nothing is left to write.
void checkDone(Cluster& cluster) {
  CHECK(cluster.generations.size() == 1);
  CHECK(cluster.annotation == cluster.target);
  CHECK(cluster.ready() == cluster.desired);
  CHECK_FALSE(cluster.pass());
}

TEST_CASE("rolling updates respect their limits, complete, and then write nothing (quirks ctl-Q8, ctl-Q37)") {
  const Limits kinds[] = {
      {"1", "0", false}, {"0", "1", false}, {"2", "2", false}, {"1", "1", false}, {"1", "0", true}};
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Limits& limits = kinds[seed % std::size(kinds)];
    INFO("seed " << seed);
    Cluster cluster{seed, limits};
    for (int step = 0; step < 60; ++step) {
      if (cluster.roll(12) == 0) cluster.target = "h" + std::to_string(cluster.roll(4));
      if (cluster.roll(20) == 0) cluster.desired = cluster.roll(6);
      const long long before = cluster.ready();
      const long long all = cluster.replicas();
      const bool limited = !cluster.annotation.empty();  // the first reconcile creates all workers at once
      cluster.report(false);
      cluster.pass(cluster.roll(4) == 0);
      INFO("step " << step << ", target " << cluster.target << ", ready " << before);
      if (limited) {
        REQUIRE(cluster.ready() >= std::min(before, cluster.desired - cluster.maxUnavailable()));
        REQUIRE(cluster.replicas() <= std::max(all, cluster.desired + cluster.maxSurge()));
      }
      cluster.podsMove(true);
    }
    for (int step = 0; step < 200; ++step) {
      cluster.pass();
      cluster.podsMove(false);
      cluster.report(false);
    }
    checkDone(cluster);
  }
}

TEST_CASE("late statuses do not break the limits of a rolling update (quirk ctl-Q44)") {
  const Limits kinds[] = {{"1", "0", false}, {"0", "1", false}, {"2", "2", false}, {"1", "1", false}};
  for (unsigned seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    Cluster cluster{seed, kinds[seed % std::size(kinds)]};
    for (int step = 0; step < 100; ++step) {
      if (cluster.roll(8) == 0) cluster.target = "h" + std::to_string(cluster.roll(3));
      // A replica that became ready unnoticed may be removed, as Deployments do.
      const long long before = cluster.reportedReady();
      const long long all = cluster.replicas();
      const bool limited = !cluster.annotation.empty();
      cluster.pass(cluster.roll(4) == 0);
      INFO("step " << step << ", target " << cluster.target << ", ready " << before);
      if (limited) {
        REQUIRE(cluster.ready() >= std::min(before, cluster.desired - cluster.maxUnavailable()));
        REQUIRE(cluster.replicas() <= std::max(all, cluster.desired + cluster.maxSurge()));
      }
      cluster.podsMove(false);
      cluster.report(true);
    }
    for (int step = 0; step < 400; ++step) {
      cluster.pass();
      cluster.podsMove(false);
      cluster.report(true);
    }
    cluster.report(false);
    cluster.pass();
    checkDone(cluster);
  }
}

}  // namespace
}  // namespace dynamo::lifecycle::test
