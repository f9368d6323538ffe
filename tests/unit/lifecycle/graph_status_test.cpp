// The status of a DynamoGraphDeployment.
#include "common/lifecycle/graph_status.h"

#include <catch2/catch.hpp>

#include "common/lifecycle/conditions.h"
#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

const std::string kServices = "{'Worker':{'componentType':'worker'},'Frontend':{'componentType':'frontend'}}";

Component frontend(long long ready = 1) {
  return {.service = "Frontend", .ready = ready};
}

struct ReadyStatus {
  std::string state;
  std::string conditions;
};

ReadyStatus readyStatus(const Outcome& outcome) {
  REQUIRE(outcome.status);
  return {std::string{json::findText(&*outcome.status, "state")}, conditionsOf(*outcome.status)};
}

TEST_CASE("a graph is ready when all services are ready and no update or restart is in progress") {
  struct Row {
    const char* name;
    std::string graph;
    std::vector<Component> components;
    const char* state;
    const char* condition;
  };
  const std::string rolling = "{'rollingUpdate':{'phase':'InProgress','startTime':'s'}}";
  const std::string restarting =
      "{'restart':{'observedID':'r','phase':'Restarting','inProgress':['Worker']}}";
  const Row rows[] = {
      {"all ready",
       graphText(kServices, "new"),
       {{.ready = 1}, frontend()},
       "successful",
       "Ready=True all_resources_are_ready: All resources are ready\n"},
      {"no child exists yet",
       graphText(kServices, "new"),
       {},
       "pending",
       "Ready=False some_resources_are_not_ready: Resources not ready: g-frontend: does not exist yet; "
       "g-worker-new: does not exist yet\n"},
      {"one service is not ready",
       graphText(kServices, "new"),
       {{.ready = 0}, frontend()},
       "pending",
       "Ready=False some_resources_are_not_ready: Resources not ready: g-worker-new: Deployment is not "
       "ready\n"},
      {"one status describes the previous spec (quirk ctl-Q2)",
       graphText(kServices, "new"),
       {{.ready = 1, .observed = false}, frontend()},
       "pending",
       "Ready=False some_resources_are_not_ready: Resources not ready: g-worker-new: its controller has not "
       "observed the latest spec\n"},
      {"a rolling update is in progress",
       graphText(kServices, "old", rolling),
       {{.hash = "old", .ready = 1}, {}, frontend()},
       "pending",
       "Ready=False rolling_update_in_progress: Rolling update in progress: g-worker-new: Deployment is not "
       "ready\n"},
      {"a restart is in progress, all services are ready",
       graphText(kServices, "new", restarting, ",'restart':{'id':'r','strategy':{'type':'Parallel'}}"),
       {{.ready = 1}, frontend()},
       "pending",
       "Ready=False restart_in_progress: Restart r in progress\n"},
      {"no services",
       graphText("{}", "new"),
       {},
       "successful",
       "Ready=True all_resources_are_ready: All resources are ready\n"}};
  for (const Row& row : rows) {
    INFO(row.name);
    World world{row.graph};
    for (const Component& component : row.components) world.components.add(component.text());
    const ReadyStatus made = readyStatus(world.pass());
    CHECK(made.state == row.state);
    CHECK(made.conditions == row.condition);
  }
}

TEST_CASE(
    "a ready graph tells what somebody else does to the children of its components (decision ctl-Q45)") {
  World world{graphText(kServices, "new")};
  std::string worker = Component{.ready = 1}.text();
  const std::string text = "kubectl scales Deployment.apps ns/g-worker-new: 5 replicas instead of 1";
  const std::string conditions = "'conditions':[";
  worker.insert(
      worker.find(conditions) + conditions.size(),
      "{'type':'Overridden','status':'True','reason':'ReplicasOverridden','message':'" + text + "'},");
  world.components.add(worker);
  world.components.add(Component{.service = "Frontend", .hash = "", .ready = 1}.text());
  const Outcome outcome = world.pass();
  CHECK(readyStatus(outcome).conditions ==
        "Ready=True all_resources_are_ready: All resources are ready; " + text + "\n");
  REQUIRE(outcome.events.size() == 1);
  CHECK(outcome.events[0].reason == "ReplicasOverridden");
  CHECK(outcome.events[0].message == text);
  world.keep(outcome);
  CHECK(world.pass().events.empty());
  // A failed graph tells it too, and neither is told again.
  const std::vector<Ending> failures = {Permanent{"Service n/s: no"}};
  const Outcome failed = world.pass(failures);
  CHECK(readyStatus(failed).conditions ==
        "Ready=False failed_to_reconcile_the_resources: Service n/s: no; " + text + "\n");
  CHECK(failed.events.size() == 1);
  world.keep(failed);
  CHECK(world.pass(failures).events.empty());
  CHECK(world.pass().events.empty());
}

