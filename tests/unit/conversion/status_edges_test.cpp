// States and phases, metadata, and private annotations of this operator and of the reference.

#include <fmt/format.h>

#include "common/k8s/names.h"
#include "tests/unit/conversion/edge_support.h"

namespace dynamo::test {
namespace {

constexpr const char* kSpec =
    R"({"model":"m","backend":"vllm","autoApply":true,"profilingConfig":{"profilerImage":"p"}})";

TEST_CASE("states become phases and return") {
  struct Row {
    const char* status;
    const char* phase;
  };
  const Row rows[] = {
      {R"({"state":"Ready","deployment":{"name":"d","state":"successful","created":true}})", "\"Deployed\""},
      {R"({"state":"Ready","deployment":{"name":"d","state":"successful","created":false}})", "\"Ready\""},
      {R"({"state":"Ready","deployment":{"name":"d","state":"successful"}})", "\"Ready\""},
      {R"({"state":"Ready"})", "\"Ready\""},
      {R"({"state":"Initializing"})", "\"Pending\""},
      {R"({"state":"Pending"})", "\"Pending\""},
      {R"({"state":"Profiling"})", "\"Profiling\""},
      {R"({"state":"Deploying"})", "\"Deploying\""},
      {R"({"state":"DeploymentDeleted"})", "\"Ready\""},
      {R"({"state":"Failed"})", "\"Failed\""},
      {R"({"state":"garbage"})", "\"Pending\""},
      {R"({"state":""})", "\"Pending\""},
      {R"({})", "\"Pending\""},
  };
  for (const Row& row : rows) {
    INFO(row.status);
    CHECK(at(converted(alpha(kSpec, row.status)), "/status/phase") == row.phase);
    checkReturns(alpha(kSpec, row.status));
  }
}

TEST_CASE("phases become states and return") {
  struct Row {
    const char* phase;
    const char* state;
  };
  const Row rows[] = {{"Pending", "\"Pending\""}, {"Profiling", "\"Profiling\""},
                      {"Ready", "\"Ready\""},     {"Deploying", "\"Deploying\""},
                      {"Deployed", "\"Ready\""},  {"Failed", "\"Failed\""},
                      {"garbage", "\"Pending\""}, {"", "\"Pending\""}};
  for (const Row& row : rows) {
    INFO(row.phase);
    const std::string source = beta(R"({"model":"m"})", R"({"phase":")" + std::string{row.phase} + "\"}");
    CHECK(at(converted(source), "/status/state") == row.state);
    checkReturns(source);
  }
  checkReturns(beta(R"({"model":"m"})", "{}"));
}

TEST_CASE("a Deployed request that a v1alpha1 client edits stays Deployed (conv-Q15)") {
  const std::string there = converted(beta(R"({"model":"m"})", R"({"phase":"Deployed","dgdName":"d"})"));
  CHECK(at(converted(edited(there, "/spec/model", "\"n\"")), "/status/phase") == "\"Deployed\"");
  // A state written since then counts, even if it maps to the same phase as the state before.
  CHECK(at(converted(edited(there, "/status/state", "\"Failed\"")), "/status/phase") == "\"Failed\"");
  CHECK(at(converted(edited(there, "/status/state", "\"DeploymentDeleted\"")), "/status/phase") ==
        "\"Ready\"");
}

TEST_CASE("a phase written in v1beta1 overrides the saved state") {
  const std::string there = converted(alpha(kSpec, R"({"state":"DeploymentDeleted"})"));
  CHECK(at(converted(there), "/status/state") == "\"DeploymentDeleted\"");
  CHECK(at(converted(edited(there, "/status", R"({"phase":"Deployed","dgdName":"new"})")), "/status/state") ==
        "\"Ready\"");
}

TEST_CASE("removing a deployment removes the saved fields of it") {
  const std::string there = converted(
      alpha(kSpec, R"({"state":"Deploying","deployment":{"name":"d","state":"pending","created":false}})"));
  CHECK(at(converted(there), "/status/deployment/created") == "false");
  CHECK(at(converted(edited(there, "/status", R"({"phase":"Failed"})")), "/status/deployment") == "(absent)");
}

TEST_CASE("a new object does not take the saved status of the object that it was copied from") {
  const std::string there = converted(
      beta(R"({"model":"m","hardware":{"gpuSku":"l40s"}})",
           R"({"phase":"Profiling","profilingPhase":"SweepingPrefill","profilingJobName":"profile-old"})"));
  const std::string created = converted(removed(there, "/status"));
  CHECK(at(created, "/status") == R"({"phase":"Pending"})");
  CHECK(at(created, "/spec/hardware/gpuSku") == R"("l40s")");
}

TEST_CASE("a status added in one version survives when the other version shows none") {
  const std::string created = converted(alpha(kSpec));
  for (const char* member : {R"("profilingJobName":"j")", R"("profilingPhase":"Initializing")",
                             R"("deploymentInfo":{"replicas":1})"}) {
    INFO(member);
    checkReturns(edited(created, "/status", R"({"phase":"Pending",)" + std::string{member} + "}"));
  }
  const std::string seen = converted(beta(R"({"model":"m"})"));
  for (const char* status : {R"({"state":"Initializing"})", R"({"state":""})",
                             R"({"state":"Pending","deployment":{"namespace":"n","state":"s"}})"}) {
    INFO(status);
    checkReturns(edited(seen, "/status", status));
  }
  // Without a change in between, the status stays absent.
  CHECK(at(converted(created), "/status") == "(absent)");
  CHECK(at(converted(seen), "/status") == "(absent)");
}

TEST_CASE("an unchanged write adds no annotation for fields of the live object") {
  const std::string source =
      beta(R"({"model":"m","backend":"vllm","image":"p","autoApply":true,"searchStrategy":"rapid"})",
           R"({"phase":"Ready","dgdName":"d"})");
  CHECK(at(converted(converted(source)), "/metadata/annotations") == "(absent)");
}

TEST_CASE("null annotations count as absent") {
  const std::string there = converted(
      edited(alpha(R"({"model":"m","profilingConfig":{"profilerImage":"p","nodeSelector":{"a":"b"}}})"),
             "/metadata/annotations", "null"));
  CHECK(at(there, "/metadata/annotations/nvidia.com~1dgdr-v1alpha1-spec") != "(absent)");
}

TEST_CASE("the status of the deployment comes from the live object") {
  const auto note = [](const char* text) {
    return R"({"nvidia.com/dgdr-deployment-status":")" + std::string{text} + "\"}";
  };
  const char* live = R"({"phase":"Deploying","dgdName":"new"})";
  const char* minimal = R"({"name":"new","state":"initializing"})";
  struct Row {
    const char* name;
    std::string source;
    const char* deployment;
  };
  const Row rows[] = {
      {"of the same deployment",
       beta(R"({"model":"m"})", live,
            note(R"({\"name\":\"new\",\"namespace\":\"n\",\"state\":\"successful\",\"created\":true})")),
       R"({"name":"new","namespace":"n","state":"successful","created":true})"},
      {"of an old deployment",
       beta(R"({"model":"m"})", live, note(R"({\"name\":\"old\",\"state\":\"failed\"})")), minimal},
      {"as the reference wrote it without a state",
       beta(R"({"model":"m"})", live, note(R"({\"name\":\"new\",\"state\":\"\"})")), minimal},
      {"names in other case, null members",
       beta(R"({"model":"m"})", live, note(R"({\"NAME\":\"new\",\"State\":\"failed\",\"created\":null})")),
       R"({"name":"new","state":"failed"})"},
      {"not JSON", beta(R"({"model":"m"})", live, note("{")), minimal},
      {"no object", beta(R"({"model":"m"})", live, note("[1]")), minimal},
      {"of other types", beta(R"({"model":"m"})", live, note(R"({\"name\":\"new\",\"created\":\"yes\"})")),
       minimal},
      {"none", beta(R"({"model":"m"})", live), minimal},
      {"no deployment anymore",
       beta(R"({"model":"m"})", R"({"phase":"Ready"})", note(R"({\"name\":\"old\",\"state\":\"failed\"})")),
       "(absent)"},
      {"empty name",
       beta(R"({"model":"m"})", R"({"dgdName":""})", note(R"({\"name\":\"\",\"state\":\"failed\"})")),
       "(absent)"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(at(converted(row.source), "/status/deployment") == row.deployment);
  }
}

TEST_CASE("metadata is kept") {
  const std::string metadata =
      R"({"name":"r","namespace":"ns","uid":"u","generation":3,"labels":{"a":"b"},"finalizers":["f"],)"
      R"("ownerReferences":[{"uid":"o"}],"deletionTimestamp":"2025-01-01T00:00:00Z",)"
      R"("managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{}}}],"annotations":{"mine":"x"}})";
  for (const std::string_view version : {api::kV1alpha1, api::kV1beta1}) {
    const std::string source =
        edited(request(version, R"({"model":"m","backend":"vllm"})"), "/metadata", metadata);
    const std::string there = converted(source);
    for (const char* key : {"name", "namespace", "uid", "generation", "labels", "finalizers",
                            "ownerReferences", "deletionTimestamp", "managedFields"}) {
      INFO(version << " " << key);
      const std::string pointer = "/metadata/" + std::string{key};
      CHECK(at(there, pointer) == at(source, pointer));
    }
    CHECK(at(there, "/metadata/annotations/mine") == "\"x\"");
    checkReturns(source);
  }
}

