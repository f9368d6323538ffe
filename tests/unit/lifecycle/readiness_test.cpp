// When each kind of child is ready.
#include "common/lifecycle/readiness.h"

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

struct Row {
  const char* name;
  const char* object;
  const char* reason;
  const char* message;
};

void check(const Row& row, const Readiness& readiness) {
  INFO(row.name);
  CHECK(readiness == Readiness{std::string_view{row.reason} == "Ready", row.reason, row.message});
}

TEST_CASE("a child that does not exist or is being deleted is not ready") {
  for (const auto& readiness : {existenceReadiness, podReadiness, deploymentReadiness,
                                componentDeploymentReadiness, podCliqueSetReadiness}) {
    CHECK(readiness(nullptr).reason == reason::kMissing);
    const json::Document object = parsed("{'metadata':{'deletionTimestamp':'x'}}");
    CHECK(readiness(&object).reason == reason::kDeleted);
  }
  const json::Document object = parsed("{'metadata':{'deletionTimestamp':'x'}}");
  CHECK(leaderWorkerSetReadiness(nullptr, nullptr).reason == reason::kMissing);
  CHECK(leaderWorkerSetReadiness(&object, nullptr).reason == reason::kDeleted);
  CHECK(podCliqueReadiness(nullptr, nullptr, {}).reason == reason::kMissing);
  CHECK(scalingGroupReadiness(&object, nullptr, {}, {}).reason == reason::kDeleted);
  const json::Document there = parsed("{}");
  CHECK(existenceReadiness(&there).ready);
}

TEST_CASE("a Deployment is ready when all its pods have the current spec and are available") {
  const Row rows[] = {
      {"ready",
       "{'metadata':{'generation':2},'spec':{'replicas':2},'status':{'observedGeneration':2,'replicas':2,"
       "'updatedReplicas':2,'availableReplicas':2,'conditions':[{'type':'Available','status':'True'}]}}",
       "Ready", ""},
      {"paused", "{'metadata':{'generation':2},'spec':{'paused':true,'replicas':0}}", "Paused", "is paused"},
      {"no status", "{'metadata':{'generation':1},'spec':{'replicas':0}}", "SpecNotObserved",
       "its controller has not observed the latest spec"},
      {"a status of the previous spec",
       "{'metadata':{'generation':3},'spec':{'replicas':2},'status':{'observedGeneration':2,'replicas':2,"
       "'updatedReplicas':2,'availableReplicas':2,'conditions':[{'type':'Available','status':'True'}]}}",
       "SpecNotObserved", "its controller has not observed the latest spec"},
      {"pods of the previous spec count as available",
       "{'metadata':{'generation':3},'spec':{'replicas':2},'status':{'observedGeneration':3,'replicas':2,"
       "'updatedReplicas':1,'availableReplicas':2,'conditions':[{'type':'Available','status':'True'}]}}",
       "Updating", "1 of 2 replicas updated"},
      {"one is not available",
       "{'metadata':{'generation':1},'spec':{'replicas':2},'status':{'observedGeneration':1,'replicas':2,"
       "'updatedReplicas':2,'availableReplicas':1,'conditions':[{'type':'Available','status':'True'}]}}",
       "Unavailable", "1 of 2 replicas available"},
      {"a surge replica is left",
       "{'metadata':{'generation':1},'spec':{'replicas':2},'status':{'observedGeneration':1,'replicas':3,"
       "'updatedReplicas':2,'availableReplicas':2,'conditions':[{'type':'Available','status':'True'}]}}",
       "Scaling", "3 replicas, 2 desired"},
      {"replicas are one when absent",
       "{'metadata':{'generation':1},'spec':{},'status':{'observedGeneration':1}}", "Unavailable",
       "0 of 1 replicas available"},
      {"no condition Available",
       "{'metadata':{'generation':1},'spec':{'replicas':1},'status':{'observedGeneration':1,'replicas':1,"
       "'updatedReplicas':1,'availableReplicas':1}}",
       "Unavailable", "is not available"},
      {"zero replicas",
       "{'metadata':{'generation':1},'spec':{'replicas':0},'status':{'observedGeneration':1}}", "Ready", ""},
      {"zero replicas, one still exists",
       "{'metadata':{'generation':1},'spec':{'replicas':0},'status':{'observedGeneration':1,'replicas':1}}",
       "Scaling", "1 replicas, 0 desired"},
      {"the progress deadline is exceeded",
       "{'metadata':{'generation':1},'spec':{'replicas':1},'status':{'observedGeneration':1,'conditions':[{"
       "'type':'Progressing','status':'False','reason':'ProgressDeadlineExceeded'}]}}",
       "ProgressDeadlineExceeded", "0 of 1 replicas available within its progress deadline"},
      {"invalid numbers count as absent",
       "{'metadata':{'generation':1},'spec':{'replicas':'2'},'status':{'observedGeneration':1,"
       "'availableReplicas':-4}}",
       "Unavailable", "0 of 1 replicas available"}};
  for (const Row& row : rows) {
    const json::Document object = parsed(row.object);
    check(row, deploymentReadiness(&object));
  }
}

