#include "common/lifecycle/request_status.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::lifecycle {
namespace {

using test::conditionsOf;
using test::eventsOf;
using test::kNow;
using test::parsed;

json::Document request(std::string_view status, std::string_view spec = "{}") {
  return parsed(
      fmt::format("{{'apiVersion':'nvidia.com/v1beta1','kind':'DynamoGraphDeploymentRequest','metadata':{{"
                  "'name':'r','namespace':'ns','uid':'u','generation':2}},'spec':{},'status':{}}}",
                  spec, status));
}

/// The status as text: phase, then the conditions, then other members in the order of `members`.
std::string told(const Outcome& outcome) {
  if (!outcome.status) return "-\n";
  return fmt::format("{}\n{}", json::findText(&*outcome.status, "phase"), conditionsOf(*outcome.status));
}

std::string member(const Outcome& outcome, std::string_view name) {
  const json::Value* found = json::find(*outcome.status, name);
  return found == nullptr ? "-" : json::dump(*found);
}

json::Document graph(std::string_view status, int generation = 1) {
  return parsed(
      fmt::format("{{'metadata':{{'name':'made','generation':{}}},'status':{}}}", generation, status));
}

TEST_CASE("a pending request is checked, and gets its Job") {
  json::Document memory;
  auto& allocator = memory.GetAllocator();
  SECTION("it is invalid") {
    const json::Document object = request("{}");
    const Outcome outcome = RequestStatus{object, kNow, allocator}.invalid({"one", "two"});
    CHECK(
        told(outcome) ==
        "Failed\nSucceeded=False ValidationFailed: one\ntwo\nValidation=False ValidationFailed: one\ntwo\n");
    CHECK(member(outcome, "observedGeneration") == "-");
    CHECK(eventsOf(outcome.events) == "Warning ValidationFailed: one\ntwo\n");
  }
  SECTION("it is accepted") {
    const json::Document object = request("{}");
    const Outcome outcome = RequestStatus{object, kNow, allocator}.accepted();
    CHECK(
        told(outcome) ==
        "Pending\nSucceeded=False Pending: DGDR is pending\nProfiling=False DiscoveringHardware: Hardware is "
        "being discovered\n");
    CHECK(member(outcome, "observedGeneration") == "2");
    CHECK(outcome.requeueAfter == std::chrono::milliseconds{0});
  }
  SECTION("its Job is refused") {
    const json::Document object = request("{'phase':'Pending'}");
    const Outcome outcome = RequestStatus{object, kNow, allocator}.jobRefused("no quota");
    CHECK(
        told(outcome) ==
        "Failed\nProfiling=False JobCreationFailed: no quota\nSucceeded=False JobCreationFailed: no quota\n");
    CHECK(eventsOf(outcome.events) == "Warning ProfilingJobFailed: no quota\n");
  }
  SECTION("its Job exists") {
    const json::Document object = request("{'phase':'Pending'}");
    const Outcome outcome = RequestStatus{object, kNow, allocator}.jobCreated("profile-r");
    CHECK(told(outcome) ==
          "Profiling\nSucceeded=False Profiling: Profiling is in progress\nProfiling=False ProfilingRunning: "
          "Profiling is in progress\n");
    CHECK(member(outcome, "profilingJobName") == "\"profile-r\"");
    CHECK(member(outcome, "profilingPhase") == "\"Initializing\"");
    // It may have ended already.
    CHECK(outcome.requeueAfter == std::chrono::milliseconds{0});
  }
}

TEST_CASE("a request tells what keeps its Job from running") {
  json::Document memory;
  const json::Document object = request("{'phase':'Profiling','profilingPhase':'Initializing'}");
  PodFailures pods;
  pods.causes.push_back({"PodUnschedulable", "pods cannot be scheduled", "0/4 nodes: no GPU"});
  const Outcome outcome = RequestStatus{object, kNow, memory.GetAllocator()}.jobRuns(pods);
  CHECK(told(outcome).find(
            "Profiling=False ProfilingRunning: Profiling is in progress: pods cannot be scheduled: "
            "0/4 nodes: no GPU") != std::string::npos);
  CHECK(eventsOf(outcome.events) ==
        "Warning PodUnschedulable: pods cannot be scheduled: 0/4 nodes: no GPU\n");
  const json::Document later = request(json::dump(*outcome.status));
  const Outcome again = RequestStatus{later, kNow, memory.GetAllocator()}.jobRuns(pods);
  CHECK_FALSE(again.status);
  CHECK(again.events.empty());
}

TEST_CASE("discovered hardware is told to the end (decision life-Q27)") {
  json::Document memory;
  auto& allocator = memory.GetAllocator();
  json::Document object = request("{}");
  const auto message = [&](const Outcome& outcome) {
    REQUIRE(outcome.status);
    object = request(json::dump(*outcome.status));
    return std::string{json::findText(findCondition(&*outcome.status, "Profiling"), "message")};
  };
  CHECK(message(RequestStatus{object, kNow, allocator}.accepted("node a has 8 GPUs")) ==
        "Hardware found: node a has 8 GPUs");
  CHECK(message(RequestStatus{object, kNow, allocator}.jobCreated("profile-r", "node b has 4 GPUs")) ==
        "Profiling is in progress. Hardware found: node b has 4 GPUs");
  PodFailures pods;
  pods.causes.push_back({"PodUnschedulable", "pods cannot be scheduled", "no GPU"});
  CHECK(message(RequestStatus{object, kNow, allocator}.jobRuns(pods)) ==
        "Profiling is in progress: pods cannot be scheduled: no GPU. Hardware found: node b has 4 GPUs");
  CHECK(RequestStatus{object, kNow, allocator}.jobRuns(pods).events.empty());
  const Outcome failed = RequestStatus{object, kNow, allocator}.profilingFailed("exit code 1");
  CHECK(told(failed).find("Succeeded=False ProfilingFailed: profiling job failed: exit code 1\n") !=
        std::string::npos);
  CHECK(message(failed) == "profiling job failed: exit code 1. Hardware found: node b has 4 GPUs");
  const std::string log(4000, 'x');
  const std::string shown = message(RequestStatus{object, kNow, allocator}.profilingFailed(log));
  CHECK(shown.size() <= kMaxConditionMessage);
  CHECK(shown.ends_with(". Hardware found: node b has 4 GPUs"));
}

TEST_CASE("a discovery that cannot be done yet is told when it lasts (decision life-Q43)") {
  json::Document memory;
  const json::Document object = request("{}");
  const Outcome waits =
      RequestStatus{object, kNow, memory.GetAllocator()}.notDiscovered(Transient{"nodes: timeout"});
  CHECK_FALSE(waits.status);
  CHECK(waits.failures.size() == 1);
  const Outcome lasts =
      RequestStatus{object, kNow, memory.GetAllocator()}.notDiscovered(Permanent{"nodes: timeout"});
  CHECK(told(lasts) ==
        "Pending\nSucceeded=False Pending: DGDR is pending\nProfiling=False DiscoveringHardware: Hardware is "
        "being discovered: nodes: timeout\n");
  CHECK(lasts.failures.size() == 1);
}

TEST_CASE("a phase that this version does not know is a failure") {
  json::Document memory;
  const json::Document object = request("{'phase':'Lost'}");
  const Outcome outcome = RequestStatus{object, kNow, memory.GetAllocator()}.unknownPhase();
  CHECK(told(outcome) == "Failed\nSucceeded=False UnknownPhase: the phase Lost is unknown\n");
  CHECK(eventsOf(outcome.events) == "Warning UnknownPhase: the phase Lost is unknown\n");
}

TEST_CASE("what has failed is told in the condition Succeeded, too (decision life-Q22)") {
  json::Document memory;
  const json::Document object = request("{'phase':'Profiling','profilingPhase':'Initializing'}");
  const Outcome failed = RequestStatus{object, kNow, memory.GetAllocator()}.profilingFailed("exit code 1");
  CHECK(told(failed) ==
        "Failed\nProfiling=False ProfilingFailed: profiling job failed: exit code 1\nSucceeded=False "
        "ProfilingFailed: profiling job failed: exit code 1\n");
  CHECK(member(failed, "profilingPhase") == "-");
  CHECK(eventsOf(failed.events) == "Warning ProfilingCheckFailed: profiling job failed: exit code 1\n");
  const Outcome nothing = RequestStatus{object, kNow, memory.GetAllocator()}.generationFailed("no graph");
  CHECK(
      told(nothing) ==
      "Failed\nSpecGenerated=False GenerationFailed: no graph\nSucceeded=False GenerationFailed: no graph\n");
}

TEST_CASE("an output ends the profiling") {
  json::Document memory;
  ProfilingOutput output;
  json::Document made = graph("{}");
  output.graph.CopyFrom(made, memory.GetAllocator());
  output.pareto.SetArray();
  output.unknownFields = {"spec.extra"};
  for (const bool applied : {true, false}) {
    const json::Document object = request("{'phase':'Profiling','profilingPhase':'Initializing'}",
                                          applied ? "{}" : "{'autoApply':false}");
    const Outcome outcome = RequestStatus{object, kNow, memory.GetAllocator()}.generated(output);
    const std::string text = told(outcome);
    CHECK(text.starts_with(
        applied ? "Deploying\nSucceeded=False Deploying: "
                : "Ready\nSucceeded=True SpecGenerated: Profiling complete, spec available\n"));
    CHECK(text.find("unknown fields are left out: spec.extra") != std::string::npos);
    CHECK(member(outcome, "dgdName") == "\"made\"");
    CHECK(member(outcome, "profilingPhase") == "-");
    CHECK(json::find(json::find(*outcome.status, "profilingResults"), "pareto") == nullptr);
  }
}

TEST_CASE("a request names the graph that it is going to have (decision conv-Q2)") {
  struct Row {
    const char* about;
    const char* spec;
    const char* annotations;
    bool isAnnotated;
    const char* name;
    const char* told;
  };
  constexpr const char* kChosen = R"({'nvidia.com/dgdr-deployment-overrides':'{\"name\":\"chosen\"}'})";
  for (const Row& row : {
           Row{"the name of the output", "{}", "{}", true, "\"made\"", "generated successfully"},
           Row{"the name of the overrides", "{}", kChosen, true, "\"chosen\"", "generated successfully"},
           Row{"the graph is only in the results", "{}", kChosen, false, "-", "generated successfully"},
           Row{"nothing is applied", "{'autoApply':false}", kChosen, true, "\"made\"",
               "is available in annotation nvidia.com/generated-dgd-spec"},
           Row{"nothing is applied, and the graph is only in the results", "{'autoApply':false}", "{}", false,
               "\"made\"", "is available in status.profilingResults.selectedConfig"},
       }) {
    CAPTURE(row.about);
    json::Document memory;
    json::Document object = request("{'phase':'Profiling'}", row.spec);
    const json::Document annotations = parsed(row.annotations);
    json::set(*json::find(object, "metadata"), "annotations", json::copy(annotations, object.GetAllocator()),
              object.GetAllocator());
    ProfilingOutput output;
    const json::Document made = graph("{}");
    output.graph.CopyFrom(made, memory.GetAllocator());
    output.pareto.SetArray();
    const Outcome outcome =
        RequestStatus{object, kNow, memory.GetAllocator()}.generated(output, row.isAnnotated);
    CHECK(member(outcome, "dgdName") == row.name);
    CHECK(told(outcome).find(row.told) != std::string::npos);
  }
}

TEST_CASE("an output that cannot be stored is told once, and tried again (decision life-Q53)") {
  json::Document memory;
  const json::Document object = request("{'phase':'Profiling'}");
  const Outcome waits = RequestStatus{object, kNow, memory.GetAllocator()}.outputWaits("exceeded quota");
  CHECK(told(waits) == "Profiling\nSpecGenerated=False GenerationFailed: exceeded quota\n");
  CHECK(eventsOf(waits.events) == "Warning GenerationFailed: exceeded quota\n");
  CHECK(waits.requeueAfter == std::chrono::seconds{20});
  CHECK(waits.prevented);
  const json::Document later = request(json::dump(*waits.status));
  const Outcome again = RequestStatus{later, kNow, memory.GetAllocator()}.outputWaits("exceeded quota");
  CHECK_FALSE(again.status);
  CHECK(again.events.empty());
  CHECK(again.prevented);
}

TEST_CASE("a graph that existed before is told (decision life-Q9)") {
  json::Document memory;
  const json::Document object = request("{'phase':'Deploying','dgdName':'made'}");
  CHECK(eventsOf(RequestStatus{object, kNow, memory.GetAllocator()}.graphCreated("made", false).events) ==
        "Normal DeploymentCreated: DynamoGraphDeployment made created\n");
  CHECK(eventsOf(RequestStatus{object, kNow, memory.GetAllocator()}.graphCreated("made", true).events)
            .starts_with("Warning DeploymentExists: DynamoGraphDeployment made existed before"));
}

TEST_CASE("a request follows its graph") {
  constexpr const char* kHealthy =
      "{'state':'successful','observedGeneration':1,'services':{'a':{'replicas':2,'availableReplicas':1},'b':"
      "{"
      "'replicas':1}}}";
  constexpr const char* kSick =
      "{'state':'pending','observedGeneration':1,'conditions':[{'type':'Ready','status':'False','message':'"
      "no "
      "GPU'}]}";
  json::Document memory;
  auto& allocator = memory.GetAllocator();
  const json::Document deploying = request("{'phase':'Deploying','dgdName':'made'}");
  const json::Document deployed = request("{'phase':'Deployed','dgdName':'made'}");
  const json::Document healthy = graph(kHealthy);
  const json::Document sick = graph(kSick);
  const json::Document late = graph(kHealthy, 2);

  const Outcome ready = RequestStatus{deploying, kNow, allocator}.graphFollowed(healthy);
  CHECK(told(ready) ==
        "Deployed\nSucceeded=True Deployed: Deployment is healthy\nDeploymentReady=True DeploymentReady: "
        "DynamoGraphDeployment made is ready\n");
  CHECK(member(ready, "deploymentInfo") == R"({"replicas":3,"availableReplicas":1})");
  CHECK(eventsOf(ready.events) == "Normal DeploymentReady: DynamoGraphDeployment made is ready\n");
  const json::Document same = request(json::dump(*ready.status));
  CHECK_FALSE(RequestStatus{same, kNow, allocator}.graphFollowed(healthy).status);
  CHECK_FALSE(RequestStatus{same, kNow, allocator}.graphFollowed(late).status);

  CHECK(told(RequestStatus{deploying, kNow, allocator}.graphFollowed(late)).starts_with("Deploying\n"));
  const Outcome waits = RequestStatus{deploying, kNow, allocator}.graphFollowed(sick);
  CHECK(told(waits) ==
        "Deploying\nDeploymentReady=False DeploymentInProgress: DGD made is in pending state: no GPU\n");
  CHECK(waits.events.empty());

  const Outcome degraded = RequestStatus{deployed, kNow, allocator}.graphFollowed(sick);
  CHECK(told(degraded) ==
        "Deploying\nSucceeded=False Deploying: Deployment is in progress\nDeploymentReady=False "
        "DeploymentDegraded: DGD made is in pending state: no GPU\n");
  const json::Document after = request(json::dump(*degraded.status));
  const Outcome waitsAgain = RequestStatus{after, kNow, allocator}.graphFollowed(sick);
  CHECK(told(waitsAgain).find("DeploymentReady=False DeploymentInProgress: ") != std::string::npos);
  CHECK(waitsAgain.events.empty());
  CHECK(eventsOf(degraded.events) == "Warning DeploymentDegraded: DGD made is in pending state: no GPU\n");

  const Outcome deleted = RequestStatus{deployed, kNow, allocator}.graphDeleted();
  CHECK(told(deleted).starts_with("Failed\nDeploymentReady=False DeploymentDeleted: "));
  CHECK(member(deleted, "dgdName") == "-");
}

TEST_CASE("a graph that is refused is told once (decision life-Q21)") {
  json::Document memory;
  const json::Document object = request("{'phase':'Deploying','dgdName':'made'}");
  const Outcome refused = RequestStatus{object, kNow, memory.GetAllocator()}.graphRefused("spec.a: Invalid");
  CHECK(told(refused) == "Deploying\nDeploymentReady=False DeploymentCreationFailed: spec.a: Invalid\n");
  CHECK(eventsOf(refused.events) == "Warning DeploymentCreationFailed: spec.a: Invalid\n");
  const json::Document later = request(json::dump(*refused.status));
  const Outcome again = RequestStatus{later, kNow, memory.GetAllocator()}.graphRefused("spec.a: Invalid");
  CHECK_FALSE(again.status);
  CHECK(again.events.empty());
}

TEST_CASE("a Job that cannot be created now is told once, and tried again (decision life-Q34)") {
  json::Document memory;
  const json::Document object = request("{'observedGeneration':2}");
  const Outcome waits = RequestStatus{object, kNow, memory.GetAllocator()}.jobWaits("exceeded quota");
  CHECK(told(waits) == "\nProfiling=False JobCreationFailed: exceeded quota\n");
  CHECK(eventsOf(waits.events) == "Warning ProfilingJobFailed: exceeded quota\n");
  CHECK(waits.requeueAfter == std::chrono::seconds{20});
  const json::Document later = request(json::dump(*waits.status));
  const Outcome again = RequestStatus{later, kNow, memory.GetAllocator()}.jobWaits("exceeded quota");
  CHECK_FALSE(again.status);
  CHECK(again.events.empty());
  CHECK(again.requeueAfter == std::chrono::seconds{20});
  CHECK(again.prevented);
  const json::Document found = request(
      "{'conditions':[{'type':'Profiling','status':'False','message':'Hardware found: node a has 8 GPUs'}]}");
  CHECK(told(RequestStatus{found, kNow, memory.GetAllocator()}.jobWaits("exceeded quota"))
            .find("exceeded quota. Hardware found: node a has 8 GPUs") != std::string::npos);
  CHECK(told(RequestStatus{found, kNow, memory.GetAllocator()}.jobWaits("no GPUs", false)) ==
        "\nProfiling=False JobCreationFailed: no GPUs\n");
}

TEST_CASE("an edited spec is reported once, and the request goes on (decision life-Q6)") {
  constexpr const char* kRejected =
      "Warning SpecChangeRejected: the spec cannot be changed in phase {0}: the request goes on with the "
      "spec "
      "of generation 1; delete it and create it again\n";
  json::Document memory;
  const std::string phase = GENERATE("Profiling", "Ready", "Deploying", "Deployed");
  const json::Document edited = request(fmt::format(
      "{{'phase':'{}','observedGeneration':1,'conditions':[{{'type':'Succeeded','status':'False','"
      "reason':'R','message':'m','observedGeneration':1}}]}}",
      phase));
  const Outcome first = RequestStatus{edited, kNow, memory.GetAllocator()}.over();
  CHECK(eventsOf(first.events) == fmt::format(fmt::runtime(kRejected), phase));
  CHECK(told(first) == phase + "\nSucceeded=False R: m\n");
  CHECK(member(first, "observedGeneration") == "1");
  const json::Document later = request(json::dump(*first.status));
  const Outcome second = RequestStatus{later, kNow, memory.GetAllocator()}.over();
  CHECK_FALSE(second.status);
  CHECK(second.events.empty());
}

TEST_CASE("a request whose spec is not to be applied becomes Ready") {
  json::Document memory;
  const json::Document object = request("{'phase':'Deploying','observedGeneration':2}");
  CHECK(told(RequestStatus{object, kNow, memory.GetAllocator()}.notApplied()) ==
        "Ready\nSucceeded=True SpecGenerated: Profiling complete, spec available\n");
}

}  // namespace
}  // namespace dynamo::lifecycle