TEST_CASE("an object with nothing to save gets no annotations") {
  const std::string plain =
      alpha(R"({"model":"m","backend":"vllm","autoApply":true,"profilingConfig":{"profilerImage":"p"}})",
            R"({"state":"Pending"})");
  CHECK(at(converted(plain), "/metadata/annotations") == "(absent)");
  const std::string beta1 =
      beta(R"({"model":"m","backend":"vllm","image":"i","autoApply":true,"searchStrategy":"rapid"})",
           R"({"phase":"Pending"})");
  CHECK(at(converted(beta1), "/metadata/annotations") == "(absent)");
}

TEST_CASE("annotations that the reference wrote are read") {
  const std::string source = beta(
      R"({"model":"m","backend":"vllm","image":"P","autoApply":true,"sla":{"ttft":500}})",
      R"({"phase":"Deployed","dgdName":"d","profilingJobName":"profile-r"})",
      R"({"nvidia.com/dgdr-config-map-ref":"{\"name\":\"base\",\"key\":\"k.yaml\"}",)"
      R"("nvidia.com/dgdr-output-pvc":"pvc",)"
      R"("nvidia.com/dgdr-enable-gpu-discovery":"true",)"
      R"("nvidia.com/dgdr-deployment-overrides":"{\"name\":\"d\",\"namespace\":\"prod\",)"
      R"(\"labels\":{\"a\":\"b\"},\"annotations\":{\"c\":\"e\"}}",)"
      R"("nvidia.com/dgdr-profiling-config":"{\"sla\":{\"ttft\":400,\"itl\":30},\"extra\":{\"a\":[1]}}",)"
      R"("nvidia.com/dgdr-status-backend":"vllm","nvidia.com/dgdr-profiling-results":"configmap/cm",)"
      R"("nvidia.com/dgdr-deployment-status":"{\"name\":\"d\",\"namespace\":\"prod\",)"
      R"(\"state\":\"successful\",\"created\":true}",)"
      R"("mine":"x"})");
  const std::string there = converted(source);
  // Live fields override the saved configuration. Fields that exist only in the annotation are kept.
  CHECK(at(there, "/spec") ==
        R"({"model":"m","backend":"vllm","autoApply":true,"enableGpuDiscovery":true,"profilingConfig":{)"
        R"("config":{"sla":{"ttft":500},"extra":{"a":[1]}},"configMapRef":{"name":"base","key":"k.yaml"},)"
        R"("profilerImage":"P","outputPVC":"pvc"},"deploymentOverrides":{"name":"d","namespace":"prod",)"
        R"("labels":{"a":"b"},"annotations":{"c":"e"}}})");
  CHECK(at(there, "/status") ==
        R"({"state":"Ready","backend":"vllm","profilingResults":"configmap/cm","deployment":{"name":"d",)"
        R"("namespace":"prod","state":"successful","created":true}})");
  // None of them is shown to the v1alpha1 user (conv-Q6).
  CHECK(at(there, "/metadata/annotations/nvidia.com~1dgdr-output-pvc") == "(absent)");
  CHECK(at(there, "/metadata/annotations/mine") == "\"x\"");
  const std::string back = converted(there);
  CHECK(at(back, "/spec") == at(source, "/spec"));
  CHECK(json::equal(object(at(back, "/status")), object(at(source, "/status"))));
  CHECK(at(back, "/metadata/annotations/nvidia.com~1dgdr-output-pvc") == "\"pvc\"");
  const auto ofOverrides = [](const char* text) {
    return beta(R"({"model":"m"})", {},
                R"({"nvidia.com/dgdr-deployment-overrides":")" + std::string{text} + "\"}");
  };
  CHECK(at(converted(ofOverrides(R"({\"name\":\"n\",\"labels\":{\"a\":null}})")),
           "/spec/deploymentOverrides") == R"({"name":"n","labels":{"a":""}})");
  CHECK(at(converted(ofOverrides(R"({\"name\":\"n\",\"labels\":{\"a\":5}})")), "/spec/deploymentOverrides") ==
        "(absent)");
  CHECK(at(converted(beta(R"({"model":"m"})", {}, R"({"nvidia.com/dgdr-config-map-ref":"{}"})")),
           "/spec/profilingConfig/configMapRef") == R"({"name":""})");
  // The reference's only key on v1alpha1 objects.
  CHECK(at(converted(alpha(kSpec, R"({"state":"Profiling"})",
                           R"({"nvidia.com/dgdr-profiling-job-name":"profile-r"})")),
           "/status/profilingJobName") == "\"profile-r\"");
}