TEST_CASE("the counts of a service include its old generations") {
  World world{graphText(kServices, "old", "{'rollingUpdate':{'phase':'InProgress','startTime':'s'}}")};
  world.components.add(Component{.hash = "old", .replicas = 2, .ready = 2}.text());
  world.components.add(Component{.replicas = 1}.text());
  const Outcome outcome = world.pass();
  CHECK(
      json::dump(*json::find(*outcome.status, "services")) ==
      R"({"Worker":{"componentKind":"Deployment","componentName":"g-worker-new","componentNames":["g-worker-new",)"
      R"("g-worker-old"],"replicas":3,"updatedReplicas":1,"readyReplicas":2,"availableReplicas":2}})");
}

TEST_CASE("old generations are reported before the new generation has a status (quirk ctl-Q42)") {
  World world{graphText("{'Worker':{'componentType':'worker','replicas':2}}", "old")};
  world.components.add(Component{.hash = "old", .replicas = 2, .ready = 2}.text());
  const Outcome outcome = world.pass();
  CHECK(
      json::dump(*json::find(*outcome.status, "services")) ==
      R"({"Worker":{"componentKind":"Deployment","componentName":"g-worker-new","replicas":2,"updatedReplicas":0,)"
      R"("readyReplicas":2,"availableReplicas":2,"componentNames":["g-worker-old"]}})");
}