TEST_CASE("a LeaderWorkerSet is ready when all its groups are ready") {
  const Row rows[] = {
      {"ready",
       "{'metadata':{'generation':5},'spec':{'replicas':1},'status':{'readyReplicas':1,'updatedReplicas':1,"
       "'conditions':[{'type':'Available','status':'True'}]}}",
       "Ready", ""},
      {"not ready", "{'spec':{'replicas':1},'status':{'replicas':1}}", "Unavailable",
       "0 of 1 replicas ready"},
      {"a group of the previous spec",
       "{'spec':{'replicas':1},'status':{'readyReplicas':1,'conditions':[{'type':'Available','status':'True'}"
       "]}}",
       "Updating", "0 of 1 replicas updated"},
      {"a status of the previous spec",
       "{'metadata':{'generation':5},'spec':{'replicas':1},'status':{'observedGeneration':4,'readyReplicas':"
       "1,"
       "'updatedReplicas':1,'conditions':[{'type':'Available','status':'True'}]}}",
       "SpecNotObserved", "its controller has not observed the latest spec"},
      {"no condition", "{'spec':{'replicas':1},'status':{'readyReplicas':1,'updatedReplicas':1}}",
       "Unavailable", "is not available"},
      {"zero replicas", "{'spec':{'replicas':0}}", "Ready", ""}};
  for (const Row& row : rows) {
    const json::Document object = parsed(row.object);
    check(row, leaderWorkerSetReadiness(&object, nullptr));
  }
}

TEST_CASE("a PodGroup explains why a LeaderWorkerSet has no pods") {
  const json::Document set = parsed("{'spec':{'replicas':1}}");
  const json::Document group = parsed(
      "{'status':{'phase':'Pending','conditions':[{'type':'Unschedulable','status':'True','message':'2/2 "
      "tasks "
      "in gang unschedulable'}]}}");
  const json::Document running = parsed("{'status':{'phase':'Running'}}");
  check(
      {"", "", "PodGroupNotScheduled", "its pods cannot be gang-scheduled: 2/2 tasks in gang unschedulable"},
      leaderWorkerSetReadiness(&set, &group));
  CHECK(leaderWorkerSetReadiness(&set, &running).reason == reason::kUnavailable);
}

TEST_CASE("a component deployment is ready when it is available and its status is current (quirk ctl-Q2)") {
  const Row rows[] = {
      {"ready",
       "{'metadata':{'generation':2},'status':{'observedGeneration':2,'conditions':[{'type':'"
       "Available','status':"
       "'True'}]}}",
       "Ready", ""},
      {"stale",
       "{'metadata':{'generation':3},'status':{'observedGeneration':2,'conditions':[{'type':'"
       "Available','status':"
       "'True'}]}}",
       "SpecNotObserved", "its controller has not observed the latest spec"},
      {"no condition", "{'metadata':{'generation':1},'status':{'observedGeneration':1}}", "Unavailable",
       "is not available yet"},
      {"the message of its condition is used",
       "{'metadata':{'generation':1},'status':{'observedGeneration':1,'conditions':[{'type':'"
       "Available','status':"
       "'False','message':'Deployment is not ready: 0 of 1 replicas available'}]}}",
       "Unavailable", "Deployment is not ready: 0 of 1 replicas available"},
      {"the first reconcile failed: the status observes no generation, its condition does",
       "{'metadata':{'generation':1},'status':{'conditions':[{'type':'Available','status':'False',"
       "'observedGeneration':1,'message':'forbidden'}]}}",
       "Unavailable", "forbidden"},
      {"a failure of an older generation",
       "{'metadata':{'generation':2},'status':{'conditions':[{'type':'Available','status':'False',"
       "'observedGeneration':1,'message':'forbidden'}]}}",
       "SpecNotObserved", "its controller has not observed the latest spec"}};
  for (const Row& row : rows) {
    const json::Document object = parsed(row.object);
    check(row, componentDeploymentReadiness(&object));
  }
}

