// What messages tell about containers that end or do not become ready (quirks ctl-Q36, ctl-Q72). The statuses
// are those that kubelets write; tests/runtime/causes.py looks at real ones.
#include "common/lifecycle/container_failures.h"

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

std::string podOf(const std::string& container, const std::string& conditions = "", const char* name = "a-0",
                  const char* list = "containerStatuses") {
  return std::string{"{'metadata':{'name':'"} + name + "'},'status':{'phase':'Running','conditions':[" +
         conditions + "],'" + list + "':[{'name':'main','image':'img:1'," + container + "}]}}";
}

std::string terminated(const std::string& members) {
  return "'terminated':{'reason':'Error'," + members + "}";
}

/// Running since 02:59:05, five minutes before kNow, or since another time.
std::string running(const std::string& more, const char* since = "2026-01-02T02:59:05Z") {
  return std::string{"'ready':false,'state':{'running':{'startedAt':'"} + since + "'}}," + more;
}

std::string looping(const std::string& last, int restarts = 5) {
  return "'ready':false,'restartCount':" + std::to_string(restarts) +
         ",'state':{'waiting':{'reason':'CrashLoopBackOff'}},'lastState':{" + last + "}";
}

TEST_CASE("an end of a container is told with exit code, meaning and last words") {
  struct Row {
    const char* terminated;
    const char* cause;
  };
  const Row rows[] = {
      {"{'exitCode':1,'reason':'Error'}", "exit code 1"},
      {"{'exitCode':0,'reason':'Completed'}",
       "exit code 0, ended without an error, perhaps because a probe failed"},
      {"{'exitCode':137,'reason':'OOMKilled'}", "OOMKilled, exceeded its memory limit, exit code 137"},
      {"{'exitCode':137,'reason':'Error'}", "exit code 137, killed, perhaps because a probe failed"},
      {"{'exitCode':143,'reason':'Error'}", "exit code 143, killed, perhaps because a probe failed"},
      {"{'reason':'ContainerStatusUnknown'}", "ContainerStatusUnknown"},
      {"{'exitCode':1,'message':'Traceback:\\n  File x\\nException: no NATS\\n \\n'}",
       "exit code 1: Exception: no NATS"},
      {"{'exitCode':1,'message':'\\u001b[2m10:00\\u001b[0m \\u001b[31mERROR\\u001b[0m\\tlost\\r\\n'}",
       "exit code 1: 10:00 ERROR lost"},
      {"{'exitCode':1,'message':'cut \\u001b[1;2'}", "exit code 1: cut"},
      {"{'exitCode':1,'message':'\\n'}", "exit code 1"}};
  for (const Row& row : rows) {
    INFO(row.terminated);
    CHECK(terminationCause(parsed(row.terminated)) == row.cause);
  }
  const json::Document longLine = parsed("{'exitCode':1,'message':'" + std::string(900, 'x') + "'}");
  CHECK(terminationCause(longLine).size() < 250);
}

TEST_CASE("a message names the command that tells more") {
  struct Row {
    const char* about;
    std::string last;
    const char* see;
  };
  const Row rows[] = {
      {"its log", terminated("'exitCode':1"), "kubectl logs --previous a-0 -c main"},
      {"its log", terminated("'exitCode':0"), "kubectl logs --previous a-0 -c main"},
      {"killed: Events tell of probes", terminated("'exitCode':137"), "kubectl describe pod a-0"},
      {"killed: Events tell of probes", terminated("'exitCode':143"), "kubectl describe pod a-0"},
      {"no log of the run before", "", "kubectl describe pod a-0"}};
  for (const Row& row : rows) {
    INFO(row.about);
    const PodFailures found = podFailures(Objects{{podOf(looping(row.last))}}.view(), kNow);
    REQUIRE(found.causes.size() == 1);
    CHECK(found.causes[0].see == row.see);
  }
}

TEST_CASE("pods with one cause are counted, and one of them is named, always the same") {
  const auto pod = [](const char* name, const char* code) {
    return podOf(looping(terminated(std::string{"'exitCode':"} + code)), "", name);
  };
  for (const std::vector<std::string>& texts :
       {std::vector{pod("a-1", "1"), pod("a-0", "1"), pod("a-2", "2")},
        std::vector{pod("a-2", "2"), pod("a-0", "1"), pod("a-1", "1")}}) {
    const Objects pods{texts};
    CHECK(textOf(podFailures(pods.view(), kNow)) ==
          "container \"main\" keeps terminating: exit code 1 (3 pods; see kubectl logs --previous a-0 -c "
          "main)");
  }
}