TEST_CASE("tampered private annotations are ignored") {
  const std::string clean = at(converted(beta(R"({"model":"m"})", R"({"phase":"Ready"})")), "/spec");
  const char* const texts[] = {
      "",
      "garbage",
      "{",
      "null",
      "[]",
      "7",
      R"({\"v\":2,\"fields\":[{\"path\":\"/spec/model\",\"value\":\"evil\"}]})",
      R"({\"v\":1})",
      R"({\"v\":1,\"fields\":{}})",
      R"({\"v\":1,\"fields\":[null,7,\"x\",[],{}]})",
      R"({\"v\":1,\"fields\":[{\"path\":\"/metadata/name\",\"value\":\"evil\"}]})",
      R"({\"v\":1,\"fields\":[{\"path\":\"/kind\",\"value\":\"evil\"}]})",
      R"({\"v\":1,\"fields\":[{\"path\":7,\"value\":\"evil\"}]})",
      R"({\"v\":1,\"fields\":[{\"path\":\"/spec/model/deeper/x\",\"value\":1}]})",
      R"({\"v\":1,\"fields\":[{\"path\":\"/spec/model\",\"value\":\"evil\",\"while\":\"other\"}]})",
      (R"({\"v\":1,\"fields\":[{\"path\":\"/spec/model\",\"value\":\"evil\",\"while\":\"x\",)"
       R"(\"at\":\"nowhere\"}]})"),
      R"({\"v\":1,\"v\":1,\"fields\":[{\"path\":\"/spec/model\",\"value\":\"evil\"}]})",
      R"({\"v\":1.0,\"fields\":[{\"path\":\"/spec/model\",\"value\":\"evil\"}]})",
      R"({\"v\":1,\"fields\":[{\"path\":\"/specmodel\",\"value\":\"evil\"}]})",
      R"({\"v\":1,\"fields\":[{\"path\":\"/spec\",\"value\":\"evil\"}]})",
      R"({\"v\":1,\"fields\":[{\"path\":\"/spec\"}]})",
      R"({\"v\":1,\"fields\":[{\"path\":\"/spec/profilingConfig/config\",\"value\":false}]})",
  };
  for (const char* text : texts) {
    for (const char* key : {"nvidia.com/dgdr-v1alpha1-spec", "nvidia.com/dgdr-v1alpha1-status"}) {
      INFO(key << " " << text);
      const std::string source =
          beta(R"({"model":"m"})", R"({"phase":"Ready"})", "{\"" + std::string{key} + "\":\"" + text + "\"}");
      const std::string there = converted(source);
      CHECK(at(there, "/spec") == clean);
      CHECK(at(there, "/metadata/name") == "\"r\"");
      CHECK(at(there, "/kind") == "\"DynamoGraphDeploymentRequest\"");
      CHECK(at(there, "/status/state") == "\"Ready\"");
    }
  }
}

