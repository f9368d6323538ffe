// Why pods do not run (quirk ctl-Q36).
#include "common/lifecycle/pod_failures.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

std::string waiting(const char* reason, const char* message, const char* last = "{}") {
  return std::string{
             "{'metadata':{'name':'a-0'},'status':{'phase':'Pending','containerStatuses':[{'name':'main',"
             "'image':'img:1','state':{'waiting':{'reason':'"} +
         reason + "','message':'" + message + "'}},'lastState':" + last + "}]}}";
}

std::string running(const char* since, int restarts) {
  return std::string{
             "{'metadata':{'name':'a-0'},'status':{'phase':'Running','containerStatuses':[{'name':'main',"
             "'image':'img:1','ready':false,'state':{'running':{'startedAt':'"} +
         since + "'}},'lastState':{'terminated':{'exitCode':1}},'restartCount':" + std::to_string(restarts) +
         "}]}}";
}

std::string unschedulable(const char* since, const char* message) {
  return std::string{
             "{'status':{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':"
             "'Unschedulable','lastTransitionTime':'"} +
         since + "','message':'" + message + "'}]}}";
}

TEST_CASE("the summary of a cause does not change while the cause lasts") {
  struct Row {
    const char* name;
    std::string pod;
    const char* text;
  };
  const Row rows[] = {
      {"a new pod", "{'status':{'phase':'Pending'}}", ""},
      {"starting", waiting("ContainerCreating", ""), ""},
      {"ready", "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}", ""},
      {"the registry does not have it", waiting("ErrImagePull", "rpc error: img:1: not found"),
       "ImagePullFailed cannot pull image \"img:1\": rpc error: img:1: not found"},
      {"the same while the kubelet waits",
       waiting("ImagePullBackOff", "Back-off pulling image img:1: ErrImagePull: rpc error: img:1: not found"),
       "ImagePullFailed cannot pull image \"img:1\": rpc error: img:1: not found"},
      {"waiting without a cause", waiting("ImagePullBackOff", "Back-off pulling image img:1"),
       "ImagePullFailed cannot pull image \"img:1\""},
      {"no image name", waiting("InvalidImageName", "cannot parse"),
       "ImagePullFailed cannot pull image \"img:1\": cannot parse"},
      {"it keeps terminating",
       waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container",
               "{'terminated':{'exitCode':1,'reason':'Error'}}"),
       "CrashLoop container \"main\" keeps terminating: exit code 1 (see kubectl logs --previous a-0 -c "
       "main)"},
      {"killed for memory",
       waiting("CrashLoopBackOff", "", "{'terminated':{'exitCode':137,'reason':'OOMKilled'}}"),
       "CrashLoop container \"main\" keeps terminating: OOMKilled, exceeded its memory limit, exit code 137 "
       "(see kubectl describe pod a-0)"},
      {"it ran long after a crash", running("2026-01-02T02:54:05Z", 9), ""},
      {"it ends, nobody knows how", waiting("CrashLoopBackOff", ""),
       "CrashLoop container \"main\" keeps terminating (see kubectl describe pod a-0)"},
      {"a secret is missing", waiting("CreateContainerConfigError", "secret hf not found"),
       "ContainerNotCreated container \"main\" cannot be started: secret hf not found"},
      {"unschedulable",
       unschedulable("2026-01-02T03:03:35Z",
                     "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. "
                     "preemption: 0/4 nodes are available"),
       "PodUnschedulable pods cannot be scheduled: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu."},
      {"a deleted pod",
       "{'metadata':{'deletionTimestamp':'x'}" +
           waiting("ErrImagePull", "").substr(std::strlen("{'metadata':{'name':'a-0'}")),
       ""},
      {"a failed pod", "{'status':{'phase':'Failed','containerStatuses':[]}}", ""}};
  for (const Row& row : rows) {
    INFO(row.name);
    const Objects pods{{row.pod}};
    const PodFailures found = podFailures(pods.view(), kNow);
    const std::string text =
        found.causes.empty() ? "" : found.causes[0].reason + ' ' + found.causes[0].text();
    CHECK(text == row.text);
    CHECK_FALSE(found.requeueAfter);
  }
}

