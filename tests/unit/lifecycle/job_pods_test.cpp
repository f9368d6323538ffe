// Pods of Jobs that cannot be created, and output copiers that do not end (decisions life-Q47, life-Q48,
// ctl-Q89).
#include "common/lifecycle/job_pods.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

// kNow is 2026-01-02T03:04:05Z.
json::Document aJob(std::string_view status = "{}", std::string_view spec = "{}",
                    std::string_view created = "2026-01-02T03:00:00Z") {
  return parsed(fmt::format(
      "{{'apiVersion':'batch/"
      "v1','kind':'Job','metadata':{{'name':'j','namespace':'ns','uid':'u','creationTimestamp':'{}'}},"
      "'spec':{},'status':{}}}",
      created, spec, status));
}

std::string jobPod(std::string_view phase, std::string_view created = "2026-01-02T03:01:00Z",
                   std::string_view owner = "u") {
  return fmt::format(
      "{{'kind':'Pod','metadata':{{'name':'p','namespace':'ns','creationTimestamp':'{}','ownerReferences':[{{"
      "'apiVersion':'"
      "batch/v1','kind':'Job','name':'j','uid':'{}',"
      "'controller':true}}]}},'status':{{'phase':'{}'}}}}",
      created, owner, phase);
}

std::string jobEvent(std::string_view message, std::string_view last = "2026-01-02T03:02:00Z",
                     std::string_view about = "u") {
  return fmt::format("{{'kind':'Event','lastTimestamp':'{}','involvedObject':{{'uid':'{}'}},'message':'{}'}}",
                     last, about, message);
}

struct ParsedObjects {
  std::vector<json::Document> documents;
  std::vector<const json::Value*> values;

  explicit ParsedObjects(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) documents.push_back(parsed(text));
    for (const json::Document& each : documents) values.push_back(&each);
  }
};

}  // namespace

