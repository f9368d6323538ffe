// The one cause that `kubectl dynamo why` tells.

#include "controller/view/cause.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/lifecycle/pod_failures.h"

namespace dynamo::view::test {
namespace {

Node node(std::string kind, std::string name, std::string state, std::string message = "",
          std::vector<Node> children = {}) {
  Node made;
  made.kind = std::move(kind);
  made.name = std::move(name);
  made.ready = state == "Ready";
  made.state = std::move(state);
  made.message = std::move(message);
  made.children = std::move(children);
  return made;
}

GraphTree graph(std::string reason, std::string message, std::vector<Node> nodes) {
  GraphTree tree;
  tree.summary.namespaceName = "demo";
  tree.summary.name = "g";
  tree.summary.observed = true;
  tree.summary.status = "False";
  tree.summary.reason = std::move(reason);
  tree.summary.message = std::move(message);
  tree.nodes = std::move(nodes);
  return tree;
}

GraphTree notReady(std::vector<Node> nodes) {
  return graph("some_resources_are_not_ready", "Resources not ready", std::move(nodes));
}

Node service(const std::string& name, std::vector<Node> pods) {
  return node("service", name, "Unavailable", "",
              {node("Deployment", "g-" + name, "Unavailable", "0 of 1", std::move(pods))});
}

std::string told(const GraphTree& tree) {
  return toText("g", causeOf(tree), Style{});
}

}  // namespace

TEST_CASE("a ready graph has no cause, whatever its pods do") {
  GraphTree tree = notReady({service("A", {node("Pod", "a-1", "CrashLoop", "x")})});
  tree.summary.status = "True";
  tree.summary.ready = true;
  CHECK(told(tree) == "g is ready\n");
  CHECK(toJson("DynamoGraphDeployment", "demo", "g", causeOf(tree)) ==
        R"({"kind":"DynamoGraphDeployment","namespace":"demo","name":"g","ready":true})"
        "\n");
}

TEST_CASE("the cause is that of the lowest object that is not ready") {
  const auto failing = [](const std::string& name) {
    return node("Pod", name, "CrashLoop",
                "container \"main\" keeps terminating (see kubectl logs " + name + ")");
  };
  const GraphTree tree =
      notReady({service("A", {node("Pod", "a-1", "Ready")}),
                service("B", {failing("b-1"), node("Pod", "b-2", "Ready"), failing("b-3")})});
  CHECK(told(tree) ==
        "g is not ready\n"
        "  cause   CrashLoop: container \"main\" keeps terminating (see kubectl logs b-1)\n"
        "  object  Pod b-1, of service B; 1 more like it; 1 with other causes\n"
        "  to do   Read the log of the last run, then correct the command, the arguments, the model or the "
        "resources.\n");
}

TEST_CASE(
    "causes that a user can remove come first, then a lack of capacity, then what follows from others") {
  struct Row {
    std::vector<Node> nodes;
    std::string reason;
    std::string advice;
  };
  const std::vector<Row> rows = {
      {{node("Pod", "a", "ContainerNotReady"), node("Pod", "b", "PodUnschedulable"),
        node("Pod", "c", "CrashLoop")},
       "CrashLoop",
       "Read the log"},
      {{node("Pod", "a", "PodUnschedulable"), node("Pod", "b", "ImagePullFailed")},
       "ImagePullFailed",
       "image"},
      {{node("Pod", "a", "PodUnschedulable"), node("Pod", "b", "ContainerNotCreated")},
       "ContainerNotCreated",
       "ConfigMap"},
      {{node("Deployment", "a", "QuotaExceeded"), node("Deployment", "b", "PodsRefused")},
       "PodsRefused",
       "policy"},
      {{node("Pod", "a", "PodUnschedulable"), node("PodClique", "b", "GroveError")}, "GroveError", "Grove"},
      {{node("Pod", "a", "PodUnschedulable"), node("Deployment", "b", "Paused")}, "Paused", "Resume"},
      {{node("Pod", "a", "ContainerNotReady"), node("Pod", "b", "PodUnschedulable")},
       "PodUnschedulable",
       "add nodes"},
      {{node("Pod", "a", "ContainerNotReady"), node("Deployment", "b", "QuotaExceeded")},
       "QuotaExceeded",
       "quota"},
      {{node("Pod", "a", "ContainerNotReady"), node("ConfigMap", "b", "Missing")}, "Missing", "Create it"},
      {{node("Pod", "a", "BeingDeleted"), node("Pod", "b", "ContainerNotReady")},
       "ContainerNotReady",
       "probe"},
      {{node("Pod", "a", "BeingDeleted")}, "BeingDeleted", "finalizers"},
      {{node("Deployment", "a", "Scaling"), node("Deployment", "b", "Updating")}, "Scaling", "Wait"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const auto cause = causeOf(notReady(row.nodes));
    REQUIRE(cause);
    CHECK(cause->reason == row.reason);
    CHECK(cause->same == 0);
    CHECK(cause->others == row.nodes.size() - 1);
    CHECK_THAT(cause->advice, Catch::Contains(row.advice));
  }
}

TEST_CASE("every lack of capacity comes after a failure, as in conditions") {
  namespace reason = lifecycle::reason;
  for (const std::string_view each :
       {reason::kImagePull, reason::kUnschedulable, reason::kCrashLoop, reason::kContainer,
        reason::kPodsRefused, reason::kQuotaExceeded, reason::kGroveError}) {
    INFO(each);
    const auto cause =
        causeOf(notReady({node("Pod", "a", std::string{each}), node("Job", "b", "Suspended")}));
    REQUIRE(cause);
    CHECK((cause->reason == "Suspended") == lifecycle::isLackOfCapacity(each));
  }
}

TEST_CASE("pods that have ended and earlier worker generations are no cause") {
  Node earlier = node("DynamoComponentDeployment", "g-worker-1", "Unavailable", "earlier worker generation",
                      {node("Pod", "w-0", "CrashLoop", "x")});
  earlier.earlier = true;
  const auto cause =
      causeOf(graph("rolling_update_in_progress", "1 of 2 updated",
                    {node("service", "W", "Updating", "", {earlier}),
                     node("service", "F", "Ready", "", {node("Pod", "f-0", "Failed", "Evicted")})}));
  REQUIRE(cause);
  CHECK(cause->reason == "rolling_update_in_progress");
  CHECK(cause->message == "1 of 2 updated");
  CHECK(cause->object.empty());
  CHECK(cause->others == 0);
}

TEST_CASE("what may not be listed is no cause, but what is known below its service") {
  const Node unknown = node("DynamoComponentDeployment", "g-a", "Unknown", "its kind may not be listed");
  const Node pod = node("Pod", "a-1", "CrashLoop", "x");
  struct Row {
    std::vector<Node> children;
    std::string reason;
  };
  const std::vector<Row> rows = {{{unknown}, "some_resources_are_not_ready"}, {{unknown, pod}, "CrashLoop"}};
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    const auto cause = causeOf(notReady({node("service", "A", "Unknown", "", row.children)}));
    REQUIRE(cause);
    CHECK(cause->reason == row.reason);
    CHECK(cause->others == 0);
  }
}

TEST_CASE("texts of the cluster do not control the terminal") {
  const GraphTree tree = graph("a\x1b[2J", "b\nc", {});
  CHECK(toText("g\x1b[2J", causeOf(tree), Style{}) ==
        "g [2J is not ready\n"
        "  cause  a [2J: b c\n"
        "  to do  Wait, and follow it with kubectl dynamo status -w.\n");
}

TEST_CASE("what concerns the whole graph comes before its objects") {
  const std::vector<Node> crash = {service("A", {node("Pod", "a-1", "CrashLoop", "x")})};
  GraphTree refused = graph("failed_to_reconcile_the_resources", "Service g is controlled by h", crash);
  CHECK(
      told(refused) ==
      "g is not ready\n"
      "  cause  failed_to_reconcile_the_resources: Service g is controlled by h\n"
      "  to do  Correct what the message names. The operator tries again by itself and after each change.\n");
  GraphTree unseen = notReady(crash);
  unseen.summary.observed = false;
  unseen.summary.message = "its controller has not observed the latest spec";
  auto cause = causeOf(unseen);
  REQUIRE(cause);
  CHECK(cause->reason.empty());
  CHECK(cause->message == "its controller has not observed the latest spec");
  CHECK_THAT(cause->advice, Catch::StartsWith("See whether the operator runs"));
  GraphTree leaving = notReady(crash);
  leaving.summary.observed = false;
  leaving.summary.deleting = true;
  leaving.summary.message = "is being deleted";
  cause = causeOf(leaving);
  REQUIRE(cause);
  CHECK(cause->message == "is being deleted");
  CHECK_THAT(cause->advice, Catch::Contains("finalizers"));
}

TEST_CASE("requests, models and checkpoints") {
  ObjectTree tree;
  ObjectSummary& summary = tree.summary;
  summary.kind = "DynamoGraphDeploymentRequest";
  summary.observed = true;
  summary.phase = "Failed";
  summary.reason = "ProfilingFailed";
  summary.message = "exit code 1";
  tree.nodes = {node("Job", "profile-r", "Failed", "exit code 1")};

  SECTION("a failed request or checkpoint tells its own reason") {
    const auto request = causeOf(tree);
    REQUIRE(request);
    CHECK(request->reason == "ProfilingFailed");
    CHECK_THAT(request->advice, Catch::Contains("delete it and create it again"));
    summary.kind = "DynamoCheckpoint";
    const auto checkpoint = causeOf(tree);
    REQUIRE(checkpoint);
    CHECK_THAT(checkpoint->advice, Catch::Contains("after a change of its spec"));
  }
  SECTION("another one tells what it waits for") {
    summary.phase = "Profiling";
    tree.nodes = {node("Job", "profile-r", "Pending", "",
                       {node("Pod", "profile-r-x", "Failed", "the first try"),
                        node("Pod", "profile-r-y", "PodUnschedulable", "no node")})};
    CHECK(
        toJson("DynamoGraphDeploymentRequest", "demo", "r", causeOf(tree)) ==
        R"({"kind":"DynamoGraphDeploymentRequest","namespace":"demo","name":"r","ready":false,)"
        R"("reason":"PodUnschedulable","message":"no node","object":"Pod profile-r-y","advice":"Wait for )"
        R"(capacity or add nodes. If no node can ever fit, lower the resources or correct node selectors and )"
        R"(tolerations.","same":0,"others":0})"
        "\n");
  }
  SECTION("a graph of a request that could not be reconciled is the cause, not its pods") {
    summary.phase = "Deploying";
    tree.nodes = {node("DynamoGraphDeployment", "g", "failed", "Service g is controlled by h",
                       {node("Pod", "a-1", "CrashLoop", "x")})};
    const auto cause = causeOf(tree);
    REQUIRE(cause);
    CHECK(cause->object == "DynamoGraphDeployment g");
    CHECK_THAT(cause->advice, Catch::StartsWith("Correct what the message names"));
  }
  SECTION("without an object that is not ready, the condition is the cause") {
    summary.kind = "DynamoModel";
    summary.phase = "";
    summary.reason = "NoServicesFound";
    tree.nodes = {};
    const auto cause = causeOf(tree);
    REQUIRE(cause);
    CHECK_THAT(cause->advice, Catch::Contains("base model"));
  }
  SECTION("one that its operator has not looked at, and one that is being deleted") {
    summary.observed = false;
    CHECK_THAT(causeOf(tree).value().advice, Catch::StartsWith("See whether the operator runs"));
    summary.deleting = true;
    CHECK_THAT(causeOf(tree).value().advice, Catch::Contains("finalizers"));
    summary.ready = true;
    CHECK_FALSE(causeOf(tree));
  }
}

}  // namespace dynamo::view::test