TEST_CASE("the first status of a graph waits for the first statuses of new components") {
  struct Row {
    const char* name;
    const char* created;  ///< kNow is 03:04:05
    std::string status;
    bool deferred;
  };
  const Row rows[] = {
      {"new component", "2026-01-02T03:04:03Z", "{}", true},
      {"old component", "2026-01-02T03:03:59Z", "{}", false},
      {"the graph has a status", "2026-01-02T03:04:03Z", "{'state':'pending'}", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    World world{graphText(kServices, "new", row.status)};
    world.components.add(frontend().text());
    std::string text = Component{.created = row.created}.text();
    world.components.add(text.substr(0, text.find(",'status'")) + "}");
    Outcome outcome = world.pass();
    CHECK(outcome.status.has_value() != row.deferred);
    CHECK(outcome.requeueAfter.has_value() == row.deferred);

    outcome = world.pass({Permanent{"refused"}});
    CHECK(outcome.status.has_value());
  }
}

TEST_CASE("a reconcile without changes writes nothing (quirk ctl-Q17)") {
  World world{graphText(kServices, "new", "{}", ",'restart':{'id':'r'}")};
  world.components.add(Component{.ready = 0, .more = "'annotations':{'nvidia.com/restartAt':'r'}"}.text());
  world.components.add(frontend().text());
  const Outcome first = world.pass();
  REQUIRE(first.status);
  world.keep(first);
  const Outcome second = world.pass();
  CHECK_FALSE(second.status);
  CHECK(second.events.empty());
  CHECK(second.writes.empty());
}

TEST_CASE("failures keep the rest of the status (quirks ctl-Q3, ctl-Q18)") {
  const std::string known =
      "{'state':'successful','observedGeneration':1,'services':{'Worker':{'replicas':1}},'restart':{'"
      "observedID':"
      "'r','phase':'Completed'},'rollingUpdate':{'phase':'InProgress','startTime':'s'}}";
  World world{graphText(kServices, "old", known)};
  world.components.add(Component{.hash = "old", .replicas = 1, .ready = 1}.text());
  Outcome outcome = world.pass({Conflict{"conflict"}});
  CHECK_FALSE(outcome.status);
  CHECK(outcome.writes.empty());

  outcome = world.pass({Conflict{"conflict"}, Permanent{"PersistentVolumeClaim \"c\" does not exist"}});
  CHECK(outcome.writes.empty());
  const ReadyStatus made = readyStatus(outcome);
  CHECK(made.state == "failed");
  CHECK(made.conditions ==
        "Ready=False failed_to_reconcile_the_resources: PersistentVolumeClaim \"c\" does not exist\n");
  CHECK(eventsOf(outcome.events) == "Warning ReconcileError: PersistentVolumeClaim \"c\" does not exist\n");
  json::Document expected = parsed(known);
  for (const char* kept : {"services", "restart", "rollingUpdate", "observedGeneration"})
    CHECK(json::equal(json::find(*outcome.status, kept), json::find(expected, kept)));

  world.keep(outcome);
  outcome = world.pass({Permanent{"PersistentVolumeClaim \"c\" does not exist"}});
  CHECK_FALSE(outcome.status);
  CHECK(outcome.events.empty());
}

TEST_CASE("a graph is not ready while a child waits for a deletion (quirk ctl-Q52)") {
  struct Row {
    const char* name;
    long long ready;  ///< replicas of the worker
    std::vector<Ending> failures;
    const char* state;  ///< empty: the status does not change
    const char* condition;
  };
  const Ending waits = LookAgain{"Service n/g is being deleted"};
  const Row rows[] = {
      {"all services are ready",
       1,
       {waits},
       "pending",
       "Ready=False some_resources_are_not_ready: Resources not ready: Service n/g is being deleted\n"},
      {"two children wait",
       1,
       {waits, LookAgain{"Role n/r is being deleted"}},
       "pending",
       "Ready=False some_resources_are_not_ready: Resources not ready: Service n/g is being deleted; Role "
       "n/r "
       "is being deleted\n"},
      {"a service is not ready",
       0,
       {waits},
       "pending",
       "Ready=False some_resources_are_not_ready: Resources not ready: g-worker-new: Deployment is not "
       "ready\n"},
      {"a write has failed, too", 1, {waits, Conflict{"conflict"}}, "", ""},
      {"a write was refused, too",
       1,
       {waits, Permanent{"denied"}},
       "failed",
       "Ready=False failed_to_reconcile_the_resources: denied\n"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world{graphText(kServices, "new", "{'state':'successful','observedGeneration':1}")};
    world.components.add(Component{.ready = row.ready}.text());
    world.components.add(frontend().text());
    const Outcome outcome = world.pass(row.failures);
    CHECK(outcome.status.has_value() == (*row.state != '\0'));
    if (!outcome.status) continue;
    const ReadyStatus made = readyStatus(outcome);
    CHECK(made.state == row.state);
    CHECK(made.conditions == row.condition);
  }
}

TEST_CASE("a graph reports once why pods of a component do not run (quirk ctl-Q36)") {
  World world{graphText("{'Worker':{'componentType':'worker'}}", "new")};
  std::string component = Component{}.text();
  const std::string text = "Deployment is not ready: cannot pull image i";
  component.replace(component.find("Deployment is not ready"), 23, text);
  component.replace(
      component.find("'conditions':["), 14,
      "'conditions':[{'type':'PodFailure','status':'True','reason':'ImagePullFailed','message':'cannot "
      "pull image i'},");
  world.components.add(component);
  const Outcome first = world.pass();
  CHECK(eventsOf(first.events) == "Warning ImagePullFailed: Worker: cannot pull image i\n");
  CHECK(readyStatus(first).conditions ==
        "Ready=False some_resources_are_not_ready: Resources not ready: g-worker-new: " + text + '\n');
  world.keep(first);
  CHECK(world.pass().events.empty());
}

TEST_CASE("a graph reports a cause once although its exit code changes (quirk ctl-Q72)") {
  const auto component = [](const char* code) {
    const std::string cause = "container main keeps terminating: exit code " + std::string{code};
    std::string text = Component{}.text();
    text.replace(text.find("Deployment is not ready"), 23, "Deployment is not ready: " + cause);
    return text.replace(
        text.find("'conditions':["), 14,
        "'conditions':[{'type':'PodFailure','status':'True','reason':'CrashLoop','message':'" + cause +
            "'},");
  };
  World world{graphText("{'Worker':{'componentType':'worker'}}", "new")};
  world.components.add(component("1"));
  const Outcome first = world.pass();
  CHECK(eventsOf(first.events) ==
        "Warning CrashLoop: Worker: container main keeps terminating: exit code 1\n");
  world.keep(first);
  world.components = Objects{{component("2")}};
  const Outcome second = world.pass();
  CHECK(second.events.empty());
  CHECK(readyStatus(second).conditions.find("exit code 2") != std::string::npos);
}

TEST_CASE("the reason of Ready tells capacity, updates and other causes apart (quirk ctl-Q49)") {
  struct Row {
    const char* name;
    std::vector<const char*> failures;  // reasons of PodFailure, of one component each
    int updated;                        // pods of the latest spec, of 2
    const char* reason;
  };
  const Row rows[] = {
      {"nothing is known", {""}, 2, "some_resources_are_not_ready"},
      {"no node has room", {"PodUnschedulable"}, 2, "insufficient_capacity"},
      {"the quota has no room", {"QuotaExceeded"}, 2, "insufficient_capacity"},
      {"no room for the pods of an update", {"PodUnschedulable"}, 1, "insufficient_capacity"},
      {"another cause as well", {"PodUnschedulable", "CrashLoop"}, 2, "some_resources_are_not_ready"},
      {"old pods are being replaced", {""}, 1, "rolling_update_in_progress"},
      {"the new pods of an update crash", {"CrashLoop"}, 1, "some_resources_are_not_ready"}};
  for (const Row& row : rows) {
    INFO(row.name);
    World world{
        graphText("{'Frontend':{'componentType':'frontend'},'Worker':{'componentType':'worker'}}", "new")};
    for (std::size_t i = 0; i < 2; ++i) {
      const bool broken = i < row.failures.size();
      std::string text =
          Component{.service = i == 0 ? "Frontend" : "Worker", .replicas = 2, .ready = broken ? 0 : 2}.text();
      if (broken) {
        const std::string count = "'updatedReplicas':";
        text.replace(text.find(count + '2'), count.size() + 1, count + std::to_string(row.updated));
        const std::string list = "'conditions':[";
        if (*row.failures[i] != '\0')
          text.insert(text.find(list) + list.size(),
                      std::string{"{'type':'PodFailure','status':'True','message':'m','reason':'"} +
                          row.failures[i] + "'},");
      }
      world.components.add(text);
    }
    const Outcome outcome = world.pass();
    REQUIRE(outcome.status);
    CHECK(json::findText(findCondition(&*outcome.status, "Ready"), "reason") == row.reason);
    CHECK(json::findText(&*outcome.status, "state") == "pending");
  }
}

TEST_CASE("an Event of the graph reports a component whose children are rejected") {
  World world{graphText("{'Worker':{'componentType':'worker'}}", "new")};
  std::string component = Component{}.text();
  component.replace(component.find("'message':'Deployment is not ready'"), 35,
                    "'reason':'Reconciling','message':'Failed to reconcile: exceeded quota'");
  world.components.add(component);
  const Outcome first = world.pass();
  CHECK(eventsOf(first.events) == "Warning ReconcileError: Worker: Failed to reconcile: exceeded quota\n");
  world.keep(first);
  CHECK(world.pass().events.empty());
}

TEST_CASE("an old generation that is refused a child is named while workers roll (decision ctl-Q65)") {
  World world{graphText("{'Worker':{'componentType':'worker'}}", "old")};
  const std::string why = "Failed to reconcile: it is not scaled down from 1 to 0 replicas: denied";
  std::string old = Component{.hash = "old", .replicas = 0, .ready = 1, .present = 1, .refused = true}.text();
  old.replace(old.find("Deployment is not ready"), 23, why);
  world.components.add(old);
  world.components.add(Component{.ready = 1}.text());
  const Outcome first = world.pass();
  REQUIRE(first.status);
  CHECK(conditionsOf(*first.status) ==
        "Ready=False rolling_update_in_progress: Rolling update in progress: g-worker-old: " + why + '\n');
  CHECK(eventsOf(first.events).find("Warning ReconcileError: Worker: " + why + '\n') == 0);
  world.keep(first);
  CHECK(world.pass().events.empty());

  // What is refused does not keep its pods: the update ends.
  World ended{graphText("{'Worker':{'componentType':'worker'}}", "old",
                        "{'rollingUpdate':{'phase':'InProgress','startTime':'s'}}")};
  ended.components.add(Component{.hash = "old", .replicas = 0, .present = 0, .refused = true}.text());
  ended.components.add(Component{.ready = 1}.text());
  const Outcome last = ended.pass();
  CHECK(writesOf(last.writes).find("delete DynamoComponentDeployment/g-worker-old\n") == 0);
  CHECK(conditionsOf(*last.status).find("Ready=True") == 0);
}

TEST_CASE("pods that are replaced in a restart make the graph wait for the restart (decision ctl-Q49)") {
  struct Row {
    const char* name;
    const char* inProgress;
    const char* updated;  ///< pods of the new spec of the worker
    const char* cause;    ///< reason of its condition PodFailure
    const char* reason;
  };
  const Row rows[] = {
      {"the service restarts", "'Worker'", "1", "", "restart_in_progress"},
      {"all its pods are of the new spec, and are not ready yet", "'Worker'", "2", "", "restart_in_progress"},
      {"another service restarts, and this one has old pods", "'Frontend'", "1", "", "restart_in_progress"},
      {"another service restarts, and this one has no old pods", "'Frontend'", "2", "",
       "some_resources_are_not_ready"},
      {"a pod does not start", "'Worker'", "1", "CrashLoop", "some_resources_are_not_ready"},
      {"no room for a pod", "'Worker'", "1", "PodUnschedulable", "insufficient_capacity"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world{graphText(kServices, "new",
                          std::string{"{'restart':{'observedID':'r','phase':'Restarting','inProgress':["} +
                              row.inProgress + "]}}",
                          ",'restart':{'id':'r','strategy':{'type':'Parallel'}}")};
    const std::string more = "'annotations':{'nvidia.com/restartAt':'r'}";
    std::string worker = Component{.replicas = 2, .ready = 1, .more = more}.text();
    const std::string count = "'updatedReplicas':";
    worker.replace(worker.find(count) + count.size(), 1, row.updated);
    if (*row.cause != '\0')
      worker.insert(
          worker.find("'conditions':[") + 14,
          std::string{"{'type':'PodFailure','status':'True','message':'m','reason':'"} + row.cause + "'},");
    world.components.add(worker);
    // A restart of the frontend alone is not over while it has not got the id.
    const bool frontendRestarts = std::string_view{row.inProgress} == "'Frontend'";
    world.components.add(
        Component{.service = "Frontend", .ready = 1, .more = frontendRestarts ? "" : more}.text());
    const Outcome outcome = world.pass();
    REQUIRE(outcome.status);
    CHECK(json::findText(findCondition(&*outcome.status, "Ready"), "reason") == row.reason);
  }
}

TEST_CASE("causes that do not fit into the message cause no repeated Events") {
  std::string services;
  World world{graphText("{}", "new")};
  for (int i = 10; i < 40; ++i) {
    const std::string name = "S" + std::to_string(i);
    services += (services.empty() ? "'" : ",'") + name + "':{}";
    const std::string text = "cannot pull image " + name + std::string(100, 'x');
    world.components.add(
        "{'metadata':{'name':'g-s" + std::to_string(i) +
        "','generation':1},'status':{'observedGeneration':1,'conditions':[{'type':'Available',"
        "'status':'False','message':'Deployment is not ready: " +
        text + "'},{'type':'PodFailure','status':'True','reason':'ImagePullFailed','message':'" + text +
        "'}]}}");
  }
  json::Document other = parsed("{" + services + "}");
  json::set(*json::find(world.graph, "spec"), "services", json::copy(other, world.graph.GetAllocator()),
            world.graph.GetAllocator());
  const Outcome first = world.pass();
  CHECK(first.events.size() > 5);
  CHECK(first.events.size() < 30);
  world.keep(first);
  CHECK(world.pass().events.empty());
}

TEST_CASE("the status names the checkpoints that services use") {
  World world{graphText(
      "{'A':{'checkpoint':{'enabled':true,'checkpointRef':'c'}},'B':{'checkpoint':{'enabled':true,"
      "'identity':{'model':'m','backendFramework':'vllm'}}},'C':{'checkpoint':{'enabled':false}},'D':{}}")};
  world.facts.setCheckpoint({"ns", "c", "abc", "abc", true});
  world.facts.setCheckpoint({"elsewhere", "x", "h", "h", true});
  const Outcome outcome = world.pass();
  const json::Value* made = json::find(*outcome.status, "checkpoints");
  REQUIRE(made != nullptr);
  CHECK(made->MemberCount() == 2);
  CHECK(json::dump(*json::find(made, "A")) == R"({"checkpointName":"c","identityHash":"abc","ready":true})");
  CHECK(json::find(made, "B")->MemberCount() == 1);
  CHECK(json::findText(json::find(made, "B"), "identityHash").size() == 16);
}

TEST_CASE("the plan contains the next step of a restart and its annotations") {
  World world{graphText(kServices, "new",
                        "{'restart':{'observedID':'r','phase':'Restarting','inProgress':['Frontend']}}",
                        ",'restart':{'id':'r'}")};
  world.components.add(
      Component{.service = "Frontend", .ready = 1, .more = "'annotations':{'nvidia.com/restartAt':'r'}"}
          .text());
  world.components.add(Component{.ready = 1}.text());
  const GraphPlan plan = world.plan();
  CHECK(plan.restart.inProgress == std::vector<std::string>{"Worker"});
  CHECK(json::dump(restartStatus(plan.restart, world.memory.GetAllocator())) ==
        R"({"observedID":"r","phase":"Restarting","inProgress":["Worker"]})");
  CHECK(plan.inputs.restartAnnotations == RestartAnnotations{{"Frontend", "r"}, {"Worker", "r"}});
  CHECK(json::findText(json::find(json::find(world.graph, "status"), "restart"), "phase") == "Restarting");
  CHECK(json::dump(world.graph).find("\"inProgress\":[\"Frontend\"]") != std::string::npos);
}

TEST_CASE("a graph that is created again does not restart the children of the deleted one (quirk ctl-Q41)") {
  const auto ofOther = [](std::string text) {
    const std::string own = "{'controller':true,'uid':'u'}";
    return text.replace(text.find(own), own.size(),
                        "{'controller':true,'kind':'DynamoGraphDeployment','uid':'old'}");
  };
  World world{graphText(kServices, "", "{}", ",'restart':{'id':'r'}")};
  world.components.add(ofOther(Component{.service = "Frontend", .ready = 1}.text()));
  world.components.add(ofOther(Component{.hash = "new", .ready = 1}.text()));
  const GraphPlan plan = world.plan();
  CHECK(json::dump(restartStatus(plan.restart, world.memory.GetAllocator())) ==
        R"({"observedID":"r","phase":"Completed"})");
  CHECK(plan.inputs.restartAnnotations == RestartAnnotations{{"Frontend", "r"}, {"Worker", "r"}});
}

TEST_CASE("a rolling update supersedes a restart that is requested at the same time") {
  World world{graphText("{'Worker':{'componentType':'worker'}}", "old", "{}", ",'restart':{'id':'r'}")};
  world.components.add(Component{.hash = "old", .ready = 1}.text());
  const GraphPlan plan = world.plan();
  CHECK(json::findText(&plan.rollingUpdate.status, "phase") == "Pending");
  CHECK(plan.inputs.workerHash == "new");
  CHECK(plan.inputs.workerReplicas.at("Worker") == 1);
  const Outcome outcome = world.pass();
  CHECK(json::dump(*json::find(*outcome.status, "restart")) == R"({"observedID":"r","phase":"Superseded"})");
  CHECK(eventsOf(outcome.events) ==
        "Normal RollingUpdateStarted: updating workers from generation old to new\n"
        "Warning RestartSuperseded: restart r is superseded by a rolling update of the workers\n");
  world.keep(outcome);
  CHECK(world.pass().events.empty());
}

TEST_CASE("a graph that is being deleted has no status") {
  std::string text = graphText(kServices);
  text.replace(text.find("'metadata':{"), 12, "'metadata':{'deletionTimestamp':'t',");
  World world{text};
  const Outcome outcome = world.pass();
  CHECK_FALSE(outcome.status);
  CHECK(outcome.writes.empty());
}

}  // namespace
}  // namespace dynamo::lifecycle::test