TEST_CASE("tampered private annotations are ignored in the conversion to v1beta1") {
  const char* const fields[] = {R"({\"path\":\"/spec\"})", R"({\"path\":\"/spec\",\"value\":7})",
                                R"({\"path\":\"/status\",\"value\":[1]})"};
  for (const char* field : fields) {
    for (const char* config : {"null", "{}", R"({"a":1})", R"({"sla":{"ttft":1}})"}) {
      INFO(field << " " << config);
      const std::string source =
          alpha(R"({"model":"m","backend":"vllm","autoApply":true,"profilingConfig":{"profilerImage":"p",)"
                R"("config":)" +
                    std::string{config} + "}}",
                R"({"state":"Ready"})",
                R"({"nvidia.com/dgdr-v1beta1-spec":"{\"v\":1,\"fields\":[)" + std::string{field} + R"(]}"})");
      std::string there;
      CHECK_NOTHROW(there = converted(source));
      if (there.empty()) continue;
      CHECK(at(there, "/spec/model") == "\"m\"");
      CHECK(at(there, "/status/phase") == "\"Ready\"");
    }
  }
}

TEST_CASE("an annotation cannot override a field of the live object (L10)") {
  struct Row {
    const char* field;
    const char* pointer;
    const char* live;
  };
  const Row toBeta[] = {
      {R"({"path":"/status/phase","value":"Pending"})", "/status/phase", R"("Ready")"},
      {R"({"path":"/status/phase","value":"Pending","while":"Ready"})", "/status/phase", R"("Ready")"},
      {R"({"path":"/status/phase","value":"Deployed"})", "/status/phase", R"("Ready")"},
      // The form that conversion writes, with an unchanged state.
      {R"({"path":"/status/phase","value":"Deployed","while":"Ready"})", "/status/phase", R"("Deployed")"},
      {R"({"path":"/spec/model","value":"evil"})", "/spec/model", R"("m")"},
      {R"({"path":"/spec/model","value":"evil","while":"m"})", "/spec/model", R"("m")"},
      {R"({"path":"/spec/model","value":5,"while":"m"})", "/spec/model", R"("m")"},
      {R"({"path":"/spec/model","while":"m"})", "/spec/model", R"("m")"},
      {R"({"path":"/spec/backend","value":"trtllm","while":"vllm","at":"/spec/backend"})", "/spec/backend",
       R"("vllm")"},
      {R"({"path":"/spec/sla","value":{"ttft":9}})", "/spec/sla/ttft", "1.0"},
      {R"({"path":"/spec/sla","value":{"ttft":9},"while":{"ttft":1.0}})", "/spec/sla/ttft", "1.0"},
      {R"({"path":"/spec/sla/ttft/x","value":9,"while":null})", "/spec/sla/ttft", "1.0"},
      // Fields that exist only in v1beta1 are restored from the annotation.
      {R"({"path":"/spec/searchStrategy","value":"thorough"})", "/spec/searchStrategy", R"("thorough")"},
  };
  for (const Row& row : toBeta) {
    for (const char* key : {"nvidia.com/dgdr-v1beta1-spec", "nvidia.com/dgdr-v1beta1-status"}) {
      if (std::string_view{row.field}.find(std::string_view{key}.ends_with("spec") ? "/spec" : "/status") ==
          std::string_view::npos)
        continue;
      INFO(row.field);
      json::Document source = object(
          alpha(R"({"model":"m","backend":"vllm","autoApply":true,"profilingConfig":{"profilerImage":"p",)"
                R"("config":{"sla":{"ttft":1.0}}}})",
                R"({"state":"Ready"})", R"({"a":"b"})"));
      const std::string text = R"({"v":1,"fields":[)" + std::string{row.field} + "]}";
      json::set(*json::find(*json::find(source, "metadata"), "annotations"), key,
                json::string(text, source.GetAllocator()), source.GetAllocator());
      CHECK(at(converted(json::dump(source)), row.pointer) == row.live);
    }
  }
  const Row toAlpha[] = {
      {R"({"path":"/spec/model","value":"evil","while":"m"})", "/spec/model", R"("m")"},
      {R"({"path":"/spec/autoApply","value":false,"while":true})", "/spec/autoApply", "true"},
      {R"({"path":"/spec/profilingConfig/profilerImage","value":"evil","while":"p"})",
       "/spec/profilingConfig/profilerImage", R"("p")"},
  };
  for (const Row& row : toAlpha) {
    INFO(row.field);
    json::Document source = object(beta(R"({"model":"m","image":"p","autoApply":true})", {}, R"({"a":"b"})"));
    const std::string text = R"({"v":1,"fields":[)" + std::string{row.field} + "]}";
    json::set(*json::find(*json::find(source, "metadata"), "annotations"), "nvidia.com/dgdr-v1alpha1-spec",
              json::string(text, source.GetAllocator()), source.GetAllocator());
    CHECK(at(converted(json::dump(source)), row.pointer) == row.live);
  }
}

