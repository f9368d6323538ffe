// The status of a DynamoComponentDeployment.
#include "common/lifecycle/component_status.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

std::string deployment(const std::string& spec, const std::string& status) {
  return "{'apiVersion':'nvidia.com/"
         "v1alpha1','kind':'DynamoComponentDeployment','metadata':{'name':'g-worker-"
         "h','generation':2,'labels':{'nvidia.com/dynamo-graph-deployment-name':'g','nvidia.com/"
         "dynamo-worker-"
         "hash':'h'}},'spec':{'serviceName':'Worker'," +
         spec + "},'status':" + status + "}";
}

constexpr const char* kReadyDeployment =
    "{'metadata':{'name':'g-worker-h','generation':1},'spec':{'replicas':2},'status':{'observedGeneration':1,"
    "'replicas':2,'updatedReplicas':2,'readyReplicas':2,'availableReplicas':2,'conditions':[{'type':'"
    "Available',"
    "'status':'True'}]}}";

const std::string kBrokenPod =
    "{'metadata':{'name':'p','labels':{'nvidia.com/dynamo-component':'Worker','nvidia.com/"
    "dynamo-graph-deployment-"
    "name':'g','nvidia.com/"
    "dynamo-worker-hash':'h'}},'status':{'containerStatuses':[{'name':'main','image':'i',"
    "'state':{'waiting':{'reason':'ErrImagePull'}}}]}}";

TEST_CASE("a component on a Deployment has its counts and its readiness") {
  const json::Document object = parsed(deployment("'replicas':2", "{}"));
  const json::Document workload = parsed(kReadyDeployment);
  json::Document memory;
  const Outcome outcome =
      componentOutcome({.deployment = object, .workload = &workload}, kNow, memory.GetAllocator());
  REQUIRE(outcome.status);
  CHECK(conditionsOf(*outcome.status) ==
        "Available=True DeploymentReady: Deployment is ready\n"
        "DynamoComponentReady=True ComponentReady: DynamoComponent is ready\n");
  CHECK(json::dump(*json::find(*outcome.status, "service")) ==
        R"({"componentKind":"Deployment","componentName":"g-worker-h","componentNames":["g-worker-h"],)"
        R"("replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2})");
  CHECK(json::find(*outcome.status, "observedGeneration")->GetInt64() == 2);
  CHECK(outcome.events.empty());
  CHECK(outcome.writes.empty());
}

TEST_CASE("the conditions tell what somebody else does to the Deployment (decisions ctl-Q45, ctl-Q67)") {
  using Kind = render::WriteNotice::Kind;
  const json::Document object = parsed(deployment("'replicas':5", "{}"));
  json::Document workload = parsed(kReadyDeployment);
  json::Document memory;
  const std::vector<render::WriteNotice> notices = {
      {Kind::Replicas, "kubectl scales Deployment.apps ns/d: ", "2 replicas instead of 5"},
      {Kind::Contested, "mesh keeps changing spec.paused of Deployment.apps ns/d", ""},
      {Kind::Foreign, "RoleBinding ns/b was not made by this operator and is used as it is", ""}};
  const ComponentView view{.deployment = object, .workload = &workload, .notices = notices};
  const Outcome outcome = componentOutcome(view, kNow, memory.GetAllocator());
  REQUIRE(outcome.status);
  const std::string overridden =
      "kubectl scales Deployment.apps ns/d: 2 replicas instead of 5; "
      "mesh keeps changing spec.paused of Deployment.apps ns/d\n";
  CHECK(conditionsOf(*outcome.status) ==
        "Available=True DeploymentReady: Deployment is ready: " + overridden +
            "DynamoComponentReady=True ComponentReady: DynamoComponent is ready\n"
            "Overridden=True ReplicasOverridden: " +
            overridden);
  REQUIRE(outcome.events.size() == 2);
  CHECK(outcome.events[0].reason == "ReplicasOverridden");
  CHECK(outcome.events[1].reason == "FieldContested");

  // The same writer with another number is not told again, and the condition goes when nobody does anything.
  json::Document stored;
  stored.CopyFrom(object, stored.GetAllocator());
  json::set(stored, "status", json::copy(*outcome.status, stored.GetAllocator()), stored.GetAllocator());
  const std::vector<render::WriteNotice> other = {
      {Kind::Replicas, notices[0].subject, "3 replicas instead of 5"}};
  const ComponentView later{.deployment = stored, .workload = &workload, .notices = other};
  CHECK(componentOutcome(later, kNow, memory.GetAllocator()).events.empty());
  const Outcome quiet =
      componentOutcome({.deployment = stored, .workload = &workload}, kNow, memory.GetAllocator());
  REQUIRE(quiet.status);
  CHECK(conditionsOf(*quiet.status).find("Overridden") == std::string::npos);
}