TEST_CASE("a Job that lacks pods") {
  constexpr std::string_view kComplete = "{'conditions':[{'type':'Complete','status':'True'}]}";
  struct Row {
    const char* about;
    json::Document job;
    std::vector<std::string> pods;
    const char* expected;
  };
  const Row rows[] = {
      {"no pod", aJob(), {}, "Events, 15 s"},
      {"a new Job", aJob("{}", "{}", "2026-01-02T03:04:04Z"), {}, "2 s"},
      {"a pod that has failed", aJob(), {jobPod("Failed")}, "Events, 15 s"},
      {"a pod of another Job", aJob(), {jobPod("Running", "2026-01-02T03:01:00Z", "v")}, "Events, 15 s"},
      {"a pod that waits", aJob(), {jobPod("Pending")}, "-"},
      {"a Job that is over", aJob(kComplete), {}, "-"},
      {"a Job that is suspended", aJob("{}", "{'suspend':true}"), {}, "-"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const ParsedObjects pods{row.pods};
    const auto found = missingPods(row.job, pods.values, kNow);
    const std::string told =
        !found ? "-"
               : fmt::format("{}{} s", found->readEvents ? "Events, " : "",
                             std::chrono::duration_cast<std::chrono::seconds>(found->again).count());
    CHECK(told == row.expected);
  }
  CHECK(failedCreateSelector(aJob()) == "involvedObject.kind=Job,involvedObject.uid=u,reason=FailedCreate");
}

TEST_CASE("the latest Event about the pods of a Job is the cause while they do not exist") {
  const std::string quota = jobEvent(R"(Error creating: pods \"j-x7v\" is forbidden: exceeded quota: q)");
  struct Row {
    const char* about;
    std::vector<std::string> pods;
    std::vector<std::string> events;
    const char* text;
  };
  const Row rows[] = {
      {"a quota", {}, {quota}, "QuotaExceeded pods cannot be created: exceeded quota: q"},
      {"several Events that the recorder has combined",
       {},
       {jobEvent(
           R"((combined from similar events): Error creating: pods \"j-9\" is forbidden: maximum cpu is 1)")},
       "PodsRefused pods cannot be created: maximum cpu is 1"},
      {"a policy",
       {},
       {jobEvent(R"(Error creating: pods \"j-x\": denied by policy)")},
       "PodsRefused pods cannot be created: denied by policy"},
      {"another text",
       {},
       {jobEvent("Error creating: Internal error")},
       "PodsRefused pods cannot be created: Internal error"},
      {"the latest counts",
       {},
       {quota, jobEvent("Error creating: denied", "2026-01-02T03:02:01Z"),
        jobEvent("Error creating: old", "2026-01-02T03:01:00Z")},
       "PodsRefused pods cannot be created: denied"},
      {"a pod exists", {jobPod("Running")}, {quota}, ""},
      {"a pod was created since", {jobPod("Failed", "2026-01-02T03:03:00Z")}, {quota}, ""},
      {"a pod has ended before",
       {jobPod("Failed")},
       {quota},
       "QuotaExceeded pods cannot be created: exceeded quota: q"},
      {"another Job", {}, {jobEvent("Error creating: denied", "2026-01-02T03:02:00Z", "v")}, ""},
      {"an earlier Job of this name", {}, {jobEvent("Error creating: denied", "2026-01-02T02:00:00Z")}, ""},
      {"no time", {}, {"{'involvedObject':{'uid':'u'},'message':'m'}"}, ""},
      {"no Event", {}, {}, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const ParsedObjects pods{row.pods};
    const ParsedObjects events{row.events};
    PodFailures failures;
    addMissingPods(failures, aJob(), pods.values, events.values, kNow);
    const std::string told =
        failures.causes.empty() ? "" : fmt::format("{} {}", failures.causes.front().reason, textOf(failures));
    CHECK(told == row.text);
  }
}

TEST_CASE("an output copier that does not end is told after some minutes, or if its role does not exist") {
  const auto withCopier = [](std::string_view profiler, std::string_view copier) {
    return fmt::format(
        "{{'kind':'Pod','metadata':{{'name':'p'}},'status':{{'phase':'Running','containerStatuses':["
        "{{'name':'profiler','state':{}}},{{'name':'output-copier','ready':true,'state':{}}}]}}}}",
        profiler, copier);
  };
  constexpr std::string_view kRuns = "{'running':{'startedAt':'2026-01-02T03:04:00Z'}}";
  constexpr std::string_view kJustEnded = "{'terminated':{'exitCode':0,'finishedAt':'2026-01-02T03:04:00Z'}}";
  constexpr std::string_view kEnded = "{'terminated':{'exitCode':0,'finishedAt':'2026-01-02T02:59:00Z'}}";
  struct Row {
    const char* about;
    std::string pod;
    const char* role;
    const char* text;
  };
  const Row rows[] = {
      {"the profiler runs", withCopier(kRuns, kRuns), "", ""},
      {"the profiler has ended a moment ago", withCopier(kJustEnded, kRuns), "", ""},
      {"the profiler has ended long ago", withCopier(kEnded, kRuns), "",
       "the profiler has ended, but its output is not stored (see kubectl logs p -c output-copier)"},
      {"the role does not exist", withCopier(kJustEnded, kRuns), "r",
       "the profiler has ended, but its output is not stored: ClusterRole r does not exist (see kubectl logs "
       "p -c "
       "output-copier)"},
      {"both have ended", withCopier(kEnded, kEnded), "r",
       "container \"profiler\" has terminated: exit code 0, ended without an error, perhaps because a probe "
       "failed (see "
       "kubectl logs --previous p -c profiler)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const ParsedObjects pods{{row.pod}};
    const PodFailures failures = profilingPodFailures(pods.values, row.role, kNow);
    CHECK(failures.causes.empty());
    CHECK(textOf(failures) == row.text);
  }
}

}  // namespace dynamo::lifecycle::test
