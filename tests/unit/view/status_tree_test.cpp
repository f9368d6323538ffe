// The status of a graph as a tree of its objects.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "../lifecycle/support.h"
#include "common/defaults/apply.h"
#include "common/render/hash.h"
#include "status_support.h"

namespace dynamo::view::test {
namespace {

const std::string kAvailable = "'status':'True'";
const std::string kFrontend = "'services':{'Frontend':{'componentType':'frontend','replicas':1}}";
const std::string kWorker = "'services':{'Worker':{'componentType':'worker','replicas':2}}";

/// The tree without the summary above it.
std::string treeOnly(const std::string& text) {
  return text.substr(text.find("\nOBJECT") + 1);
}

std::string hashOf(const std::string& graphText) {
  json::Document document = lifecycle::test::parsed(graphText);
  return render::workerHash(defaults::intent(document, document.GetAllocator()));
}

}  // namespace

TEST_CASE("a ready graph is a tree of services, their objects and pods") {
  const std::string text =
      shown(graph(kFrontend + ",'pvcs':[{'name':'models','create':false},{'name':'cache'}]",
                  "'state':'successful','services':{'Frontend':{'readyReplicas':1}}," +
                      readyCondition("True", "all_resources_are_ready", "All resources are ready")),
            {component("g-frontend", "Frontend", "", 1, 1, kAvailable),
             pod("g-frontend-1", "ReplicaSet/g-frontend-1", labelsOf("Frontend")),
             object("Deployment", "g-frontend", "DynamoComponentDeployment/g-frontend", labelsOf("Frontend"),
                    workload(1, 1)),
             object("Service", "g-frontend", "DynamoComponentDeployment/g-frontend"),
             object("DynamoGraphDeploymentScalingAdapter", "g-frontend", kGraph, "",
                    "'spec':{'replicas':3,'dgdRef':{'name':'g','serviceName':'Frontend'}}"),
             object("ConfigMap", "settings", kGraph),
             object("ConfigMap", "of-others", "DynamoGraphDeployment/h"), pod("of-others-1", "", ""),
             object("PersistentVolumeClaim", "models", "", "", "'status':{'phase':'Bound'}")});
  CHECK(text == R"(DynamoGraphDeployment demo/g
  state     successful
  ready     True, all_resources_are_ready: All resources are ready
  replicas  1/1

OBJECT                                                READY  AGE  STATUS
├─ service Frontend                                   1/1         Ready
│  ├─ DynamoComponentDeployment g-frontend            1/1         Ready
│  │  ├─ Deployment g-frontend                        1/1         Ready
│  │  │  └─ Pod g-frontend-1                          1/1         Ready
│  │  └─ Service g-frontend                                       Ready
│  └─ DynamoGraphDeploymentScalingAdapter g-frontend              Ready: replicas 3
├─ ConfigMap settings                                             Ready
├─ PersistentVolumeClaim models                                   Bound
└─ PersistentVolumeClaim cache                                    Missing: does not exist yet
)");
}

TEST_CASE("what is not ready has its reason, in the words of the conditions") {
  const std::string waiting =
      "'phase':'Pending','containerStatuses':[{'name':'main','ready':false,'image':'a/"
      "b:c','state':{'waiting':"
      "{'reason':'ImagePullBackOff','message':'Back-off pulling image'}}}]";
  const std::string text =
      shown(graph(kFrontend, "'state':'pending'," + readyCondition("False", "some_resources_are_not_ready",
                                                                   "Resources not ready: g-frontend: x")),
            {component("g-frontend", "Frontend", "", 1, 0,
                       "'status':'False','message':'Deployment is not ready: 0 of 1 replicas available'"),
             pod("g-frontend-1", "ReplicaSet/g-frontend-1", labelsOf("Frontend"), waiting),
             object("Deployment", "g-frontend", "DynamoComponentDeployment/g-frontend", labelsOf("Frontend"),
                    workload(1, 0))});
  CHECK(text == R"(DynamoGraphDeployment demo/g
  state     pending
  ready     False, some_resources_are_not_ready: Resources not ready: g-frontend: x
  replicas  0/1

OBJECT                                      READY  AGE  STATUS
└─ service Frontend                         0/1         Unavailable
   └─ DynamoComponentDeployment g-frontend  0/1         Unavailable: Deployment is not ready: 0 of 1 replicas available
      └─ Deployment g-frontend              0/1         Unavailable: 0 of 1 replicas available
         └─ Pod g-frontend-1                0/1         ImagePullFailed: cannot pull image "a/b:c"
)");
}

TEST_CASE("a pod that cannot be scheduled has its reason at once") {
  // The conditions of the graph wait for half a minute.
  const std::string pending =
      "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
      "'lastTransitionTime':'2026-01-02T03:04:05Z','message':'0/4 nodes are available: 4 Insufficient "
      "nvidia.com/gpu. no new claims to deallocate, preemption: 0/4 nodes are available: 4 No preemption "
      "victims found for incoming pod.'}]";
  const std::string text = treeOnly(shown(
      graph(kFrontend, ""), {component("g-frontend", "Frontend", "", 1, 0, "'status':'False'"),
                             pod("g-frontend-1", "ReplicaSet/g-frontend-1", labelsOf("Frontend"), pending),
                             object("Deployment", "g-frontend", "DynamoComponentDeployment/g-frontend",
                                    labelsOf("Frontend"), workload(1, 0))}));
  CHECK(text.ends_with(
      "Pod g-frontend-1                0/1         PodUnschedulable: pods cannot be scheduled: "
      "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n"));
}

TEST_CASE("pods that the API server refuses are a reason of their Deployment") {
  std::string deployment =
      object("Deployment", "g-frontend", "DynamoComponentDeployment/g-frontend", "",
             "'spec':{'replicas':1},'status':{'observedGeneration':1,'conditions':[{'type':'ReplicaFailure',"
             "'status':'True','message':'exceeded quota'}]}");
  const std::string text = treeOnly(shown(
      graph(kFrontend, ""), {component("g-frontend", "Frontend", "", 1, 0, "'status':'False'"), deployment}));
  CHECK(text == R"(OBJECT                                      READY  AGE  STATUS
└─ service Frontend                         0/1         Unavailable
   └─ DynamoComponentDeployment g-frontend  0/1         Unavailable: is not available yet
      └─ Deployment g-frontend              0/1         PodsRefused: 0 of 1 replicas available; pods cannot be created: exceeded quota
)");
}

TEST_CASE("a child that does not exist is a line") {
  CHECK(treeOnly(shown(graph(kFrontend, ""), {})) ==
        R"(OBJECT                                      READY  AGE  STATUS
└─ service Frontend                         0/1         Missing
   └─ DynamoComponentDeployment g-frontend              Missing: does not exist yet
)");
  CHECK(treeOnly(shown(graph(kFrontend, ""), {}, true)) == R"(OBJECT                        READY  AGE  STATUS
└─ service Frontend           0/1         Missing
   └─ PodClique g-0-frontend              Missing: does not exist yet
)");
}

TEST_CASE("a child of a kind that may not be listed is unknown") {
  const std::string spec = kFrontend + ",'pvcs':[{'name':'models','create':false}]";
  const std::string other = "Unknown: the kinds of the other pathway may not be listed\n";
  const std::string own = "Unknown: its kind may not be listed\n";
  const std::string missing = "Missing: does not exist yet\n";
  const std::string claim = "└─ PersistentVolumeClaim models";
  const std::string component = "   └─ DynamoComponentDeployment g-frontend";
  const std::string clique = "   └─ PodClique g-0-frontend";
  struct Row {
    std::vector<std::string> unlisted;
    bool grove;
    std::string child;
    std::string childState;
    std::string claimState;
  };
  const std::vector<Row> rows = {
      {{}, false, component, missing, missing},
      {{"PersistentVolumeClaim"}, false, component, missing, own},
      {{"DynamoComponentDeployment"}, false, component, own, missing},
      {{"PodCliqueSet"}, false, component, other, missing},
      {{"DynamoComponentDeployment"}, true, clique, other, missing},
      {{"PodClique", "PodCliqueSet"}, true, clique, own, missing},
  };
  for (const Row& row : rows) {
    CAPTURE(row.unlisted, row.grove);
    const std::string text = treeOnly(shown(graph(spec, ""), {}, row.grove, row.unlisted));
    const auto stateAfter = [&](const std::string& object) {
      const std::size_t found = text.find(object);
      REQUIRE(found != std::string::npos);
      const std::size_t begin = text.find_first_not_of(' ', found + object.size());
      return text.substr(begin, text.find('\n', begin) + 1 - begin);
    };
    CHECK(stateAfter(row.child.substr(row.child.find("─ "))) == row.childState);
    CHECK(stateAfter(claim) == row.claimState);
    CHECK(stateAfter("service Frontend") ==
          (row.childState == missing ? "0/1         Missing\n" : "Unknown\n"));
  }
}

TEST_CASE("a child that is missing is not unknown if another one shows the pathway") {
  const std::string two =
      "'services':{'A':{'componentType':'frontend','replicas':1},'B':{'componentType':'frontend','replicas':"
      "1}}";
  const std::string text = treeOnly(shown(graph(two, ""), {component("g-a", "A", "", 1, 1, kAvailable)},
                                          false, {"PodCliqueSet", "PodClique"}));
  CHECK_THAT(text, Catch::Contains("DynamoComponentDeployment g-b              Missing: does not exist yet"));
}

TEST_CASE("the children that exist show the pathway, not the APIs of the cluster") {
  const std::string frontend = component("g-frontend", "Frontend", "", 1, 1, "'status':'True'");
  CHECK(treeOnly(shown(graph(kFrontend, ""), {frontend}, true)) ==
        treeOnly(shown(graph(kFrontend, ""), {frontend}, false)));
  CHECK(shown(graph(kFrontend, ""), {frontend}, true).find("PodClique") == std::string::npos);
}

TEST_CASE("a rolling update shows both worker generations and its phase") {
  const std::string rolling =
      "'state':'pending','rollingUpdate':{'phase':'InProgress','startTime':'2026-01-02T03:00:00Z',"
      "'updatedServices':['Other']},'restart':{'observedID':'7','phase':'Restarting','inProgress':['Worker']}"
      ",";
  const std::string root = graph(
      kWorker, rolling + readyCondition("False", "rolling_update_in_progress", "Rolling update in progress"));
  const std::string hash = hashOf(root);
  const std::string text = shown(
      root, {component("g-worker-" + hash, "Worker", hash, 1, 0, "'status':'False','message':'starting'"),
             component("g-worker-00000000", "Worker", "00000000", 2, 2, kAvailable),
             pod("new", "", labelsOf("Worker", hash)), pod("old", "", labelsOf("Worker", "00000000"))});
  CHECK(text == R"(DynamoGraphDeployment demo/g
  state           pending
  ready           False, rolling_update_in_progress: Rolling update in progress
  replicas        0/2
  rolling update  InProgress, updated: Other
  restart         Restarting, id 7, in progress: Worker

OBJECT                                             READY  AGE  STATUS
└─ service Worker                                  2/2         Unavailable
   ├─ DynamoComponentDeployment g-worker-)" +
                    hash + R"(  0/1         Unavailable: starting
   │  └─ Pod new                                   1/1         Ready
   └─ DynamoComponentDeployment g-worker-00000000  2/2         Ready: earlier worker generation
      └─ Pod old                                   1/1         Ready
)");
}