TEST_CASE("a Deployment that somebody scaled to 0 is not ready (decision ctl-Q45)") {
  const json::Document object = parsed(deployment("'replicas':2", "{}"));
  const json::Document workload = parsed(
      "{'kind':'Deployment','metadata':{'name':'d','generation':1},'spec':{'replicas':0},"
      "'status':{'observedGeneration':1}}");
  json::Document memory;
  const Outcome outcome =
      componentOutcome({.deployment = object, .workload = &workload}, kNow, memory.GetAllocator());
  REQUIRE(outcome.status);
  CHECK(
      conditionsOf(*outcome.status)
          .starts_with("Available=False DeploymentNotReady: Deployment is not ready: is scaled to 0 replicas "
                       "instead of 2\n"));
}

TEST_CASE("an unchanged component causes no write") {
  const json::Document first = parsed(deployment("'replicas':2", "{}"));
  const json::Document workload = parsed(kReadyDeployment);
  json::Document memory;
  const Outcome before =
      componentOutcome({.deployment = first, .workload = &workload}, kNow, memory.GetAllocator());
  json::Document second = parsed(deployment("'replicas':2", "{}"));
  json::set(second, "status", json::copy(*before.status, second.GetAllocator()), second.GetAllocator());
  const Outcome after = componentOutcome({.deployment = second, .workload = &workload},
                                         kNow + std::chrono::hours{1}, memory.GetAllocator());
  CHECK_FALSE(after.status);
  CHECK(after.events.empty());
}

TEST_CASE("a component that is not ready reports what is missing and why (quirk ctl-Q36)") {
  const json::Document object = parsed(deployment("'replicas':1", "{}"));
  const json::Document workload = parsed(
      "{'metadata':{'name':'g-worker-h','generation':1},'spec':{'replicas':1},'status':{'observedGeneration':"
      "1,"
      "'conditions':[{'type':'ReplicaFailure','status':'True','message':'exceeded quota: q'}]}}");
  Objects pods{{kBrokenPod}};
  std::string other = kBrokenPod;
  other.replace(other.find("'Worker'"), 8, "'Other'");
  pods.add(other);
  std::string older = kBrokenPod;
  older.replace(older.find("'h'"), 3, "'old'");
  older.replace(older.find("'image':'i'"), 11, "'image':'j'");
  pods.add(older);
  json::Document memory;
  const ComponentView view{.deployment = object, .workload = &workload, .pods = pods.view()};
  const Outcome outcome = componentOutcome(view, kNow, memory.GetAllocator());
  const std::string why = "cannot pull image \"i\"; pods cannot be created: exceeded quota: q";
  CHECK(conditionsOf(*outcome.status) ==
        "Available=False DeploymentNotReady: Deployment is not ready: 0 of 1 replicas available; " + why +
            "\nDynamoComponentReady=False ComponentNotReady: DynamoComponent is not ready\n"
            "PodFailure=True ImagePullFailed: " +
            why + '\n');
  CHECK(eventsOf(outcome.events) ==
        "Warning ImagePullFailed: cannot pull image \"i\"\n"
        "Warning QuotaExceeded: pods cannot be created: exceeded quota: q\n");

  json::Document later = parsed(deployment("'replicas':1", "{}"));
  json::set(later, "status", json::copy(*outcome.status, later.GetAllocator()), later.GetAllocator());
  const Outcome again = componentOutcome({.deployment = later, .workload = &workload, .pods = pods.view()},
                                         kNow, memory.GetAllocator());
  CHECK(again.events.empty());
  CHECK_FALSE(again.status);

  const json::Document ready = parsed(kReadyDeployment);
  const Outcome healed =
      componentOutcome({.deployment = later, .workload = &ready}, kNow, memory.GetAllocator());
  CHECK(conditionsOf(*healed.status).find("PodFailure") == std::string::npos);
}