TEST_CASE("what a container without a failure waits for is told after a minute, an end of it at once") {
  const std::string scheduled =
      "{'type':'PodScheduled','status':'True','lastTransitionTime':'2026-01-02T03:03:05Z'}";
  const auto sandbox = [&](const char* status) {
    return scheduled + ",{'type':'PodReadyToStartContainers','status':'" + status + "'}";
  };
  const std::string creating = "'ready':false,'state':{'waiting':{'reason':'ContainerCreating'}}";
  const std::string crashed = terminated("'exitCode':1");
  const char* ended =
      "container \"main\" has terminated: exit code 1 (see kubectl logs --previous a-0 -c main)";
  struct Row {
    const char* about;
    std::string pod;
    const char* text;
    int requeueAfter;  ///< in seconds; 0: not at all
  };
  const Row rows[] = {
      {"its startup probe", podOf(running("'started':false")),
       "container \"main\" runs, but does not pass its startup probe (see kubectl describe pod a-0)", 0},
      {"its readiness probe", podOf(running("'started':true")),
       "container \"main\" runs, but does not pass its readiness probe (see kubectl describe pod a-0)", 0},
      {"it may still load its model", podOf(running("'started':false", "2026-01-02T03:03:06Z")), "", 1},
      {"it is ready", podOf("'ready':true,'state':{'running':{'startedAt':'2026-01-02T02:00:00Z'}}"), "", 0},
      {"volumes", podOf(creating, sandbox("False")),
       "pods wait for their volumes or their network (see kubectl describe pod a-0)", 0},
      {"the image", podOf(creating, sandbox("True")),
       "image \"img:1\" is being pulled (see kubectl describe pod a-0)", 0},
      {"a kubelet without the condition", podOf(creating, scheduled),
       "image \"img:1\" is being pulled (see kubectl describe pod a-0)", 0},
      {"a new pod",
       podOf(creating, "{'type':'PodScheduled','status':'True','lastTransitionTime':'2026-01-02T03:04:00Z'}"),
       "", 55},
      {"the first end", podOf("'ready':false,'restartCount':0,'state':{" + crashed + "}"), ended, 0},
      {"a run after the first end",
       podOf(
           running("'started':false,'restartCount':1,'lastState':{" + crashed + "}", "2026-01-02T03:04:00Z")),
       ended, 595},
      {"the second end, before the kubelet waits",
       podOf("'ready':false,'restartCount':1,'state':{" + crashed + "},'lastState':{" + crashed + "}"), ended,
       0},
      {"an end that is forgotten",
       podOf(
           running("'started':false,'restartCount':1,'lastState':{" + crashed + "}", "2026-01-02T02:54:05Z")),
       "container \"main\" runs, but does not pass its startup probe (see kubectl describe pod a-0)", 0},
      {"an init container may take its time",
       podOf(running("'started':false"), "", "a-0", "initContainerStatuses"), "", 0}};
  for (const Row& row : rows) {
    INFO(row.about);
    const PodFailures found = podFailures(Objects{{row.pod}}.view(), kNow);
    CHECK(found.causes.empty());
    CHECK(textOf(found) == row.text);
    CHECK(found.requeueAfter.value_or(std::chrono::milliseconds{0}) ==
          std::chrono::seconds{row.requeueAfter});
  }
  const PodFailures now =
      podFailures(Objects{{podOf(running("'started':false", kNowText))}}.view(), kNow, kNoGrace);
  CHECK(now.delays.size() == 1);
}

TEST_CASE("while there is a cause, messages name no delays") {
  const Objects pods{
      {podOf(running("'started':false")), podOf(looping(terminated("'exitCode':1")), "", "a-1")}};
  CHECK(textOf(podFailures(pods.view(), kNow)) ==
        "container \"main\" keeps terminating: exit code 1 (see kubectl logs --previous a-1 -c main)");
}

}  // namespace
}  // namespace dynamo::lifecycle::test