TEST_CASE("a PodClique is ready when Grove has updated it to the newest spec") {
  struct Clique {
    const char* name;
    const char* spec;
    const char* status;
    std::optional<std::int64_t> desired;
    const char* reason;
    const char* message;
  };
  const Clique rows[] = {
      {"ready", "{'replicas':2}", "'replicas':2,'readyReplicas':2,'updatedReplicas':2", 2, "Ready", ""},
      {"one is not updated", "{'replicas':2}", "'replicas':2,'readyReplicas':2,'updatedReplicas':1", 2,
       "Updating", "1 of 2 replicas updated"},
      {"one is not ready", "{'replicas':2}", "'replicas':2,'readyReplicas':1,'updatedReplicas':2", 2,
       "Unavailable", "1 of 2 replicas ready"},
      {"one replica too many", "{'replicas':2}", "'replicas':3,'readyReplicas':2,'updatedReplicas':2", 2,
       "Scaling", "3 replicas, 2 desired"},
      {"zero replicas", "{'replicas':0}", "'replicas':0", 0, "Ready", ""},
      {"not scaled yet", "{'replicas':2}", "'replicas':2,'readyReplicas':2,'updatedReplicas':2", 3, "Scaling",
       "is being scaled from 2 to 3 replicas"},
      {"the graph sets no replicas",
       "{'replicas':2}",
       "'replicas':2,'readyReplicas':2,'updatedReplicas':2",
       {},
       "Ready",
       ""},
      {"of the newest hash", "{'replicas':0}", "'currentPodCliqueSetGenerationHash':'b'", 0, "Ready", ""},
      {"of an older hash", "{'replicas':1}", "'currentPodCliqueSetGenerationHash':'a'", 1, "Updating",
       "Grove is updating it to the latest spec"},
      {"of an older hash, without pods", "{'replicas':0}", "'currentPodCliqueSetGenerationHash':'a'", 0,
       "Updating", "Grove does not end the update to the latest spec while it has 0 replicas"}};
  const json::Document set = parsed("{'status':{'currentGenerationHash':'b'}}");
  for (const Clique& row : rows) {
    INFO(row.name);
    const json::Document object = parsed("{'metadata':{'generation':1},'spec':" + std::string{row.spec} +
                                         ",'status':{'observedGeneration':1," + row.status + "}}");
    CHECK(podCliqueReadiness(&object, &set, row.desired) ==
          Readiness{std::string_view{row.reason} == "Ready", row.reason, row.message});
  }
  const json::Document unseen = parsed("{'metadata':{'generation':1},'spec':{'replicas':0}}");
  CHECK(podCliqueReadiness(&unseen, &set, {}).reason == reason::kNotObserved);
}

TEST_CASE("a PodCliqueScalingGroup counts available replicas") {
  const json::Document good = parsed(
      "{'metadata':{'generation':1},'spec':{'replicas':2},'status':{'observedGeneration':1,'replicas':2,"
      "'availableReplicas':2,'updatedReplicas':2}}");
  const json::Document bad = parsed(
      "{'metadata':{'generation':1},'spec':{'replicas':2},'status':{'observedGeneration':1,'replicas':2,"
      "'readyReplicas':2,'availableReplicas':1,'updatedReplicas':2}}");
  CHECK(scalingGroupReadiness(&good, nullptr, 2, {}).ready);
  CHECK(scalingGroupReadiness(&bad, nullptr, 2, {}).message == "1 of 2 replicas available");
}

TEST_CASE("a pod is ready when its condition Ready is True") {
  const json::Document good = parsed("{'status':{'conditions':[{'type':'Ready','status':'True'}]}}");
  const json::Document bad = parsed(
      "{'status':{'conditions':[{'type':'Ready','status':'False','message':'containers with unready status: "
      "[main]'}]}}");
  const json::Document none = parsed("{}");
  CHECK(podReadiness(&good).ready);
  CHECK(podReadiness(&bad).message == "containers with unready status: [main]");
  CHECK(podReadiness(&none).message == "is not ready");
}

}  // namespace
}  // namespace dynamo::lifecycle::test