TEST_CASE("what pods wait for is only in the message, and another exit code is no Event (quirk ctl-Q72)") {
  const json::Document object = parsed(deployment("'replicas':1", "{}"));
  const json::Document workload = parsed(
      "{'metadata':{'name':'g-worker-h','generation':1},'spec':{'replicas':1},'status':{"
      "'observedGeneration':1}}");
  const std::string waiting = "{'waiting':{'reason':'ErrImagePull'}}";
  const auto pod = [&](const std::string& state) {
    std::string text = kBrokenPod;
    return text.replace(text.find(waiting), waiting.size(), state);
  };
  json::Document memory;
  const Objects starting{{pod("{'running':{'startedAt':'2026-01-02T03:00:00Z'}},'started':false")}};
  const Outcome outcome = componentOutcome(
      {.deployment = object, .workload = &workload, .pods = starting.view()}, kNow, memory.GetAllocator());
  CHECK(conditionsOf(*outcome.status) ==
        "Available=False DeploymentNotReady: Deployment is not ready: 0 of 1 replicas available; container "
        "\"main\" runs, but does not pass its startup probe (see kubectl describe pod p)\n"
        "DynamoComponentReady=False ComponentNotReady: DynamoComponent is not ready\n");
  CHECK(outcome.events.empty());

  json::Document stored = parsed(deployment("'replicas':1", "{}"));
  const auto crashed = [&](const char* code) {
    const Objects pods{
        {pod("{'waiting':{'reason':'CrashLoopBackOff'}},'lastState':{'terminated':{"
             "'exitCode':" +
             std::string{code} + "}}")}};
    Outcome made = componentOutcome({.deployment = stored, .workload = &workload, .pods = pods.view()}, kNow,
                                    memory.GetAllocator());
    json::set(stored, "status", json::copy(*made.status, stored.GetAllocator()), stored.GetAllocator());
    return eventsOf(made.events);
  };
  CHECK(crashed("1") ==
        "Warning CrashLoop: container \"main\" keeps terminating: exit code 1 (see kubectl logs --previous p "
        "-c main)\n");
  CHECK(crashed("2").empty());
}

TEST_CASE("a multinode component sums the counts of its LeaderWorkerSets") {
  const std::string set =
      "'spec':{'replicas':1},'status':{'replicas':1,'readyReplicas':1,'updatedReplicas':1,'conditions':[{'"
      "type':"
      "'Available','status':'True'}]}}";
  const json::Document object = parsed(deployment("'replicas':3,'multinode':{'nodeCount':2}", "{}"));
  const Objects sets{
      {"{'metadata':{'name':'g-worker-h-0'}," + set, "{'metadata':{'name':'g-worker-h-2'}," + set}};
  json::Document memory;
  const Outcome outcome =
      componentOutcome({.deployment = object, .leaderWorkerSets = sets.view()}, kNow, memory.GetAllocator());
  CHECK(conditionsOf(*outcome.status) ==
        "Available=False SomeLeaderWorkerSetsNotReady: Some LeaderWorkerSets are not ready: g-worker-h-1: "
        "does not "
        "exist yet\n"
        "DynamoComponentReady=False ComponentNotReady: DynamoComponent is not ready\n");
  CHECK(
      json::dump(*json::find(*outcome.status, "service")) ==
      R"({"componentKind":"LeaderWorkerSet","componentName":"g-worker-h-0","componentNames":["g-worker-h-0",)"
      R"("g-worker-h-1","g-worker-h-2"],"replicas":2,"updatedReplicas":2,"readyReplicas":2})");
}