TEST_CASE("the scheduler's reasons are told without what it tried to do about them") {
  struct Row {
    const char* message;
    const char* reasons;
  };
  const Row rows[] = {
      {"0/4 nodes are available: 4 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/4 "
       "nodes "
       "are available: 4 No preemption victims found for incoming pod.",
       "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."},
      {"0/4 nodes are available: 1 Insufficient cpu, 3 node(s) had untolerated taint {nvidia.com/gpu: "
       "present}. "
       "preemption: not eligible due to preemptionPolicy=Never.",
       "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) had untolerated taint {nvidia.com/gpu: "
       "present}."},
      {"0/1 nodes are available: persistentvolumeclaim \"c\" not found. still not schedulable",
       "0/1 nodes are available: persistentvolumeclaim \"c\" not found."},
      {"0/1 nodes are available: 1 Insufficient cpu.", "0/1 nodes are available: 1 Insufficient cpu."},
      {"no nodes available to schedule pods", "no nodes available to schedule pods"},
      {"no fit. preemption: none", "no fit."},
      {"", ""}};
  for (const Row& row : rows) CHECK(schedulingReasons(row.message) == row.reasons);
}

TEST_CASE("an unscheduled pod is a failure after half a minute") {
  const Objects pods{
      {unschedulable("2026-01-02T03:03:36Z", "m"), unschedulable("2026-01-02T03:04:05Z", "m")}};
  const PodFailures found = podFailures(pods.view(), kNow);
  CHECK(found.causes.empty());
  CHECK(found.requeueAfter == std::chrono::milliseconds{1000});
}

TEST_CASE("a crash loop is one cause while the container runs between two crashes") {
  const PodFailures found = podFailures(Objects{{running("2026-01-02T03:00:05Z", 2)}}.view(), kNow);
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].text() ==
        "container \"main\" keeps terminating: exit code 1 (see kubectl logs --previous a-0 -c main)");
  CHECK(found.requeueAfter == std::chrono::minutes{6});
  CHECK(podFailures(Objects{{running("2026-01-02T03:00:05Z", 1)}}.view(), kNow).causes.empty());
}

TEST_CASE("a container that fails again and again has one cause in all states of its cycle") {
  const auto pod = [](const std::string& list, const std::string& state, const std::string& last,
                      int restarts) {
    return "{'metadata':{'name':'a-0'},'status':{'phase':'Running','" + list +
           "':[{'name':'main','image':'i','ready':false,'state':{" + state + "},'lastState':{" + last +
           "},'restartCount':" + std::to_string(restarts) + "}]}}";
  };
  const std::string crashed = "'terminated':{'exitCode':1,'reason':'Error'}";
  const std::string noStart = "'terminated':{'exitCode':128,'reason':'StartError','message':'no such file'}";
  const auto waits = [](const char* why) {
    return "'waiting':{'reason':'" + std::string{why} + "','message':'again'}";
  };
  const std::string main = "containerStatuses";
  struct Row {
    const char* about;
    std::string pod;
    const char* text;
  };
  const char* crashLoop =
      "CrashLoop container \"main\" keeps terminating: exit code 1 (see kubectl logs --previous a-0 -c main)";
  const char* notStarted = "ContainerNotCreated container \"main\" cannot be started: no such file";
  const Row rows[] = {
      {"runs again", pod(main, "'running':{'startedAt':'2026-01-02T03:04:00Z'}", crashed, 2), crashLoop},
      {"has crashed again", pod(main, crashed, crashed, 2), crashLoop},
      {"waits", pod(main, waits("CrashLoopBackOff"), crashed, 2), crashLoop},
      {"its hook failed", pod(main, waits("PostStartHookError"), crashed, 2), crashLoop},
      {"the first crash", pod(main, crashed, "", 0), ""},
      {"an init container has crashed again", pod("initContainerStatuses", crashed, crashed, 2), crashLoop},
      {"an init container is complete after crashes",
       pod("initContainerStatuses", "'terminated':{'exitCode':0,'reason':'Completed'}", crashed, 2), ""},
      {"cannot be started", pod(main, noStart, "", 0), notStarted},
      {"cannot be started, error", pod(main, waits("RunContainerError"), noStart, 2), notStarted},
      {"cannot be started, waits", pod(main, waits("CrashLoopBackOff"), noStart, 2), notStarted},
      {"a later run started", pod(main, "'running':{'startedAt':'2026-01-02T03:04:00Z'}", noStart, 1), ""}};
  for (const Row& row : rows) {
    INFO(row.about);
    const PodFailures found = podFailures(Objects{{row.pod}}.view(), kNow);
    CHECK((found.causes.empty() ? "" : found.causes[0].reason + ' ' + found.causes[0].text()) == row.text);
  }
}