TEST_CASE("a stale entry does not invalidate other entries") {
  const std::string there =
      converted(alpha(R"({"model":"m","profilingConfig":{"profilerImage":"i","resources":{}}})",
                      R"({"state":"DeploymentDeleted"})"));
  const std::string edit = edited(there, "/spec/overrides/profilingJob/template/spec/containers",
                                  R"([{"name":"profiler","image":"x"}])");
  CHECK(at(converted(edit), "/status/state") == R"("DeploymentDeleted")");
}

TEST_CASE("an edit in v1alpha1 of a v1beta1 object without a spec") {
  const std::string there = converted(
      R"({"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest","metadata":{"name":"r"}})");
  const std::string now = edited(there, "/spec/profilingConfig/config", R"({"a":1})");
  std::string back;
  CHECK_NOTHROW(back = converted(now));
  CHECK(at(back.empty() ? "{}" : back, "/metadata/annotations/nvidia.com~1dgdr-profiling-config") ==
        R"("{\"a\":1}")");
}

TEST_CASE("a large list index in an annotation is ignored") {
  // Padding the list up to the index would exhaust memory.
  const std::string source = alpha(
      kSpec, {},
      R"({"nvidia.com/dgdr-v1beta1-spec":"{\"v\":1,\"fields\":[{\"path\":)"
      R"(\"/spec/overrides/profilingJob/template/spec/containers/3000000\",\"value\":{\"name\":\"x\"}}]}"})");
  const std::string there = converted(source);
  CHECK(there.size() < 10'000);
}

std::size_t annotationBytes(const std::string& text) {
  const json::Document document = object(text);
  const json::Value* notes = json::find(json::find(document, "metadata"), "annotations");
  std::size_t size = 0;
  if (notes == nullptr) return size;
  for (const auto& note : notes->GetObject())
    size += json::text(note.name).size() + json::text(note.value).size();
  return size;
}

TEST_CASE("annotations stay within 256 KiB, and entries are dropped if necessary (conv-Q17)") {
  const std::string blob(200UL * 1024, 'b');
  for (const std::size_t users : {0UL, 50UL * 1024, 100UL * 1024, 262'144UL - 4, 262'144UL - 5}) {
    INFO(users);
    const std::string notes = R"({"mine":")" + std::string(users, 'u') + "\"}";
    const std::string sources[] = {
        alpha(R"({"model":"m","backend":"vllm","autoApply":true,)"
              R"("profilingConfig":{"profilerImage":"p","config":{"blob":")" +
                  blob + R"(","sla":{"ttft":5}}}})",
              R"({"state":"Initializing"})", notes),
        beta(R"({"model":"m","hardware":{"gpuSku":"l40s"},"overrides":{"dgd":{"blob":")" + blob + R"("}}})",
             R"({"phase":"Deployed","dgdName":"d","profilingResults":{"pareto":[{"config":{"blob":")" + blob +
                 R"("}}]}})",
             notes)};
    for (const std::string& source : sources) {
      const std::string there = converted(source);
      REQUIRE_FALSE(there.starts_with("error: "));
      CHECK(annotationBytes(there) <= k8s::kMaxAnnotationBytes);
      CHECK(at(there, "/metadata/annotations/mine").size() == users + 2);
      CHECK(at(there, "/spec/model") == "\"m\"");
      const std::string back = converted(there);
      CHECK(annotationBytes(back) <= k8s::kMaxAnnotationBytes);
      CHECK(at(back, "/spec/model") == "\"m\"");
    }
  }
  // Results that can be recomputed are dropped first. The state of the object stays.
  const std::string there = converted(
      beta(R"({"model":"m","hardware":{"gpuSku":"l40s"},"overrides":{"dgd":{"blob":")" + blob + R"("}}})",
           R"({"phase":"Deployed","profilingResults":{"pareto":[{"config":{"blob":")" + blob + R"("}}]}})"));
  const std::string back = converted(there);
  CHECK(at(back, "/status/phase") == "\"Deployed\"");
  CHECK(at(back, "/spec/hardware/gpuSku") == "\"l40s\"");
  CHECK(at(back, "/spec/overrides/dgd/blob").size() == blob.size() + 2);
  CHECK(at(back, "/status/profilingResults/pareto") == "(absent)");
}

TEST_CASE("as few entries as possible are dropped, the largest first") {
  const std::string large(500, 'x');
  std::string containers;
  for (int i = 0; i < 20'000; ++i) {
    containers +=
        fmt::format(R"({}{{"name":"c{}","image":"{}"}})", i == 0 ? "" : ",", i, i == 7 ? large : "i");
  }
  const std::string there =
      converted(beta(R"({"model":"m","overrides":{"profilingJob":{"template":{"spec":{"containers":[)" +
                     containers + "]}}}}}"));
  constexpr std::size_t kUsual = 150;  // bytes of a container with its path
  CHECK(annotationBytes(there) <= k8s::kMaxAnnotationBytes);
  CHECK(annotationBytes(there) > k8s::kMaxAnnotationBytes - kUsual);
  CHECK(there.find(large) == std::string::npos);
}

}  // namespace
}  // namespace dynamo::test