TEST_CASE("a LeaderWorkerSet counts when it has been available for a while (decision child-Q44)") {
  using std::chrono::milliseconds;
  const json::Document object = parsed(deployment("'replicas':2,'multinode':{'nodeCount':2}", "{}"));
  const auto set = [](const char* name, const char* since) {
    return fmt::format(
        "{{'metadata':{{'name':'{}'}},'spec':{{'replicas':1}},'status':{{'replicas':1,'readyReplicas':1,"
        "'updatedReplicas':1,'conditions':[{{'type':'Available','status':'True'{}}}]}}}}",
        name, since);
  };
  struct Row {
    const char* about;
    const char* since;
    int seconds;
    int available;  // -1: no count
    std::optional<milliseconds> requeueAfter;
  };
  for (const Row& row : {
           Row{"long ago", ",'lastTransitionTime':'2026-01-02T03:00:00Z'", 5, 2, {}},
           Row{"exactly so long ago", ",'lastTransitionTime':'2026-01-02T03:04:00Z'", 5, 2, {}},
           Row{"a second too late", ",'lastTransitionTime':'2026-01-02T03:04:01Z'", 5, 1, milliseconds{1000}},
           Row{"just now", ",'lastTransitionTime':'2026-01-02T03:04:05Z'", 5, 1, milliseconds{5000}},
           Row{"a clock that is slightly ahead", ",'lastTransitionTime':'2026-01-02T03:04:07Z'", 5, 1,
               milliseconds{7000}},
           Row{"another clock", ",'lastTransitionTime':'2026-01-02T04:00:00Z'", 5, 2, {}},
           Row{"no time", "", 5, 2, {}},
           Row{"nothing to wait for", ",'lastTransitionTime':'2026-01-02T03:04:05Z'", 0, -1, {}},
       }) {
    CAPTURE(row.about);
    const Objects sets{{set("g-worker-h-0", ",'lastTransitionTime':'2026-01-01T00:00:00Z'"),
                        set("g-worker-h-1", row.since)}};
    json::Document memory;
    const Outcome outcome = componentOutcome({.deployment = object,
                                              .minReady = std::chrono::seconds{row.seconds},
                                              .leaderWorkerSets = sets.view()},
                                             kNow, memory.GetAllocator());
    const json::Value* service = json::find(*outcome.status, "service");
    CHECK(countAt(service, "readyReplicas") == 2);
    const json::Value* available = json::find(service, "availableReplicas");
    CHECK((available == nullptr ? -1 : available->GetInt()) == row.available);
    CHECK(outcome.requeueAfter == row.requeueAfter);
    const std::string why = "g-worker-h-1: has been ready for less than 5 s";
    CHECK((conditionsOf(*outcome.status).find(why) != std::string::npos) == row.requeueAfter.has_value());
    CHECK((conditionsOf(*outcome.status).find("Available=True") == 0) == !row.requeueAfter);
  }
}

TEST_CASE("a component reports why pods of its LeaderWorkerSets cannot be created (decision ctl-Q36)") {
  const json::Document object = parsed(deployment("'replicas':1,'multinode':{'nodeCount':2}", "{}"));
  const std::string set =
      "{'metadata':{'name':'g-worker-h-0','generation':1},'spec':{'replicas':1},'status':{'replicas':1,";
  const Objects events{
      {"{'lastTimestamp':'2026-01-02T03:04:05Z','involvedObject':{'name':'g-worker-h-0'},'message':'create "
       "Pod g-worker-h-0-0 in StatefulSet "
       "g-worker-h-0 failed error: pods is forbidden: exceeded quota: gpus'}"}};
  json::Document memory;
  const Objects waiting{{set + "'readyReplicas':0}}"}};
  const Outcome outcome =
      componentOutcome({.deployment = object, .leaderWorkerSets = waiting.view(), .events = events.view()},
                       kNow, memory.GetAllocator());
  const std::string why = "pods cannot be created: pods is forbidden: exceeded quota: gpus";
  const std::string conditions = conditionsOf(*outcome.status);
  CHECK(conditions.find("PodFailure=True QuotaExceeded: " + why + '\n') != std::string::npos);
  CHECK(conditions.find("; " + why + "\nDynamoComponentReady=False") != std::string::npos);
  CHECK(eventsOf(outcome.events) == "Warning QuotaExceeded: " + why + '\n');

  json::Document later = parsed(deployment("'replicas':1,'multinode':{'nodeCount':2}", "{}"));
  json::set(later, "status", json::copy(*outcome.status, later.GetAllocator()), later.GetAllocator());
  const Outcome again =
      componentOutcome({.deployment = later, .leaderWorkerSets = waiting.view(), .events = events.view()},
                       kNow, memory.GetAllocator());
  CHECK_FALSE(again.status);
  CHECK(again.events.empty());

  const Objects ready{
      {set + "'readyReplicas':1,'updatedReplicas':1,'conditions':[{'type':'Available','status':'True'}]}}"}};
  const Outcome healed =
      componentOutcome({.deployment = object, .leaderWorkerSets = ready.view(), .events = events.view()},
                       kNow, memory.GetAllocator());
  CHECK(conditionsOf(*healed.status).find("PodFailure") == std::string::npos);
  CHECK(healed.events.empty());
}

