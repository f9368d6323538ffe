// Requests, models and checkpoints with their objects, as text and as JSON.

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "../lifecycle/support.h"
#include "common/config/operator_config.h"
#include "common/model/component_defaults.h"
#include "controller/view/object_tree.h"
#include "controller/view/status_text.h"
#include "status_support.h"

namespace dynamo::view::test {
namespace {

using lifecycle::test::kNow;
using lifecycle::test::Objects;
using lifecycle::test::parsed;

const std::string kRequest = "DynamoGraphDeploymentRequest/r";
const std::string kOfRequest = "'dgdr.nvidia.com/name':'r','dgdr.nvidia.com/namespace':'demo'";

ObjectTree treeFor(const std::string& root, const std::vector<std::string>& others) {
  const json::Document object = parsed(root);
  const Objects objects{others};
  const config::OperatorConfig config;
  const model::ComponentDefaults defaults;
  const render::Facts facts;
  return treeOfObject(object, objects.view(), {config, defaults, facts}, kNow);
}

std::string treeText(const std::string& root, const std::vector<std::string>& others, bool ages = false) {
  return toText(treeFor(root, others), {Style{}, kNow, ages});
}

ObjectSummary summaryFor(const std::string& root, const std::vector<std::string>& others = {}) {
  const json::Document object = parsed(root);
  const Objects objects{others};
  return summaryOfObject(object, objects.view());
}

std::string condition(const std::string& type, const std::string& status, const std::string& reason,
                      const std::string& message) {
  return "{'type':'" + type + "','status':'" + status + "','reason':'" + reason + "','message':'" + message +
         "','lastTransitionTime':'2026-01-02T02:00:00Z'}";
}

std::string request(const std::string& status) {
  return object("DynamoGraphDeploymentRequest", "r", "", "",
                "'spec':{'model':'org/m','backend':'vllm'},'status':{" + status + "}");
}

std::string profiling(const std::string& message) {
  return request(
      "'phase':'Profiling','profilingPhase':'Initializing','profilingJobName':'profile-r','conditions':[" +
      condition("Succeeded", "False", "Profiling", "Profiling is in progress") + "," +
      condition("Profiling", "False", "ProfilingRunning", message) + "]");
}

std::string job(const std::string& name, const std::string& owner, const std::string& status) {
  return object(
      "Job", name, owner, "",
      "'spec':{'template':{'spec':{'containers':[{'name':'profiler'}]}}},'status':{" + status + "}");
}

std::string deployed(const std::string& phase, const std::string& succeeded) {
  return request(
      "'phase':'" + phase + "','profilingJobName':'profile-r','dgdName':'g','conditions':[" +
      condition("Succeeded", succeeded, phase, "Deployment is healthy") + "," +
      condition("DeploymentReady", succeeded, "DeploymentInProgress", "DGD g is in pending state") + "]");
}

std::string generated(const std::string& labels, const std::string& state, const std::string& ready) {
  return object("DynamoGraphDeployment", "g", "", labels,
                "'spec':{'services':{'Frontend':{'componentType':'frontend'}}},'status':{'state':'" + state +
                    "'," + readyCondition(ready, "some_reason", "why") + "}");
}

}  // namespace

TEST_CASE("a request that is profiled shows its Job, and why the pods of the Job do not run") {
  const std::string pod =
      object("Pod", "profile-r-x", "Job/profile-r", "",
             "'spec':{'containers':[{'name':'profiler'},{'name':'output-copier'}]},'status':{'phase':'"
             "Pending','conditions':"
             "[{'type':'PodScheduled','status':'False','reason':'Unschedulable','lastTransitionTime':"
             "'2026-01-02T03:04:05Z','message':'0/1 nodes are available: 1 Insufficient nvidia.com/gpu.'}]}");
  const std::string others = object("Pod", "other", "Job/other", "", "'status':{'phase':'Pending'}");
  const std::string text =
      treeText(profiling("Profiling is in progress: pods cannot be scheduled"),
               {job("profile-r", kRequest, "'active':1,'ready':0"), pod, others, job("other", "", "")}, true);
  CHECK(text == R"(DynamoGraphDeploymentRequest demo/r
  phase      Profiling for 4m5s
  ready      False, ProfilingRunning: Profiling is in progress: pods cannot be scheduled
  profiling  Initializing
  model      org/m
  backend    vllm
  age        4m5s

OBJECT                 READY  AGE   STATUS
└─ Job profile-r       0/1    4m5s  Pending
   └─ Pod profile-r-x  0/2    4m5s  PodUnschedulable: pods cannot be scheduled: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.
)");
}

TEST_CASE("the Job of a request") {
  struct Row {
    std::string what;
    std::string status;
    std::string line;
  };
  const std::vector<Row> rows = {
      {"its pod runs", "'active':1,'ready':1", "Job profile-r       1/1         Running"},
      {"it is complete", "'succeeded':1,'conditions':[{'type':'Complete','status':'True'}]",
       "Job profile-r       1/1         Complete"},
      {"it has failed",
       "'failed':1,'conditions':[{'type':'Failed','status':'True','message':'Job has reached the specified "
       "backoff limit'}]",
       "Job profile-r       0/1         Failed: Job has reached the specified backoff limit; pod "
       "profile-r-x: "
       "container "
       "profiler ended with exit code 1 (Error): no SLA"},
  };
  const std::string pod = object("Pod", "profile-r-x", "Job/profile-r", "",
                                 "'status':{'phase':'Failed','containerStatuses':[{'name':'profiler','state':"
                                 "{'terminated':{'exitCode':1,'reason':'Error','message':'no SLA'}}}]}");
  for (const Row& row : rows) {
    INFO(row.what);
    const std::string text = treeText(profiling("m"), {job("profile-r", kRequest, row.status), pod});
    CHECK_THAT(text, Catch::Contains(row.line));
  }
  CHECK_THAT(treeText(profiling("m"), {}), Catch::Contains("Job profile-r") && Catch::Contains("Missing"));
  CHECK_THAT(treeText(profiling("m"), {job("profile-r", "", "")}), Catch::Contains("Missing"));
  // A Job that has ended is collected after a while.
  CHECK_THAT(treeText(request("'phase':'Failed','profilingJobName':'profile-r'"), {}),
             !Catch::Contains("Job"));
}

TEST_CASE("a pod of a Job that has ended shows its phase") {
  const std::string ready = "'conditions':[{'type':'Ready','status':'True'}]";
  for (const std::string phase : {"Succeeded", "Failed"}) {
    for (const std::string& more : {std::string{}, "," + ready}) {
      const ObjectTree tree = treeFor(
          profiling("m"),
          {job("profile-r", kRequest, ""),
           object("Pod", "p", "Job/profile-r", "", "'status':{'phase':'" + phase + "'" + more + "}")});
      REQUIRE(tree.nodes.size() == 1);
      REQUIRE(tree.nodes[0].children.size() == 1);
      const Node& pod = tree.nodes[0].children[0];
      CHECK(pod.ready == (phase == "Succeeded"));
      CHECK(pod.state == phase);
      CHECK(pod.message.empty());
    }
  }
}

TEST_CASE("the graph of a request has its own lines below it") {
  const std::string text =
      treeText(deployed("Deploying", "False"),
               {generated(kOfRequest, "pending", "False"),
                component("g-frontend", "Frontend", "", 1, 0, "'status':'False','message':'m'")});
  CHECK(text == R"(DynamoGraphDeploymentRequest demo/r
  phase    Deploying
  ready    False, DeploymentInProgress: DGD g is in pending state
  model    org/m
  backend  vllm
  graph    g

OBJECT                                         READY  AGE  STATUS
└─ DynamoGraphDeployment g                     0/1         pending: why
   └─ service Frontend                         0/1         Unavailable
      └─ DynamoComponentDeployment g-frontend  0/1         Unavailable: m
)");
  CHECK_THAT(treeText(deployed("Deployed", "True"), {}),
             Catch::Contains("DynamoGraphDeployment g") && Catch::Contains("Missing"));
  const std::string foreign = treeText(deployed("Failed", "False"), {generated("", "successful", "True")});
  CHECK_THAT(foreign, !Catch::Contains("DynamoGraphDeployment g"));
}

TEST_CASE("summaries of requests in each phase") {
  struct Row {
    std::string phase;
    bool ready;
    std::string message;
    std::string since;  ///< of the day; empty: not known
  };
  const std::vector<Row> rows = {
      {"Pending", false, "of Profiling", "03:00:00"},    // the creation
      {"Profiling", false, "of Profiling", "03:00:00"},  // the Job
      {"Ready", true, "of Succeeded", "02:00:00"},       // the condition
      {"Deploying", false, "of DeploymentReady", "02:00:00"},
      {"Deployed", true, "of Succeeded", "02:00:00"},
      {"Failed", false, "of Succeeded", "03:02:00"},  // the last write of the status
  };
  const std::string fields =
      "'managedFields':[{'subresource':'status','time':'2026-01-02T03:01:00Z'},"
      "{'subresource':'status','time':'2026-01-02T03:02:00Z'},{'time':'2026-01-02T03:03:00Z'}]";
  for (const Row& row : rows) {
    INFO(row.phase);
    std::string text = request("'phase':'" + row.phase + "','conditions':[" +
                               condition("Succeeded", row.ready ? "True" : "False", "A", "of Succeeded") +
                               "," + condition("Profiling", "False", "B", "of Profiling") + "," +
                               condition("SpecGenerated", "True", "C", "of SpecGenerated") + "," +
                               condition("DeploymentReady", "False", "D", "of DeploymentReady") + "]");
    text.replace(text.find("'generation':1"), 14, "'generation':1," + fields);
    const ObjectSummary summary = summaryFor(text, {job("profile-r", kRequest, "")});
    CHECK(summary.ready == row.ready);
    CHECK(summary.message == row.message);
    REQUIRE(summary.since);
    CHECK(lifecycle::formatTime(*summary.since) == "2026-01-02T" + row.since + "Z");
  }
  CHECK(summaryFor(request("")).message == "its controller has not reported a status");
  CHECK_FALSE(summaryFor(profiling("m")).since);
}

TEST_CASE("the cause of a failed request, where the reference operator has written it") {
  const std::string generic = condition("Succeeded", "False", "Failed", "DGDR has failed");
  struct Row {
    std::string conditions;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {generic, "Failed"},
      {generic + "," + condition("Validation", "False", "ValidationFailed", "m"), "ValidationFailed"},
      {condition("Profiling", "False", "ProfilingFailed", "m") + "," + generic + "," +
           condition("Validation", "True", "ValidationPassed", "m"),
       "ProfilingFailed"},
      {generic + "," + condition("Profiling", "False", "ProfilingRunning", "m") + "," +
           condition("SpecGenerated", "False", "GenerationFailed", "m"),
       "GenerationFailed"},
      {generic + "," + condition("SpecGenerated", "True", "SpecGenerated", "m") + "," +
           condition("DeploymentReady", "False", "DeploymentDeleted", "m"),
       "DeploymentDeleted"},
  };
  for (const Row& row : rows) {
    INFO(row.conditions);
    CHECK(summaryFor(request("'phase':'Failed','conditions':[" + row.conditions + "]")).reason == row.reason);
  }
}

TEST_CASE("a model shows its endpoints and their pods") {
  const auto model = [](const std::string& type, const std::string& status) {
    return object("DynamoModel", "m", "", "",
                  "'spec':{'modelName':'adapter','baseModelName':'org/base','modelType':'" + type +
                      "','source':{'uri':'hf://org/a'}},'status':{" + status + "}");
  };
  const std::string endpoints =
      "'readyEndpoints':1,'totalEndpoints':2,'endpoints':["
      "{'address':'http://10.0.0.1:9090','podName':'p1','ready':true},"
      "{'address':'http://10.0.0.2:9090','podName':'p2','ready':false}],'conditions':[" +
      condition("ServicesFound", "True", "ServicesFound", "Found 1 service(s)") + "," +
      condition("EndpointsReady", "False", "NotReady", "1 of 2 endpoints ready") + "]";
  CHECK(treeText(model("lora", endpoints), {pod("p1", "", "")}, true) == R"(DynamoModel demo/m
  ready       False, NotReady: 1 of 2 endpoints ready
  endpoints   1/2
  type        lora
  model       adapter
  base model  org/base
  source      hf://org/a
  age         4m5s

OBJECT                            READY  AGE   STATUS
├─ endpoint http://10.0.0.1:9090               Ready
│  └─ Pod p1                      1/1    4m5s  Ready
└─ endpoint http://10.0.0.2:9090               NotReady: of pod p2
)");
  CHECK_THAT(treeText(model("base", endpoints), {}), Catch::Contains("Discovered: of pod p2"));
  const ObjectSummary none = summaryFor(
      model("lora", "'conditions':[" + condition("ServicesFound", "False", "NoServicesFound", "no Service") +
                        "," + condition("EndpointsReady", "False", "NoEndpoints", "none") + "]"));
  CHECK(none.reason == "NoServicesFound");
  CHECK(summaryFor(model("lora", "")).message == "its controller has not reported a status");
  const std::string old =
      "'conditions':[{'type':'EndpointsReady','status':'True','reason':'r','observedGeneration':0}]";
  CHECK_FALSE(summaryFor(model("lora", old)).ready);
  CHECK(summaryFor(model("lora", old)).message == "its controller has not observed the latest spec");
  // Pods may have another source, which the controller tells (decision ctl-Q94).
  const std::string waits =
      "'conditions':[{'type':'ServicesFound','status':'True','reason':'r','observedGeneration':1},"
      "{'type':'EndpointsReady','status':'False','reason':'NotReady','message':'why','observedGeneration':0}"
      "]";
  CHECK(summaryFor(model("lora", waits)).message == "why");
  CHECK(summaryFor(model("lora", waits)).observed);
}

TEST_CASE("a checkpoint shows its Job and who uses it") {
  const std::string identity = "{'model':'meta-llama/Llama-2-7b-hf','backendFramework':'vllm'}";
  const auto checkpoint = [&](const std::string& status) {
    return object("DynamoCheckpoint", "c", "", "",
                  "'spec':{'identity':" + identity + "},'status':{" + status + "}");
  };
  const auto user = [](const std::string& name, const std::string& service, const std::string& status = "") {
    return object("DynamoGraphDeployment", name, "", "",
                  "'spec':{'services':{'Frontend':{},'Worker':{'replicas':2," + service +
                      "}}},'status':{'state':'pending','services':{'Worker':{'readyReplicas':1}}" + status +
                      "," + readyCondition("False", "r", "why") + "}");
  };
  const std::string creating =
      "'phase':'Creating','identityHash':'96429b2725761a09','jobName':'checkpoint-c','message':'cannot pull "
      "image','conditions':[" +
      condition("JobCreated", "True", "JobCreated", "Checkpoint job checkpoint-c created") + "]";
  const std::vector<std::string> others = {
      job("checkpoint-c", "DynamoCheckpoint/c", "'active':1"),
      user("by-identity", "'checkpoint':{'enabled':true,'identity':" + identity + "}"),
      user("by-name", "'checkpoint':{'enabled':true,'checkpointRef':'c'}"),
      user("by-status", "'checkpoint':{'enabled':true}", ",'checkpoints':{'Worker':{'checkpointName':'c'}}"),
      user("of-another", "'checkpoint':{'enabled':true,'identity':" + identity + "}",
           ",'checkpoints':{'Worker':{'checkpointName':'d'}}"),
      user("disabled", "'checkpoint':{'enabled':false,'checkpointRef':'c'}")};
  CHECK(treeText(checkpoint(creating), others, true) == R"(DynamoCheckpoint demo/c
  phase     Creating for 64m
  ready     False, JobCreated: cannot pull image
  identity  96429b2725761a09
  model     meta-llama/Llama-2-7b-hf
  backend   vllm
  used by   by-identity, by-name, by-status
  age       4m5s

OBJECT                                READY  AGE   STATUS
├─ Job checkpoint-c                   0/1    4m5s  Pending
├─ DynamoGraphDeployment by-identity  1/3    4m5s  pending: why
│  └─ service Worker                  1/2
├─ DynamoGraphDeployment by-name      1/3    4m5s  pending: why
│  └─ service Worker                  1/2
└─ DynamoGraphDeployment by-status    1/3    4m5s  pending: why
   └─ service Worker                  1/2
)");
  CHECK(summaryFor(checkpoint("'phase':'Ready'")).ready);
  const ObjectSummary fresh = summaryFor(checkpoint(""));
  CHECK(fresh.message == "its controller has not reported a status");
  CHECK(fresh.details[0].text == "96429b2725761a09");
}

TEST_CASE("an object that is being deleted is not ready") {
  std::string text = deployed("Deployed", "True");
  text.replace(text.find("'generation':1"), 14, "'generation':1,'deletionTimestamp':'2026-01-02T03:04:05Z'");
  CHECK_FALSE(summaryFor(text).ready);
  CHECK(summaryFor(text).message == "is being deleted");
}

TEST_CASE("lists have one line for each object of a kind") {
  const std::vector<ObjectSummary> requests = {
      summaryFor(profiling("waits"), {job("profile-r", kRequest, "")}),
      summaryFor(deployed("Deployed", "True"))};
  CHECK(toText(requests, true, {Style{}, kNow}) ==
        "NAMESPACE  REQUEST  READY  PHASE      SINCE  PROFILING     MODEL  BACKEND  GRAPH  AGE   MESSAGE\n"
        "demo       r        False  Profiling  4m5s   Initializing  org/m  vllm     -      4m5s  waits\n"
        "demo       r        True   Deployed   64m    -             org/m  vllm     g      4m5s\n");
  CHECK(toText(std::vector<ObjectSummary>{}, true, {Style{}, kNow}).empty());
}

TEST_CASE("JSON of an object has the same content as its text") {
  const std::string text = toJson(treeFor(profiling("waits"), {job("profile-r", kRequest, "'active':1")}));
  const json::Document expected = parsed(
      "{'kind':'DynamoGraphDeploymentRequest','namespace':'demo','name':'r','ready':false,'phase':'Profiling'"
      ","
      "'since':'2026-01-02T03:00:00Z','reason':'ProfilingRunning','message':'waits','profilingPhase':'"
      "Initializing',"
      "'model':'org/"
      "m','backend':'vllm','created':'2026-01-02T03:00:00Z','children':[{'kind':'Job','name':'profile-r',"
      "'ready':false,'reason':'Pending','replicas':{'ready':0,'desired':1},'created':'2026-01-02T03:00:00Z'}]"
      "}");
  INFO(text);
  CHECK(json::equal(parsed(text), expected));
  const GraphSummary graph;
  CHECK(toJson({&graph, 1}, {}).starts_with(R"([{"kind":"DynamoGraphDeployment")"));
}

}  // namespace dynamo::view::test