TEST_CASE("LeaderWorkerSets are shown with their PodGroups") {
  const std::string owner = "DynamoComponentDeployment/g-frontend";
  const std::string group = object("PodGroup", "g-frontend-0", owner, "",
                                   "'status':{'phase':'Pending','conditions':[{'type':'Unschedulable',"
                                   "'status':'True','message':'no GPUs'}]}");
  const std::string text =
      treeOnly(shown(graph(kFrontend, ""),
                     {component("g-frontend", "Frontend", "", 1, 0, "'status':'False','message':'m'"), group,
                      object("LeaderWorkerSet", "g-frontend-0", owner, labelsOf("Frontend"), workload(1, 0)),
                      pod("g-frontend-0-0", "StatefulSet/x",
                          "'leaderworkerset.sigs.k8s.io/name':'g-frontend-0'," + labelsOf("Frontend"),
                          "'phase':'Pending'")}));
  CHECK(text == R"(OBJECT                                      READY  AGE  STATUS
└─ service Frontend                         0/1         Unavailable
   └─ DynamoComponentDeployment g-frontend  0/1         Unavailable: m
      ├─ LeaderWorkerSet g-frontend-0       0/1         PodGroupNotScheduled: its pods cannot be gang-scheduled: no GPUs
      │  └─ Pod g-frontend-0-0              0/1         Unavailable: is not ready
      └─ PodGroup g-frontend-0                          Pending
)");
}