TEST_CASE("an Event from before a component became unavailable is no cause") {
  const std::string spec = "'replicas':1,'multinode':{'nodeCount':2}";
  const Objects sets{
      {"{'metadata':{'name':'g-worker-h-0','generation':1},'spec':{'replicas':1},'status':{}}"}};
  const Objects events{
      {"{'lastTimestamp':'2026-01-02T03:00:00Z','involvedObject':{'name':'g-worker-h-0'},'message':'create "
       "Pod g-worker-h-0-0 in StatefulSet g-worker-h-0 failed error: exceeded quota: gpus'}"}};
  struct Row {
    const char* available;
    bool isCause;
  };
  const Row rows[] = {{"'status':'True','lastTransitionTime':'2026-01-02T02:00:00Z'", false},
                      {"'status':'False','lastTransitionTime':'2026-01-02T03:00:01Z'", false},
                      {"'status':'False','lastTransitionTime':'2026-01-02T03:00:00Z'", true}};
  for (const Row& row : rows) {
    CAPTURE(row.available);
    const json::Document object =
        parsed(deployment(spec, "{'conditions':[{'type':'Available'," + std::string{row.available} + "}]}"));
    json::Document memory;
    const Outcome outcome =
        componentOutcome({.deployment = object, .leaderWorkerSets = sets.view(), .events = events.view()},
                         kNow, memory.GetAllocator());
    CHECK((conditionsOf(*outcome.status).find("PodFailure") != std::string::npos) == row.isCause);
  }
}

TEST_CASE("a LeaderWorkerSet that is being deleted counts for nothing (quirk ctl-Q44)") {
  const json::Document object = parsed(deployment("'replicas':1,'multinode':{'nodeCount':2}", "{}"));
  const Objects sets{
      {"{'metadata':{'name':'g-worker-h-0','deletionTimestamp':'2026-01-01T00:00:00Z'},'spec':{"
       "'replicas':1},'status':{'replicas':1,'readyReplicas':1,'updatedReplicas':1}}"}};
  json::Document memory;
  const Outcome outcome =
      componentOutcome({.deployment = object, .leaderWorkerSets = sets.view()}, kNow, memory.GetAllocator());
  const json::Value* service = json::find(*outcome.status, "service");
  for (const char* count : {"replicas", "updatedReplicas", "readyReplicas"}) {
    INFO(count);
    CHECK(json::find(service, count)->GetInt64() == 0);
  }
}

TEST_CASE("a component is not ready if somebody scaled one of its LeaderWorkerSets to 0") {
  const json::Document object = parsed(deployment("'replicas':1,'multinode':{'nodeCount':2}", "{}"));
  const Objects sets{
      {"{'metadata':{'name':'g-worker-h-0','generation':1},'spec':{'replicas':0},'status':{}}"}};
  json::Document memory;
  const Outcome outcome =
      componentOutcome({.deployment = object, .leaderWorkerSets = sets.view()}, kNow, memory.GetAllocator());
  CHECK(conditionsOf(*outcome.status).find("g-worker-h-0: is scaled to 0 replicas\n") != std::string::npos);
}

