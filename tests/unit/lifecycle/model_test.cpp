#include "common/lifecycle/model.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "support.h"

namespace dynamo::lifecycle {
namespace {

using namespace std::chrono_literals;
using test::conditionsOf;
using test::eventsOf;
using test::kNow;
using test::parsed;

json::Document model(const std::string& type, const std::string& status = "{}",
                     const std::string& source = ",'source':{'uri':'s3://bucket/tuned'}",
                     const std::string& metadata = "", const std::string& name = "org/tuned") {
  return parsed(
      "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoModel','metadata':{'name':'m','namespace':"
      "'ns','uid':'u','resourceVersion':'7','generation':2" +
      metadata + "},'spec':{'modelName':'" + name + "','baseModelName':'Qwen/Qwen3-0.6B','modelType':'" +
      type + "'" + source + "},'status':" + status + "}");
}

ModelEndpoint ready(const std::string& pod, const std::string& address) {
  return {pod, address, true};
}
ModelEndpoint failed(const std::string& pod, const std::string& address, const std::string& problem) {
  return {pod, address, false, problem};
}

struct Seen {
  std::string status;
  std::string conditions;
  std::string events;
};

Seen outcomeOf(const json::Value& object, const ModelState& state) {
  json::Document memory;
  const Outcome outcome = modelOutcome(object, state, kNow, memory.GetAllocator());
  Seen seen;
  seen.events = eventsOf(outcome.events);
  if (!outcome.status) return seen;
  seen.conditions = conditionsOf(*outcome.status);
  json::Document rest;
  rest.CopyFrom(*outcome.status, rest.GetAllocator());
  json::remove(rest, "conditions");
  seen.status = json::dump(rest);
  return seen;
}

}  // namespace

TEST_CASE("the status of a model of its endpoints") {  // ctl-Q23, ctl-Q82
  struct Row {
    const char* about;
    const char* type;
    ModelState state;
    const char* status;
    const char* conditions;
    const char* events;
  };
  const std::string long1 = "answered 500: failed to download";
  const std::vector<Row> rows{
      {"nothing serves the base model",
       "base",
       {},
       R"({"readyEndpoints":0,"totalEndpoints":0})",
       "ServicesFound=False NoServicesFound: No endpoint slices found for base model Qwen/Qwen3-0.6B\n"
       "EndpointsReady=False NoEndpoints: No endpoint slices found for base model Qwen/Qwen3-0.6B\n",
       "Warning NoEndpointsFound: No endpoint slices found for base model Qwen/Qwen3-0.6B\n"},
      {"a base model",
       "base",
       {1, {{"a", "10.0.0.1"}, {"b", "fd00::1"}}},
       R"({"endpoints":[{"address":"http://10.0.0.1:9090","podName":"a","ready":false},)"
       R"({"address":"http://[fd00::1]:9090","podName":"b","ready":false}],"readyEndpoints":0,"totalEndpoints":2})",
       "ServicesFound=True ServicesFound: Found 1 service(s)\n"
       "EndpointsReady=True EndpointsDiscovered: Found 2 endpoint(s) for base model\n",
       "Normal EndpointsDiscovered: Found 2 endpoint(s) for base model\n"},
      {"type adapter, as a base model",
       "adapter",
       {2, {{"a", "10.0.0.1"}}},
       R"({"endpoints":[{"address":"http://10.0.0.1:9090","podName":"a","ready":false}],"readyEndpoints":0,)"
       R"("totalEndpoints":1})",
       "ServicesFound=True ServicesFound: Found 2 service(s)\n"
       "EndpointsReady=True EndpointsDiscovered: Found 1 endpoint(s) for base model\n",
       "Normal EndpointsDiscovered: Found 1 endpoint(s) for base model\n"},
      {"an adapter that all pods have",
       "lora",
       {1, {ready("a", "10.0.0.1"), ready("b", "10.0.0.2")}},
       R"({"endpoints":[{"address":"http://10.0.0.1:9090","podName":"a","ready":true},)"
       R"({"address":"http://10.0.0.2:9090","podName":"b","ready":true}],"readyEndpoints":2,"totalEndpoints":2})",
       "ServicesFound=True ServicesFound: Found 1 service(s)\n"
       "EndpointsReady=True AllEndpointsReady: All 2 endpoint(s) are ready\n",
       "Normal EndpointsReady: All 2 endpoint(s) are ready\n"},
      {"a pod could not load it",
       "lora",
       {1, {ready("a", "10.0.0.1"), failed("b", "10.0.0.2", long1)}},
       R"({"endpoints":[{"address":"http://10.0.0.1:9090","podName":"a","ready":true},)"
       R"({"address":"http://10.0.0.2:9090","podName":"b","ready":false}],"readyEndpoints":1,"totalEndpoints":2})",
       "ServicesFound=True ServicesFound: Found 1 service(s)\n"
       "EndpointsReady=False NotReady: Found 1 ready endpoint(s) out of 2 total: pod b: answered 500: failed "
       "to "
       "download\n",
       "Warning PartialEndpointFailure: pod b: answered 500: failed to download\n"
       "Warning NotReady: Found 1 ready endpoint(s) out of 2 total: pod b: answered 500: failed to "
       "download\n"},
      {"a pod keeps the adapter of an earlier source until another has the new one",  // ctl-Q94
       "lora",
       {1, {ready("a", "10.0.0.1"), {"b", "10.0.0.2", false, "it has the earlier one", true}}},
       R"({"endpoints":[{"address":"http://10.0.0.1:9090","podName":"a","ready":true},)"
       R"({"address":"http://10.0.0.2:9090","podName":"b","ready":false}],"readyEndpoints":1,"totalEndpoints":2})",
       "ServicesFound=True ServicesFound: Found 1 service(s)\n"
       "EndpointsReady=False Updating: Found 1 ready endpoint(s) out of 2 total: pod b: it has the earlier "
       "one\n",
       "Normal Updating: Found 1 ready endpoint(s) out of 2 total: pod b: it has the earlier one\n"},
      {"the new adapter fails, so a pod keeps the earlier one",
       "lora",
       {1, {failed("a", "10.0.0.1", "x"), {"b", "10.0.0.2", false, "it has the earlier one", true}}},
       R"({"endpoints":[{"address":"http://10.0.0.1:9090","podName":"a","ready":false},)"
       R"({"address":"http://10.0.0.2:9090","podName":"b","ready":false}],"readyEndpoints":0,"totalEndpoints":2})",
       "ServicesFound=True ServicesFound: Found 1 service(s)\n"
       "EndpointsReady=False NotReady: Found 0 ready endpoint(s) out of 2 total: pod a: x; pod b: it has the "
       "earlier one\n",
       "Warning PartialEndpointFailure: pod a: x; pod b: it has the earlier one\n"
       "Warning NotReady: Found 0 ready endpoint(s) out of 2 total: pod a: x; pod b: it has the earlier "
       "one\n"},
      {"a pod was not asked",
       "lora",
       {1, {ready("a", "10.0.0.1")}, {"pod h uses the network of its node"}},
       R"({"endpoints":[{"address":"http://10.0.0.1:9090","podName":"a","ready":true}],"readyEndpoints":1,)"
       R"("totalEndpoints":1})",
       "ServicesFound=True ServicesFound: Found 1 service(s)\n"
       "EndpointsReady=True AllEndpointsReady: All 1 endpoint(s) are ready; not asked: pod h uses the "
       "network of "
       "its node\n",
       "Normal EndpointsReady: All 1 endpoint(s) are ready; not asked: pod h uses the network of its node\n"
       "Warning EndpointSkipped: pod h uses the network of its node\n"},
      {"no pod was asked",
       "lora",
       {1, {}, {"pod p belongs to no graph"}},
       R"({"readyEndpoints":0,"totalEndpoints":0})",
       "ServicesFound=True ServicesFound: Found 1 service(s)\n"
       "EndpointsReady=False NoEndpoints: No endpoint can be used; not asked: pod p belongs to no graph\n",
       "Warning NoEndpointsFound: No endpoint can be used; not asked: pod p belongs to no graph\n"
       "Warning EndpointSkipped: pod p belongs to no graph\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const Seen seen = outcomeOf(model(row.type), row.state);
    CHECK(seen.status == row.status);
    CHECK(seen.conditions == row.conditions);
    CHECK(seen.events == row.events);
    // The same again: no write and no Event.
    json::Document memory;
    const Outcome first = modelOutcome(model(row.type), row.state, kNow, memory.GetAllocator());
    REQUIRE(first.status);
    json::Document stored = model(row.type);
    json::set(stored, "status", json::copy(*first.status, stored.GetAllocator()), stored.GetAllocator());
    const Outcome second = modelOutcome(stored, row.state, kNow + 60s, memory.GetAllocator());
    CHECK_FALSE(second.status);
    CHECK(second.events.empty());
  }
}

TEST_CASE("an adapter without a source is told") {
  const Seen seen = outcomeOf(model("lora", "{}", ""), {1, {}, {}});
  CHECK(loraProblem(model("lora", "{}", "")) ==
        "spec.source.uri: Required value: must be set when modelType is lora");
  CHECK(loraProblem(model("LoRA")).empty());
  CHECK(loraProblem(model("base", "{}", "")).empty());
  CHECK(seen.conditions.find("EndpointsReady=False NoEndpoints: spec.source.uri: Required value") !=
        std::string::npos);
  CHECK(seen.conditions.find("ServicesFound=True") != std::string::npos);
  const Seen nothing = outcomeOf(model("lora", "{}", ""), {0, {}, {}});
  CHECK(nothing.conditions.find("ServicesFound=False NoServicesFound: No endpoint slices found") !=
        std::string::npos);
}

TEST_CASE("endpoints that the status has keep their places") {
  const std::string status =
      "{'endpoints':[{'address':'http://10.0.0.2:9090','podName':'b','ready':false},{'address':"
      "'http://10.0.0.1:9090','podName':'a','ready':false}]}";
  const Seen seen =
      outcomeOf(model("base", status), {1, {{"a", "10.0.0.1"}, {"b", "10.0.0.2"}, {"c", "10.0.0.3"}}});
  const auto at = [&](const char* pod) { return seen.status.find(std::string{"\"podName\":\""} + pod); };
  CHECK(at("b") < at("a"));
  CHECK(at("a") < at("c"));
}

TEST_CASE("what pods are asked, and what their replies mean") {  // ctl-Q83
  CHECK(loadBody(model("lora")) == R"({"lora_name":"org/tuned","source":{"uri":"s3://bucket/tuned"}})");
  CHECK(unloadPath("org/tuned") == "/v1/loras/org/tuned");
  CHECK(unloadPath("a b?c#d%\u00e9") == "/v1/loras/a%20b%3Fc%23d%25%C3%A9");
  struct Row {
    int status;
    const char* body;
    const char* load;
    const char* unload;
  };
  for (const Row& row : {
           Row{200, R"({"status":"success"})", "", ""},
           Row{204, "", "", ""},
           Row{500, R"({"status":"error","message":"LoRA adapter 'x' not found"})",
               "answered 500: LoRA adapter 'x' not found", ""},
           Row{500, "Not Found", "answered 500: Not Found", ""},
           Row{404, "", "answered 404; the worker loads adapters only with DYN_LORA_ENABLED=true", ""},
           Row{404, "Route not found",  // ctl-Q87
               "answered 404: Route not found; the worker loads adapters only with DYN_LORA_ENABLED=true",
               ""},
           Row{500, R"({"status":"error","message":"download\nfailed"})", "answered 500: download failed",
               "answered 500: download failed"},
           Row{503, R"({"detail":"not found"})", "answered 503: not found", "answered 503: not found"},
           Row{422, "missing field `source`", "answered 422: missing field `source`",
               "answered 422: missing field `source`"},
           Row{307, "", "answered 307", "answered 307"},
           Row{503, "a\xFF \xC3(", "answered 503: a\uFFFD \uFFFD(", "answered 503: a\uFFFD \uFFFD("},
       }) {
    CAPTURE(row.status, row.body);
    CHECK(loadProblem(row.status, row.body) == row.load);
    CHECK(unloadProblem(row.status, row.body) == row.unload);
  }
  CHECK(loadProblem(500, std::string(60'000, 'x')).size() < 300);
}

TEST_CASE("a pod has an adapter until it is another pod or its container restarts") {  // ctl-Q81
  const auto pod = [](const std::string& uid, const std::string& status) {
    return parsed("{'metadata':{'name':'p','uid':'" + uid + "'},'status':{'containerStatuses':[" + status +
                  "]}}");
  };
  const std::string running = "'state':{'running':{}}}";
  const ModelMemory::Pod given{"u", 1, "10.0.0.1"};
  CHECK(hasAdapter(given, pod("u", "{'name':'main','restartCount':1," + running)));
  CHECK(hasAdapter(given, pod("u", "{'name':'main','restartCount':0," + running)));  // the cache is late
  CHECK_FALSE(hasAdapter(given, pod("u", "{'name':'main','restartCount':2," + running)));
  CHECK_FALSE(hasAdapter(given, pod("v", "{'name':'main','restartCount':1," + running)));
  CHECK_FALSE(hasAdapter(given, pod("u", "{'name':'main','restartCount':1,'state':{'terminated':{}}}")));
}

TEST_CASE("pods that fail are asked again with back-off") {  // ctl-Q81
  CHECK(loadRetry(0) == 2s);
  CHECK(loadRetry(1) == 2s);
  CHECK(loadRetry(2) == 4s);
  CHECK(loadRetry(4) == 16s);
  CHECK(loadRetry(5) == 30s);
  CHECK(loadRetry(1000) == 30s);
}

TEST_CASE("the finalizer is added with the others, once") {  // ctl-Q83, life-Q29
  json::Document memory;
  const auto write = [&](const std::string& finalizers) {
    const auto made = finalizerWrite(model("lora", "{}", "", finalizers), memory.GetAllocator());
    return made ? json::dump(made->patch) : "";
  };
  CHECK(write("") == R"({"metadata":{"finalizers":["nvidia.com/finalizer"]}})");
  CHECK(write(",'finalizers':['a/b']") == R"({"metadata":{"finalizers":["a/b","nvidia.com/finalizer"]}})");
  CHECK(write(",'finalizers':['nvidia.com/finalizer','a/b']").empty());
}

TEST_CASE("what came of unloading") {  // ctl-Q83
  CHECK(eventsOf({unloadEvent("org/tuned", 3, {})}) ==
        "Normal LoRAUnloaded: Unloaded LoRA org/tuned from 3 endpoint(s)\n");
  const std::vector<std::string> problems{"pod a: answered 500: x"};
  CHECK(eventsOf({unloadEvent("org/tuned", 3, problems)}) ==
        "Warning LoRAUnloadFailed: Failed to unload LoRA org/tuned from 1 of 3 endpoint(s): pod a: answered "
        "500: "
        "x\n");
}

TEST_CASE("a status says which spec it describes, unless it is one of the reference") {  // ctl-Q94
  const auto edited = [](const char* generation, const char* observed) {
    return isAdapterEdited(parsed(fmt::format(
        "{{'metadata':{{'generation':{}}},'status':{{'conditions':[{{'type':'EndpointsReady'{}}}]}}}}",
        generation, observed)));
  };
  CHECK(edited("2", ",'observedGeneration':1"));
  CHECK_FALSE(edited("1", ",'observedGeneration':1"));
  CHECK(edited("1", ",'observedGeneration':0"));
  CHECK_FALSE(edited("2", ""));
  CHECK_FALSE(isAdapterEdited(parsed("{'metadata':{'generation':2}}")));
}

TEST_CASE("the generation of a status is that of the source that all pods have") {  // ctl-Q94
  const auto generation = [](bool outdated, const char* status) {
    const json::Document object = model("lora", status);
    ModelState state{1, {ready("a", "10.0.0.1")}};
    state.outdated = outdated;
    json::Document memory;
    const Outcome outcome = modelOutcome(object, state, kNow, memory.GetAllocator());
    return numberAt(findCondition(&*outcome.status, "EndpointsReady"), "observedGeneration", -1);
  };
  const char* earlier = "{'conditions':[{'type':'EndpointsReady','status':'True','observedGeneration':1}]}";
  CHECK(generation(false, earlier) == 2);
  CHECK(generation(true, earlier) == 1);
  CHECK(generation(true, "{}") == 0);
  const char* same = "{'conditions':[{'type':'EndpointsReady','status':'True','observedGeneration':2}]}";
  CHECK(generation(true, same) == 1);
  const char* reference = "{'conditions':[{'type':'EndpointsReady','status':'True'}]}";
  CHECK(generation(true, reference) == 0);
}

TEST_CASE("the oldest model counts") {  // ctl-Q94
  const auto created = [](const char* at, const char* uid) {
    return parsed(fmt::format("{{'metadata':{{'creationTimestamp':'{}','uid':'{}'}}}}", at, uid));
  };
  const auto first = created("2026-01-01T00:00:00Z", "z");
  CHECK(isOlder(first, created("2026-01-01T00:00:01Z", "a")));
  CHECK_FALSE(isOlder(created("2026-01-01T00:00:01Z", "a"), first));
  CHECK(isOlder(created("2026-01-01T00:00:00Z", "a"), first));
  CHECK_FALSE(isOlder(first, first));
}

TEST_CASE("an adapter that another model needs stays loaded") {  // ctl-Q84
  const auto self = model("lora");
  const auto shared = [&](const json::Document& other) {
    return sharesAdapter(self, modelNameOf(self), other);
  };
  const auto other = [](const std::string& text) {
    json::Document made = model("lora");
    std::string all = json::dump(made);
    all.replace(all.find("\"uid\":\"u\""), 9, text);
    for (char& c : all) c = c == '"' ? '\'' : c;
    return parsed(all);
  };
  CHECK_FALSE(shared(self));
  CHECK(shared(other("\"uid\":\"v\"")));
  CHECK_FALSE(shared(other("\"uid\":\"v\",\"deletionTimestamp\":\"2026-01-02T03:00:00Z\"")));
  CHECK_FALSE(shared(model("base", "{}", "", ",'x':1")));
}

}  // namespace dynamo::lifecycle