TEST_CASE("cliques of Grove are shown at their services, the PodCliqueSet at the graph") {
  const std::string services =
      "'services':{'Frontend':{'componentType':'frontend','replicas':1},"
      "'Worker':{'componentType':'worker','replicas':1,'multinode':{'nodeCount':2}}}";
  const std::string set = object("PodCliqueSet", "g", kGraph, "", "'status':{'observedGeneration':1}");
  const std::string text = treeOnly(shown(
      graph(services, ""),
      {set, object("PodClique", "g-0-frontend", "PodCliqueSet/g", "", workload(1, 1)),
       object("PodCliqueScalingGroup", "g-0-worker", "PodCliqueSet/g", "", workload(1, 0)),
       object("PodClique", "g-0-worker-0-worker-ldr", "PodCliqueSet/g",
              "'grove.io/podcliquescalinggroup':'g-0-worker'", workload(1, 1)),
       object("PodClique", "g-0-worker-0-worker-wkr", "PodCliqueScalingGroup/g-0-worker", "", workload(1, 0)),
       pod("front", "PodClique/g-0-frontend", labelsOf("Frontend")),
       pod("ldr", "PodClique/g-0-worker-0-worker-ldr", labelsOf("Worker")),
       pod("wkr", "", "'grove.io/podclique':'g-0-worker-0-worker-wkr'", "'phase':'Pending'"),
       object("Service", "g-worker", kGraph, "",
              "'spec':{'selector':{'nvidia.com/dynamo-component':'Worker'}}")},
      true));
  CHECK(text == R"(OBJECT                                      READY  AGE  STATUS
├─ service Frontend                         1/1         Ready
│  └─ PodClique g-0-frontend                1/1         Ready
│     └─ Pod front                          1/1         Ready
├─ service Worker                           0/1         Unavailable
│  ├─ PodCliqueScalingGroup g-0-worker      0/1         Unavailable: 0 of 1 replicas available
│  │  ├─ PodClique g-0-worker-0-worker-ldr  1/1         Ready
│  │  │  └─ Pod ldr                         1/1         Ready
│  │  └─ PodClique g-0-worker-0-worker-wkr  0/1         Unavailable: 0 of 1 replicas ready
│  │     └─ Pod wkr                         0/1         Unavailable: is not ready
│  └─ Service g-worker                                  Ready
└─ PodCliqueSet g                                       Ready
)");
}

TEST_CASE("many ready pods are counted, pods that are not ready are lines") {
  std::vector<std::string> children = {component("g-frontend", "Frontend", "", 12, 11, kAvailable)};
  for (int i = 10; i < 22; ++i)
    children.push_back(
        pod("p" + std::to_string(i), "", labelsOf("Frontend"), i == 21 ? "'phase':'Pending'" : ""));
  const std::string text = shown(graph(kFrontend, ""), children);
  CHECK(text.find("Pod p17") != std::string::npos);
  CHECK(text.find("Pod p18") == std::string::npos);
  CHECK(text.find("├─ Pod p21") != std::string::npos);
  CHECK(text.find("└─ 3 more ready pods") != std::string::npos);
}

TEST_CASE("a message with control characters stays on its line") {
  const std::string text =
      shown(graph(kFrontend, ""),
            {component("g-frontend", "Frontend", "", 1, 0, "'status':'False','message':'a\\nb\\u001b[2J'")});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("a b") != std::string::npos);
}

}  // namespace dynamo::view::test