TEST_CASE(
    "a LeaderWorkerSet without observedGeneration is not ready for ten seconds after a change (quirk "
    "ctl-Q43)") {
  const std::string multinode = "'replicas':1,'multinode':{'nodeCount':2}";
  const auto statusAt = [](const char* generation, const char* available, const char* since) {
    return "{'observedGeneration':" + std::string{generation} +
           ",'conditions':[{'type':'Available','status':'" + available + "','lastTransitionTime':'" + since +
           "'}]}";
  };
  struct Row {
    const char* name;
    std::string stored;  ///< status of the component, whose generation is 2
    const char* set;     ///< metadata and status of the LeaderWorkerSet
    const char* available;
    int requeue;  ///< seconds; 0: none
  };
  const char* old = "'generation':4},'status':{";
  const char* first = "'generation':1},'status':{";
  const char* current = "'generation':4},'status':{'observedGeneration':4,";
  const Row rows[] = {
      {"the spec has just changed", statusAt("1", "True", "2026-01-01T00:00:00Z"), old, "False", 10},
      {"it changed four seconds ago", statusAt("2", "False", "2026-01-02T03:04:01Z"), old, "False", 6},
      {"the clock of another host is ahead", statusAt("2", "False", "2026-01-02T03:14:05Z"), old, "True", 0},
      {"it changed ten seconds ago", statusAt("2", "False", "2026-01-02T03:03:55Z"), old, "True", 0},
      {"the component was available since", statusAt("2", "True", "2026-01-02T03:04:04Z"), old, "True", 0},
      {"a new component", "{}", first, "True", 0},
      {"a set of the first generation", statusAt("1", "True", "2026-01-01T00:00:00Z"), first, "True", 0},
      {"a set that reports its generation", statusAt("1", "True", "2026-01-01T00:00:00Z"), current, "True",
       0}};
  for (const Row& row : rows) {
    INFO(row.name);
    const json::Document object = parsed(deployment(multinode, row.stored));
    const Objects sets{
        {"{'spec':{'replicas':1},'metadata':{'name':'g-worker-h-0'," + std::string{row.set} +
         "'replicas':1,'readyReplicas':1,'updatedReplicas':1,'conditions':[{'type':'Available',"
         "'status':'True'}]}}"}};
    json::Document memory;
    const Outcome outcome = componentOutcome({.deployment = object, .leaderWorkerSets = sets.view()}, kNow,
                                             memory.GetAllocator());
    const json::Value* status = outcome.status ? &*outcome.status : json::find(object, "status");
    CHECK(json::findText(findCondition(status, "Available"), "status") == row.available);
    CHECK(outcome.requeueAfter.value_or(std::chrono::seconds{0}) == std::chrono::seconds{row.requeue});
  }
}

TEST_CASE("a multinode component with zero replicas is available and has no counts") {
  const json::Document object =
      parsed(deployment("'replicas':0,'multinode':{'nodeCount':2}", "{'service':{'replicas':1}}"));
  json::Document memory;
  const Outcome outcome = componentOutcome({.deployment = object}, kNow, memory.GetAllocator());
  CHECK(json::find(*outcome.status, "service") == nullptr);
  CHECK(conditionsOf(*outcome.status) ==
        "Available=True AllLeaderWorkerSetsReady: All LeaderWorkerSets are ready\n"
        "DynamoComponentReady=True ComponentReady: DynamoComponent is ready\n");
}

TEST_CASE("a multinode component is a Deployment when LeaderWorkerSets are not enabled") {
  const json::Document object = parsed(deployment("'multinode':{'nodeCount':2}", "{}"));
  CHECK(usesLeaderWorkerSets({.deployment = object}));
  CHECK_FALSE(usesLeaderWorkerSets({.deployment = object, .lwsEnabled = false}));
}