TEST_CASE("lack of capacity is named after causes that need a change") {
  std::vector<PodFailure> causes = {{"QuotaExceeded", "q", ""},
                                    {"PodsRefused", "r", ""},
                                    {"CrashLoop", "c", ""},
                                    {"PodUnschedulable", "u", ""},
                                    {"CrashLoop", "c", "again"}};
  sortCauses(causes);
  CHECK(textOf(causes) == "c; r; u; q");
}

TEST_CASE("the newest error of Grove is a cause") {
  const json::Document object = parsed(
      "{'status':{'lastErrors':[{'code':'B','description':'pods is forbidden: exceeded quota: gpus, used: 8',"
      "'observedAt':'2026-01-02T03:00:00Z'},{'code':'A','description':'old','observedAt':'2026-01-02T02:00:"
      "00Z'}"
      "]}}");
  const std::optional<PodFailure> failure = groveFailure(&object);
  REQUIRE(failure);
  CHECK(failure->reason == "QuotaExceeded");
  CHECK(failure->text() == "Grove reports an error: pods is forbidden: exceeded quota: gpus, used: 8");
  const json::Document fine = parsed("{'status':{'lastErrors':[]}}");
  CHECK_FALSE(groveFailure(&fine));
  CHECK_FALSE(groveFailure(nullptr));
}

TEST_CASE("pods with the same cause are one failure, and further causes are counted") {
  Objects pods;
  for (int i = 0; i < 3; ++i) pods.add(waiting("ErrImagePull", i == 0 ? "a" : "b"));
  const PodFailures found = podFailures(pods.view(), kNow);
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].pods == 3);
  CHECK(textOf(found) == "cannot pull image \"img:1\": a");
  std::vector<PodFailure> causes;
  for (int i = 0; i < 6; ++i) causes.push_back({"R", "w" + std::to_string(i), ""});
  CHECK(textOf(causes) == "w0; w1; w2; w3; and 2 more");
  CHECK(textOf(PodFailures{}).empty());
}

TEST_CASE("a pod counts once, however many of its containers have the same cause") {
  const char* kWaiting = "'image':'i','state':{'waiting':{'reason':'ErrImagePull'}}";
  const std::string pod =
      std::string{"{'metadata':{'name':'a-0'},'status':{'phase':'Pending','containerStatuses':["} +
      "{'name':'main'," + kWaiting + "},{'name':'side'," + kWaiting + "},{'name':'other'," +
      "'image':'j','state':{'waiting':{'reason':'ErrImagePull'}}}]}}";
  Objects pods;
  for (int i = 0; i < 2; ++i) pods.add(pod);
  const PodFailures found = podFailures(pods.view(), kNow);
  REQUIRE(found.causes.size() == 2);
  CHECK(found.causes[0].summary == "cannot pull image \"i\"");
  CHECK(found.causes[0].pods == 2);
  CHECK(found.causes[1].pods == 2);
}

TEST_CASE("failures of init containers are reported") {
  const Objects pods{
      {"{'status':{'initContainerStatuses':[{'name':'wait','image':'i','state':{'waiting':{'reason':"
       "'ErrImagePull'}}}]}}"}};
  CHECK(textOf(podFailures(pods.view(), kNow).causes) == "cannot pull image \"i\"");
}

TEST_CASE("a Deployment reports pods that quota or admission rejects") {
  struct Row {
    const char* message;
    const char* reason;
  };
  for (const auto& [message, reason] :
       {Row{"pods x is forbidden: exceeded quota: gpus, used: 8", "QuotaExceeded"},
        Row{"pods x is forbidden: violates PodSecurity", "PodsRefused"}}) {
    const json::Document refused = parsed(
        std::string{
            "{'status':{'conditions':[{'type':'ReplicaFailure','status':'True','reason':'FailedCreate',"
            "'message':'"} +
        message + "'}]}}");
    REQUIRE(replicaFailure(&refused));
    CHECK(replicaFailure(&refused)->reason == reason);
    CHECK(replicaFailure(&refused)->text() == std::string{"pods cannot be created: "} + message);
  }
  const json::Document fine = parsed("{'status':{}}");
  CHECK_FALSE(replicaFailure(&fine));
  CHECK_FALSE(replicaFailure(nullptr));
}

}  // namespace
}  // namespace dynamo::lifecycle::test
