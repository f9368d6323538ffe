#include "common/lifecycle/request.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "common/k8s/names.h"
#include "common/lifecycle/object.h"
#include "common/text/yaml_writer.h"
#include "support.h"

namespace dynamo::lifecycle {
namespace {

using test::kNow;
using test::parsed;

constexpr const char* kGraph =
    "apiVersion: nvidia.com/v1alpha1\\nkind: DynamoGraphDeployment\\nmetadata:\\n  name: made\\n  namespace: "
    "elsewhere\\n  labels:\\n    team: a\\nspec:\\n  services: {}\\n";

/// A request `r` in the namespace `ns`. The arguments are JSON with single quotes.
json::Document request(std::string_view status, std::string_view annotations = "{}",
                       std::string_view spec = "{}") {
  return parsed(
      fmt::format("{{'metadata':{{'name':'r','namespace':'ns','uid':'u','generation':1,"
                  "'annotations':{}}},'spec':{},'status':{}}}",
                  annotations, spec, status));
}

json::Document deploying(std::string_view overrides) {
  return request(
      "{'phase':'Deploying'}",
      fmt::format("{{'nvidia.com/generated-dgd-spec':'{}','nvidia.com/dgdr-deployment-overrides':'{}'}}",
                  kGraph, overrides));
}

TEST_CASE("the next step of a request") {
  struct Row {
    const char* status;
    const char* annotations;
    const char* spec;
    RequestStep step;
  };
  constexpr const char* kHasGraph = "{'nvidia.com/generated-dgd-spec':'x'}";
  const Row row = GENERATE(
      Row{"{}", "{}", "{}", RequestStep::Validate},
      Row{"{'phase':'Pending','observedGeneration':1}", "{}", "{'model':'m'}", RequestStep::CreateJob},
      Row{"{'observedGeneration':1}", "{}", "{'model':'m'}", RequestStep::CreateJob},
      Row{"{'phase':'Pending','observedGeneration':1}", "{}", "{}", RequestStep::Validate},
      Row{"{'phase':'Pending','observedGeneration':0}", "{}", "{}", RequestStep::Validate},
      Row{"{'phase':'Profiling','observedGeneration':1}", "{}", "{}", RequestStep::FollowJob},
      Row{"{'phase':'Deploying'}", kHasGraph, "{}", RequestStep::CreateGraph},
      Row{"{'phase':'Deploying'}", kHasGraph, "{'autoApply':true}", RequestStep::CreateGraph},
      Row{"{'phase':'Deploying'}", kHasGraph, "{'autoApply':false}", RequestStep::KeepGraph},
      Row{"{'phase':'Deploying'}", "{}", "{}", RequestStep::CreateGraph},
      Row{"{'phase':'Deploying','dgdName':'g'}", "{}", "{}", RequestStep::FollowGraph},
      Row{"{'phase':'Deploying','dgdName':'g'}", kHasGraph, "{}", RequestStep::CreateGraph},
      Row{"{'phase':'Deployed'}", kHasGraph, "{}", RequestStep::FollowGraph},
      Row{"{'phase':'Ready'}", kHasGraph, "{}", RequestStep::Nothing},
      Row{"{'phase':'Failed'}", "{}", "{}", RequestStep::Nothing},
      Row{"{'phase':'Lost'}", "{}", "{}", RequestStep::Fail});
  CAPTURE(row.status, row.annotations, row.spec);
  CHECK(requestStep(request(row.status, row.annotations, row.spec)) == row.step);
}

TEST_CASE("a missing Job may be late for 60 s (decision life-Q3)") {
  const auto since = [](std::string_view time) {
    return request(fmt::format("{{'conditions':[{{'type':'Profiling','lastTransitionTime':'{}'}}]}}", time));
  };
  CHECK(mayBeLate(since(formatTime(kNow - std::chrono::seconds{59})), kNow));
  CHECK_FALSE(mayBeLate(since(formatTime(kNow - std::chrono::seconds{60})), kNow));
  CHECK_FALSE(mayBeLate(request("{}"), kNow));
}

TEST_CASE("a Job profiles again unless its profiler told an error (decision life-Q33)") {
  struct Row {
    const char* spec;
    const char* job;
    bool repeats;
  };
  const Row row = GENERATE(Row{"{}", "{'spec':{'backoffLimit':3},'status':{'failed':1}}", true},
                           Row{"{}", "{'spec':{'backoffLimit':3},'status':{}}", false},
                           Row{"{}", "{'spec':{'backoffLimit':0},'status':{'failed':1}}", false},
                           Row{"{'overrides':{'profilingJob':{'backoffLimit':3}}}",
                               "{'spec':{'backoffLimit':3},'status':{'failed':1}}", false});
  CAPTURE(row.spec, row.job);
  CHECK(mayRepeat(request("{}", "{}", row.spec), parsed(row.job)) == row.repeats);
  json::Document memory;
  CHECK(json::dump(withoutRetries(memory.GetAllocator())) == R"({"spec":{"backoffLimit":0}})");
  CHECK(toldError(parsed("{'data':{'output_copier_error.txt':'why'}}")) == "why");
  CHECK(toldError(parsed("{'data':{}}")).empty());
}

TEST_CASE("a request without a model cannot be profiled (decision conv-Q9)") {
  const json::Document old = request("{}", "{}", "{'backend':'trtllm','autoApply':true,'model':''}");
  CHECK(requestProblems(old, {}, false) == std::vector<std::string>{"spec.model: Required value"});
  CHECK(requestProblems(request("{}", "{}", "{'model':'m'}"), {}, false).empty());
}

TEST_CASE("what a request cannot be profiled with") {
  const auto problems = [](std::string_view spec, bool hasClaim = false, const std::string& hardware = "") {
    return requestProblems(request("{}", "{}", spec), {}, hasClaim, hardware);
  };
  using Texts = std::vector<std::string>;
  const std::string thorough =
      "spec.searchStrategy thorough needs one engine in spec.backend instead of auto";
  CHECK(problems("{'model':'m','searchStrategy':'thorough','backend':'auto'}") == Texts{thorough});
  CHECK(problems("{'model':'m','searchStrategy':'thorough','backend':'vllm'}").empty());
  CHECK(problems("{'model':'m','searchStrategy':'rapid','backend':'auto'}").empty());
  const char* cached = "{'model':'m','modelCache':{'pvcName':'c'}}";
  CHECK(problems(cached) == Texts{"model cache PVC c not found in namespace ns"});
  CHECK(problems(cached, true).empty());
  CHECK(problems("{'model':'m'}", false, "no GPU") == Texts{"no GPU"});
}

TEST_CASE("the generated graph gets the names and labels of its request (decision conv-Q2)") {
  json::Document memory;
  struct Row {
    const char* overrides;
    const char* metadata;
  };
  const Row row = GENERATE(
      Row{"", R"({"name":"made","namespace":"ns","labels":{"team":"a","dgdr.nvidia.com/name":"r",)"
              R"("dgdr.nvidia.com/namespace":"ns","nvidia.com/managed-by":"dynamo-operator"}})"},
      Row{R"({\"name\":\"n\",\"labels\":{\"team\":\"b\",\"dgdr.nvidia.com/name\":\"x\"},\"annotations\":{\"k\":\"v\"}})",
          R"({"name":"n","namespace":"ns","labels":{"team":"b","dgdr.nvidia.com/name":"r",)"
          R"("dgdr.nvidia.com/namespace":"ns","nvidia.com/managed-by":"dynamo-operator"},"annotations":{"k":"v"}})"},
      Row{R"({\"namespace\":\"other\"})",
          R"({"name":"made","namespace":"other","labels":{"team":"a","dgdr.nvidia.com/name":"r",)"
          R"("dgdr.nvidia.com/namespace":"ns","nvidia.com/managed-by":"dynamo-operator"}})"},
      Row{"no JSON", R"({"name":"made","namespace":"ns","labels":{"team":"a","dgdr.nvidia.com/name":"r",)"
                     R"("dgdr.nvidia.com/namespace":"ns","nvidia.com/managed-by":"dynamo-operator"}})"});
  CAPTURE(row.overrides);
  const auto made = generatedGraph(deploying(row.overrides), memory.GetAllocator());
  REQUIRE(std::holds_alternative<json::Value>(made));
  CHECK(json::dump(*json::find(&std::get<json::Value>(made), "metadata")) == row.metadata);
  CHECK(isOfRequest(std::get<json::Value>(made), deploying("")));
}

TEST_CASE("a graph is created in another namespace if the configuration allows it (decision conv-Q2)") {
  const json::Document other = deploying(R"({\"namespace\":\"other\"})");
  CHECK(graphNamespaceProblem(other, true).empty());
  CHECK(graphNamespaceProblem(other, false) ==
        "spec.deploymentOverrides.namespace: Forbidden: the graph may not be created in other");
  CHECK(graphNamespaceProblem(deploying(R"({\"namespace\":\"ns\"})"), false).empty());
  CHECK(graphNamespaceProblem(deploying(""), false).empty());
}

TEST_CASE("annotations are written once") {
  struct Row {
    const char* stored;
    const char* wanted;
    bool has;
  };
  const Row rows[] = {{"{'a':'1','b':'2'}", "{'a':'1'}", true},
                      {"{'a':'1'}", "{'a':'2'}", false},
                      {"{}", "{'a':'1'}", false},
                      {"{'a':'1'}", "{'a':'1','b':null}", true},
                      {"{'a':'1','b':'2'}", "{'a':'1','b':null}", false}};
  for (const Row& row : rows) {
    CAPTURE(row.stored, row.wanted);
    const json::Document patch = parsed(fmt::format("{{'metadata':{{'annotations':{}}}}}", row.wanted));
    CHECK(hasAnnotations(request("{}", row.stored), patch) == row.has);
  }
}

TEST_CASE("a graph that exists was created by this request or by an earlier one (decision life-Q9)") {
  struct Row {
    const char* created;
    const char* request;
    bool earlier;
  };
  constexpr const char* kRequested = "'2026-01-02T03:00:00Z'";
  const Row rows[] = {{"'2026-01-02T02:59:59Z'", kRequested, true},
                      {"'2026-01-02T03:00:00Z'", kRequested, false},
                      {"'2026-01-02T03:00:01Z'", kRequested, false},
                      {"'2026-01-02T03:00:01Z'", "null", true},
                      {"null", kRequested, true}};
  for (const Row& row : rows) {
    CAPTURE(row.created, row.request);
    constexpr std::string_view kObject = "{{'metadata':{{'creationTimestamp':{}}}}}";
    const json::Document made = parsed(fmt::format(fmt::runtime(kObject), row.created));
    const json::Document asked = parsed(fmt::format(fmt::runtime(kObject), row.request));
    CHECK(isOlderThanRequest(made, asked) == row.earlier);
  }
}

TEST_CASE("the graph that an older release has left in the status is created (decision life-Q37)") {
  json::Document memory;
  const auto left = [](std::string_view config) {
    return request(fmt::format("{{'phase':'Deploying','profilingResults':{{'selectedConfig':{}}}}}", config),
                   R"({'nvidia.com/dgdr-deployment-overrides':'{\"name\":\"n\"}'})");
  };
  const json::Document old = left(
      "{'kind':'DynamoGraphDeployment','metadata':{'name':'g','namespace':'x'},"
      "'spec':{'services':{'A':{'replicas':1}}}}");
  const auto made = generatedGraph(old, memory.GetAllocator());
  REQUIRE(std::holds_alternative<json::Value>(made));
  CHECK(nameOf(std::get<json::Value>(made)) == "n");
  CHECK(namespaceOf(std::get<json::Value>(made)) == "ns");
  CHECK(json::dump(*specOf(std::get<json::Value>(made))) == R"({"services":{"A":{"replicas":1}}})");
  for (const char* other : {"{'kind':'ConfigMap'}", "{}", "[]"}) {
    CAPTURE(other);
    CHECK(std::holds_alternative<std::string>(generatedGraph(left(other), memory.GetAllocator())));
  }
}

TEST_CASE("an annotation that somebody has changed is an error") {
  json::Document memory;
  const std::string text = GENERATE("{{{", "kind: ConfigMap", "");
  const json::Document object = request("{}", fmt::format("{{'nvidia.com/generated-dgd-spec':'{}'}}", text));
  const auto made = generatedGraph(object, memory.GetAllocator());
  REQUIRE(std::holds_alternative<std::string>(made));
  CHECK(std::get<std::string>(made).starts_with("annotation nvidia.com/generated-dgd-spec"));
}

TEST_CASE("additional documents that do not fit into annotations stay in the ConfigMap (decision life-Q18)") {
  json::Document memory;
  json::Allocator& allocator = memory.GetAllocator();
  const std::size_t size = GENERATE(1'000, 239'000, 241'000);
  const json::Document object = request("{}");
  CAPTURE(size);
  ProfilingOutput output;
  output.graph = json::copy(parsed("{'kind':'DynamoGraphDeployment'}"), allocator);
  output.additional.push_back(json::copy(
      parsed(fmt::format("{{'kind':'ConfigMap','data':{{'a':'{}'}}}}", std::string(size, 'x'))), allocator));
  const json::Value patch = annotationsPatch(object, output, roomForOutput(object), allocator);
  const json::Value* annotations = annotationsOf(patch);
  CHECK(json::findText(annotations, kGeneratedGraph) == "kind: DynamoGraphDeployment\n");
  CHECK((json::find(annotations, kAdditionalResources) != nullptr) == (size < 240'000));
}

TEST_CASE("the output leaves room for the annotations of users (decision life-Q18)") {
  json::Document memory;
  json::Allocator& allocator = memory.GetAllocator();
  const std::string additional = "kind: ConfigMap\n";
  ProfilingOutput output;
  output.graph = json::copy(parsed("{'kind':'DynamoGraphDeployment'}"), allocator);
  output.additional.push_back(json::copy(parsed("{'kind':'ConfigMap'}"), allocator));
  const std::size_t keys =
      kGeneratedGraph.size() + kAdditionalResources.size() + std::string_view{"a"}.size();
  const std::size_t room =
      k8s::kMaxAnnotationBytes - keys - std::string_view{"kind: DynamoGraphDeployment\n"}.size();
  struct Row {
    std::size_t others;
    bool hasGraph;
    bool hasAdditional;
  };
  for (const Row& row : {Row{10, true, true}, Row{room - additional.size(), true, true},
                         Row{room - additional.size() + 1, true, false}, Row{room, true, false},
                         Row{room + 1, false, false}, Row{k8s::kMaxAnnotationBytes + 1, false, false}}) {
    CAPTURE(row.others);
    const json::Document object =
        request("{}", fmt::format("{{'a':'{}','nvidia.com/generated-dgd-spec':'of an earlier output'}}",
                                  std::string(row.others, 'x')));
    const json::Value patch = annotationsPatch(object, output, roomForOutput(object), allocator);
    CHECK((json::find(annotationsOf(patch), kGeneratedGraph) != nullptr) == row.hasGraph);
    // Otherwise the graph of the earlier output would be created.
    CHECK(annotationsOf(patch)->HasMember(kGeneratedGraph.data()));
    CHECK((json::find(annotationsOf(patch), kAdditionalResources) != nullptr) == row.hasAdditional);
  }
}

TEST_CASE("additional ConfigMaps belong to the graph once it exists (decision life-Q19)") {
  json::Document memory;
  json::Allocator& allocator = memory.GetAllocator();
  const json::Document object = request(
      "{}",
      "{'dgdr.nvidia.com/additional-resources':'kind: ConfigMap\\nmetadata: {name: c, namespace: elsewhere, "
      "ownerReferences: [{uid: forged}]}\\n---\\nkind: Secret\\nmetadata: {name: s}\\n'}");
  const std::vector<json::Value> documents = additionalDocuments(object, allocator);
  REQUIRE(documents.size() == 2);
  const std::vector<json::Value> before = additionalConfigMaps(object, documents, nullptr, allocator);
  REQUIRE(before.size() == 1);
  CHECK(namespaceOf(before[0]) == "ns");
  CHECK(json::find(metadataOf(before[0]), "ownerReferences") == nullptr);
  CHECK(isOfRequest(before[0], object));
  const json::Document graph = parsed("{'metadata':{'name':'made','namespace':'ns','uid':'g'}}");
  const std::vector<json::Value> after = additionalConfigMaps(object, documents, &graph, allocator);
  CHECK(isControlledBy(after.at(0), graph));
  const json::Document other = parsed("{'metadata':{'name':'made','namespace':'other','uid':'g'}}");
  CHECK(namespaceOf(additionalConfigMaps(object, documents, &other, allocator).at(0)) == "other");
}

}  // namespace
}  // namespace dynamo::lifecycle