TEST_CASE("pods belong to a component by the labels of service, graph and worker hash") {
  const std::string service = "'nvidia.com/dynamo-component':'web'";
  const auto ofGraph = [](const char* name) {
    return std::string{"'nvidia.com/dynamo-graph-deployment-name':'"} + name + "'";
  };
  const auto component = [](const std::string& labels, const std::string& spec) {
    return "{'metadata':{'name':'web','labels':{" + labels + "}},'spec':{" + spec + "}}";
  };
  struct Row {
    const char* about;
    std::string component;
    std::string podLabels;
    bool belongs;
  };
  const std::string named = "'serviceName':'web'";
  for (const Row& row : {
           Row{"of the same graph", component(ofGraph("g"), named), service + "," + ofGraph("g"), true},
           Row{"of another graph", component(ofGraph("g"), named), service + "," + ofGraph("h"), false},
           Row{"without a graph", component(ofGraph("g"), named), service, false},
           Row{"the graph is in the labels of the spec",
               component("", named + ",'labels':{" + ofGraph("g") + "}"), service + "," + ofGraph("g"), true},
           Row{"a component without a graph: its pods have its name", component("", named),
               service + "," + ofGraph("web"), true},
           Row{"a component without a graph, pods of an older release", component("", named), service, true},
           Row{"a component without a graph, pods of a graph with a service of its name",
               component("", named), service + "," + ofGraph("g"), false},
           Row{"without a service name", component("", ""), service + "," + ofGraph("web"), true},
           Row{"of another service", component(ofGraph("g"), "'serviceName':'db'"),
               service + "," + ofGraph("g"), false},
           Row{"of a release without hashes",
               component(ofGraph("g") + ",'nvidia.com/dynamo-worker-hash':'legacy'", named),
               service + "," + ofGraph("g"), true},
           Row{"of another worker hash",
               component(ofGraph("g") + ",'nvidia.com/dynamo-worker-hash':'h'", named),
               service + "," + ofGraph("g"), false},
       }) {
    CAPTURE(row.about);
    const json::Document pod = parsed("{'metadata':{'name':'p','labels':{" + row.podLabels + "}}}");
    CHECK(isPodOf(pod, parsed(row.component)) == row.belongs);
  }
}

TEST_CASE("permanent failures are reported once, transient failures never (quirk ctl-Q18)") {
  json::Document memory;
  const json::Document object =
      parsed(deployment("'replicas':1", "{'service':{'replicas':1},'observedGeneration':1}"));
  const Ending conflict = Conflict{"the object has been modified"};
  const Ending refused = Permanent{"Deployment g: spec.replicas: must be positive"};
  Outcome outcome =
      componentOutcome({.deployment = object, .failures = {&conflict, 1}}, kNow, memory.GetAllocator());
  CHECK_FALSE(outcome.status);
  CHECK(outcome.events.empty());

  outcome = componentOutcome({.deployment = object, .failures = {&refused, 1}}, kNow, memory.GetAllocator());
  CHECK(eventsOf(outcome.events) == "Warning ReconcileError: " + messageOf(refused) + '\n');
  CHECK(conditionsOf(*outcome.status) ==
        "Available=False Reconciling: Failed to reconcile DynamoComponentDeployment: " + messageOf(refused) +
            "\nDynamoComponentReady=Unknown Reconciling: Starting to reconcile DynamoComponentDeployment\n");
  CHECK(json::find(*outcome.status, "observedGeneration")->GetInt64() == 1);
  CHECK(json::find(*outcome.status, "service") == nullptr);  // nothing runs

  json::Document later = parsed(deployment("'replicas':1", "{}"));
  json::set(later, "status", json::copy(*outcome.status, later.GetAllocator()), later.GetAllocator());
  outcome = componentOutcome({.deployment = later, .failures = {&refused, 1}}, kNow, memory.GetAllocator());
  CHECK_FALSE(outcome.status);
  CHECK(outcome.events.empty());
}

