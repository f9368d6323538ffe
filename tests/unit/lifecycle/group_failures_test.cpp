// Why LeaderWorkerSets replace their pods (decision ctl-Q73).
#include "common/lifecycle/group_failures.h"

#include <catch2/catch.hpp>

#include "common/json/build.h"
#include "common/lifecycle/component_status.h"
#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

/// A pod of the set g-worker-h-<set>, with further members of its metadata and its container.
std::string pod(const char* role, const char* set, const std::string& metadata,
                const std::string& container) {
  return std::string{
             "{'metadata':{'labels':{'nvidia.com/dynamo-component':'Worker','nvidia.com/"
             "dynamo-worker-hash':'h','"
             "nvidia.com/dynamo-graph-deployment-name':'g','role':'"} +
         role + "','instance-id':'" + set + "'}" + metadata +
         "},'status':{'containerStatuses':[{'name':'main'" + container + "}]}}";
}

/// Deletion was asked for at 03:04:05.
constexpr const char* kDeleted =
    ",'deletionTimestamp':'2026-01-02T03:05:05Z','deletionGracePeriodSeconds':60";
constexpr const char* kHealthy = ",'restartCount':0,'state':{'running':{}}";

std::string crashed(const char* at, const char* how = "'exitCode':3,'reason':'Error'",
                    const char* state = "'running':{}") {
  return std::string{",'restartCount':1,'state':{"} + state + "},'lastState':{'terminated':{'finishedAt':'" +
         at + "'," + how + "}}";
}

std::string listOf(const std::vector<PodFailure>& causes) {
  std::string text;
  for (const PodFailure& cause : causes) text += cause.reason + ' ' + cause.text() + '\n';
  return text;
}

constexpr const char* kEarlier = "2026-01-02T03:04:04Z";
constexpr const char* kCrash =
    "CrashLoop container \"main\" terminated, so all pods of its set are replaced: ";

}  // namespace

TEST_CASE("a crash before the deletion of the leader is why its set replaces its pods") {
  struct Row {
    const char* about;
    std::vector<std::string> pods;
    std::string cause;  // after kCrash; empty: none
  };
  const std::string leader = pod("leader", "0", kDeleted, kHealthy);
  for (const Row& row : {
           Row{"another node", {leader, pod("worker", "0", "", crashed(kEarlier))}, "exit code 3"},
           Row{"a node that is deleted, too",
               {leader, pod("worker", "0", kDeleted, crashed(kEarlier))},
               "exit code 3"},
           Row{"the leader", {pod("leader", "0", kDeleted, crashed(kEarlier))}, "exit code 3"},
           Row{"the memory limit",
               {leader, pod("worker", "0", "", crashed(kEarlier, "'exitCode':137,'reason':'OOMKilled'"))},
               "OOMKilled, exceeded its memory limit, exit code 137"},
           Row{"no program",
               {leader,
                pod("worker", "0", "",
                    crashed(kEarlier, "'exitCode':128,'reason':'StartError','message':'no such file'"))},
               "exit code 128: no such file"},
           Row{"two crashes",
               {leader, pod("worker", "0", "",
                            crashed(kEarlier, "'exitCode':3",
                                    "'terminated':{'exitCode':4,'finishedAt':'2026-01-02T03:04:04Z'}"))},
               "exit code 4"},
           Row{"it ends when it is deleted, too",
               {leader, pod("worker", "0", kDeleted,
                            crashed(kEarlier, "'exitCode':3",
                                    "'terminated':{'exitCode':143,'finishedAt':'2026-01-02T03:04:09Z'}"))},
               "exit code 3"},
           Row{"it ended because the leader went",
               {leader, pod("worker", "0", "", crashed("2026-01-02T03:04:05Z"))},
               ""},
           Row{"it ended as it should",
               {leader, pod("worker", "0", "", crashed(kEarlier, "'exitCode':0"))},
               ""},
           Row{"no time", {leader, pod("worker", "0", "", crashed(""))}, ""},
           Row{"nothing crashed", {leader, pod("worker", "0", kDeleted, kHealthy)}, ""},
           Row{"the leader stays",
               {pod("leader", "0", "", kHealthy), pod("worker", "0", "", crashed(kEarlier))},
               ""},
           Row{"a node of another set", {leader, pod("worker", "1", "", crashed(kEarlier))}, ""},
           Row{"no status", {leader, "{'metadata':{'labels':{'instance-id':'0'}}}"}, ""},
       }) {
    INFO(row.about);
    const Objects pods{row.pods};
    CHECK(listOf(groupFailures(pods.view())) == (row.cause.empty() ? "" : kCrash + row.cause + '\n'));
  }
}

TEST_CASE(
    "why a set replaced its pods stays in the status until the component is ready or its spec changes") {
  const auto deploymentOf = [](int generation) {
    return parsed(
        "{'kind':'DynamoComponentDeployment','metadata':{'name':'g-worker-h','generation':" +
        std::to_string(generation) +
        ",'labels':{'nvidia.com/dynamo-graph-deployment-name':'g','nvidia.com/dynamo-worker-hash':'h'}},"
        "'spec':{'serviceName':'Worker','replicas':1,'multinode':{'nodeCount':2}}}");
  };
  const std::string set =
      "{'metadata':{'name':'g-worker-h-0','generation':1},'spec':{'replicas':1},'status':{'replicas':1,";
  const Objects waiting{{set + "'readyReplicas':0}}"}};
  const Objects serving{
      {set + "'readyReplicas':1,'updatedReplicas':1,'conditions':[{'type':'Available','status':'True'}]}}"}};
  const Objects crash{{pod("leader", "0", kDeleted, kHealthy), pod("worker", "0", "", crashed(kEarlier))}};
  const Objects fresh{{pod("leader", "0", "", kHealthy), pod("worker", "0", "", kHealthy)}};
  json::Document memory;
  json::Document object = deploymentOf(1);
  const Outcome first =
      componentOutcome({.deployment = object, .leaderWorkerSets = waiting.view(), .pods = crash.view()}, kNow,
                       memory.GetAllocator());
  const std::string why = std::string{kCrash}.substr(std::string{"CrashLoop "}.size()) + "exit code 3";
  CHECK(conditionsOf(*first.status).find("PodFailure=True CrashLoop: " + why + '\n') != std::string::npos);
  CHECK(eventsOf(first.events) == "Warning CrashLoop: " + why + '\n');

  json::set(object, "status", json::copy(*first.status, object.GetAllocator()), object.GetAllocator());
  const Outcome again =
      componentOutcome({.deployment = object, .leaderWorkerSets = waiting.view(), .pods = fresh.view()}, kNow,
                       memory.GetAllocator());
  CHECK_FALSE(again.status);
  CHECK(again.events.empty());

  const Outcome healed =
      componentOutcome({.deployment = object, .leaderWorkerSets = serving.view(), .pods = fresh.view()}, kNow,
                       memory.GetAllocator());
  CHECK(conditionsOf(*healed.status).find("PodFailure") == std::string::npos);

  json::Document changed = deploymentOf(2);
  json::set(changed, "status", json::copy(*first.status, changed.GetAllocator()), changed.GetAllocator());
  const Outcome later =
      componentOutcome({.deployment = changed, .leaderWorkerSets = waiting.view(), .pods = fresh.view()},
                       kNow, memory.GetAllocator());
  CHECK(conditionsOf(*later.status).find("PodFailure") == std::string::npos);
}

}  // namespace dynamo::lifecycle::test