TEST_CASE(
    "a failed component counts the pods that it has, and tells a refused scale-down (decision ctl-Q65)") {
  struct Row {
    const char* name;
    const char* spec;
    const char* workload;  ///< its replicas and its pods; empty: there is none
    std::vector<std::string> sets;
    const char* problem;   ///< before the failure
    const char* replicas;  ///< of status.service; "-": none
  };
  const std::string status = "'status':{'replicas':1,'readyReplicas':1,'updatedReplicas':1}}";
  const std::string set0 = "{'metadata':{'name':'g-worker-h-0'}," + status;
  const std::string set1 = "{'metadata':{'name':'g-worker-h-1'}," + status;
  const std::string ending = "{'metadata':{'name':'g-worker-h-2','deletionTimestamp':'t'}," + status;
  const char* several = "'replicas':0,'multinode':{'nodeCount':2}";
  const Row rows[] = {
      {"the Deployment is scaled down", "'replicas':0", "0", {}, "", "0"},
      {"its scale-down is refused",
       "'replicas':0",
       "2",
       {},
       "it is not scaled down from 2 to 0 replicas: ",
       "2"},
      {"it grows", "'replicas':3", "2", {}, "", "2"},
      {"nothing exists", "'replicas':1", "", {}, "", "-"},
      {"the sets are deleted", several, "", {ending}, "", "0"},
      {"their deletion is refused",
       several,
       "",
       {set1, ending, set0},
       "it is not scaled down from 2 to 0 replicas: ",
       "2"},
  };
  const Ending refused = Permanent{"Service n/g: denied"};
  for (const Row& row : rows) {
    INFO(row.name);
    json::Document memory;
    const json::Document object =
        parsed(deployment(row.spec, "{'service':{'replicas':7,'readyReplicas':7},'observedGeneration':1}"));
    const std::string count = row.workload;
    json::Document workload;
    if (!count.empty())
      workload = parsed("{'metadata':{'name':'g-worker-h'},'spec':{'replicas':" + count +
                        "},'status':{'replicas':" + count + ",'readyReplicas':" + count + "}}");
    const Objects sets{row.sets};
    const Outcome outcome = componentOutcome({.deployment = object,
                                              .workload = count.empty() ? nullptr : &workload,
                                              .leaderWorkerSets = sets.view(),
                                              .failures = {&refused, 1}},
                                             kNow, memory.GetAllocator());
    REQUIRE(outcome.status);
    CHECK(conditionsOf(*outcome.status)
              .find(std::string{
                        "Available=False Reconciling: Failed to reconcile DynamoComponentDeployment: "} +
                    row.problem + messageOf(refused) + '\n') == 0);
    const json::Value* service = json::find(*outcome.status, "service");
    REQUIRE((service == nullptr) == (std::string_view{row.replicas} == "-"));
    if (service == nullptr) continue;
    CHECK(json::dump(*json::find(service, "replicas")) == row.replicas);
    CHECK(json::dump(*json::find(service, "readyReplicas")) == row.replicas);
  }
}

TEST_CASE("a component is not ready while a child waits for a deletion") {
  struct Row {
    const char* name;
    const char* available;  ///< the replicas of the Deployment that are available
    const char* conditions;
  };
  const Row rows[] = {
      {"the Deployment is ready", "1",
       "Available=False DeploymentNotReady: Service n/g is being deleted\n"
       "DynamoComponentReady=False ComponentNotReady: DynamoComponent is not ready\n"},
      {"the Deployment is not ready", "0",
       "Available=False DeploymentNotReady: Deployment is not ready: 0 of 1 replicas available\n"
       "DynamoComponentReady=False ComponentNotReady: DynamoComponent is not ready\n"}};
  const Ending waits = LookAgain{"Service n/g is being deleted"};
  const json::Document object = parsed(deployment("'replicas':1", "{}"));
  for (const Row& row : rows) {
    INFO(row.name);
    json::Document memory;
    const json::Document workload = parsed(
        "{'metadata':{'name':'g','generation':1},'spec':{'replicas':1},'status':{'observedGeneration':1,"
        "'replicas':1,'updatedReplicas':1,'readyReplicas':" +
        std::string{row.available} + ",'availableReplicas':" + row.available +
        ",'conditions':[{'type':'Available','status':'True'}]}}");
    const Outcome outcome = componentOutcome(
        {.deployment = object, .workload = &workload, .failures = {&waits, 1}}, kNow, memory.GetAllocator());
    REQUIRE(outcome.status);
    CHECK(conditionsOf(*outcome.status) == row.conditions);
  }
}

}  // namespace
}  // namespace dynamo::lifecycle::test
