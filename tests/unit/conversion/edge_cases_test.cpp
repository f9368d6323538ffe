// Edge cases of conversion: empty, absent and unusual values.

#include <vector>

#include "tests/unit/conversion/edge_support.h"

namespace dynamo::test {
namespace {

/// A source and the expected value at `pointer` in the other version.
struct Row {
  const char* name;
  std::string source;
  const char* pointer;
  const char* expected;
  bool returns = true;  ///< whether the round trip is lossless
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.name << "\n" << row.source);
    CHECK(at(converted(row.source), row.pointer) == row.expected);
    if (row.returns) checkReturns(row.source);
  }
}

TEST_CASE("the whole v1alpha1 object") {
  const std::string source = alpha(
      R"({"model":"m","backend":"vllm","autoApply":true,"useMocker":true,"enableGpuDiscovery":true,)"
      R"("profilingConfig":{"profilerImage":"P","outputPVC":"pvc","configMapRef":{"name":"base-config",)"
      R"("key":"disagg.yaml"},"config":{"sla":{"ttft":500,"itl":20,"isl":2048,"osl":512},)"
      R"("deployment":{"modelCache":{"pvcName":"model-pvc","modelPathInPvc":"llama-3",)"
      R"("pvcMountPath":"/data/model"}},)"
      R"("planner":{"enable_load_scaling":false},"extra_key":"x"}},)"
      R"("deploymentOverrides":{"name":"my-dgd","namespace":"prod","labels":{"team":"ml"}}})",
      R"({"state":"Profiling","backend":"vllm","observedGeneration":3,)"
      R"("profilingResults":"configmap/profiling-cm",)"
      R"("deployment":{"name":"my-dgd","namespace":"prod","state":"initializing","created":true}})");
  const std::string there = converted(source);
  CHECK(at(there, "/spec") ==
        R"({"model":"m","backend":"vllm","image":"P","autoApply":true,"features":{"mocker":{"enabled":true},)"
        R"("planner":{"enable_load_scaling":false}},"sla":{"ttft":500,"itl":20},)"
        R"("workload":{"isl":2048,"osl":512},)"
        R"("modelCache":{"pvcName":"model-pvc","pvcModelPath":"llama-3","pvcMountPath":"/data/model"},)"
        R"("searchStrategy":"rapid"})");
  CHECK(at(there, "/status") == R"({"phase":"Profiling","observedGeneration":3,"dgdName":"my-dgd"})");
  const std::string notes = "/metadata/annotations/nvidia.com~1dgdr-";
  CHECK(at(there, notes + "output-pvc") == R"("pvc")");
  CHECK(at(there, notes + "config-map-ref") == R"("{\"name\":\"base-config\",\"key\":\"disagg.yaml\"}")");
  CHECK(at(there, notes + "enable-gpu-discovery") == R"("true")");
  CHECK(at(there, notes + "deployment-overrides") ==
        R"("{\"name\":\"my-dgd\",\"namespace\":\"prod\",\"labels\":{\"team\":\"ml\"}}")");
  CHECK(at(there, notes + "status-backend") == R"("vllm")");
  CHECK(at(there, notes + "profiling-results") == R"("configmap/profiling-cm")");
  CHECK(at(there, notes + "deployment-status") ==
        R"("{\"name\":\"my-dgd\",\"namespace\":\"prod\",\"state\":\"initializing\",\"created\":true}")");
  checkReturns(source);
}

TEST_CASE("the whole v1beta1 object") {
  const std::string source = beta(
      R"({"model":"m","backend":"vllm","image":"i:1","autoApply":false,"sla":{"ttft":500.5,"itl":20},)"
      R"("workload":{"isl":2048,"osl":512,"requestRate":5},"modelCache":{"pvcName":"p","pvcModelPath":"x",)"
      R"("pvcMountPath":"/m"},"features":{"mocker":{"enabled":true},"planner":{"a":[1,null]}},)"
      R"("hardware":{"gpuSku":"h100_sxm"},"searchStrategy":"thorough"})",
      R"({"phase":"Deployed","dgdName":"hub-dgd","profilingJobName":"profile-r","observedGeneration":2,)"
      R"("profilingResults":{"selectedConfig":{"kind":"DynamoGraphDeployment"},"pareto":[{"config":{}}]}})");
  CHECK(at(converted(source), "/status/state") == R"("Ready")");
  CHECK(at(converted(source), "/metadata/annotations/nvidia.com~1dgdr-profiling-job-name") == "(absent)");
  checkReturns(source);
}

TEST_CASE("profiler configurations") {
  check({
      // The value is kept and the schema rejects it. A failed conversion would be an internal error instead.
      {"a list", withConfig("[1]"), "/metadata/annotations/nvidia.com~1dgdr-profiling-config", "(absent)"},
      {"a text", withConfig(R"("sla: {}")"), "/spec/sla", "(absent)"},
      {"a number", withConfig("7"), "/spec/sla", "(absent)"},
      {"empty", withConfig("{}"), "/metadata/annotations/nvidia.com~1dgdr-profiling-config", R"("{}")"},
      {"empty sla", withConfig(R"({"sla":{}})"), "/spec/sla", "{}"},
      {"empty sla has no workload", withConfig(R"({"sla":{}})"), "/spec/workload", "(absent)"},
      {"sla a text", withConfig(R"({"sla":"x"})"), "/spec/sla", "(absent)"},
      {"ttft a text", withConfig(R"({"sla":{"ttft":"500"}})"), "/spec/sla", "{}"},
      {"isl 3000.7", withConfig(R"({"sla":{"isl":3000.7}})"), "/spec/workload", "(absent)"},
      {"isl 3e10", withConfig(R"({"sla":{"isl":3e10}})"), "/spec/workload", "(absent)"},
      {"isl -1", withConfig(R"({"sla":{"isl":-1}})"), "/spec/workload/isl", "-1"},
      {"isl 3000.0", withConfig(R"({"sla":{"isl":3000.0}})"), "/spec/workload/isl", "3000"},
      {"planner empty", withConfig(R"({"planner":{}})"), "/spec/features", "(absent)"},
      {"planner a list", withConfig(R"({"planner":[1]})"), "/spec/features", "(absent)"},
      {"a big integer", withConfig(R"({"n":9007199254740993})"),
       "/metadata/annotations/nvidia.com~1dgdr-profiling-config", R"("{\"n\":9007199254740993}")"},
      {"special characters", withConfig(R"({"n":"<&>\u2028"})"), "/spec/model", R"("m")"},
      {"old spellings",
       withConfig(R"({"deployment":{"modelCache":{"pvcName":"p","pvcPath":"x","mountPath":"/m"}}})"),
       "/spec/modelCache", R"({"pvcName":"p","pvcModelPath":"x","pvcMountPath":"/m"})"},
      {"an unknown key", withConfig(R"({"extra_key":{"a":[1]}})"),
       "/metadata/annotations/nvidia.com~1dgdr-profiling-config", R"("{\"extra_key\":{\"a\":[1]}}")"},
  });
}

TEST_CASE("v1beta1 fields replace a configuration of another type") {
  const std::string there = edited(converted(withConfig(R"("sla: {}")")), "/spec/sla", R"({"ttft":7})");
  CHECK(at(converted(there), "/spec/profilingConfig/config") == R"({"sla":{"ttft":7}})");
}

TEST_CASE("a field set in v1beta1 replaces a value of the wrong type in the configuration") {
  std::string there = converted(withConfig(R"({"sla":"x"})"));
  there = edited(there, "/spec/sla", R"({"ttft":7})");
  CHECK(at(converted(there), "/spec/profilingConfig/config") == R"({"sla":{"ttft":7}})");
}

TEST_CASE("a field removed in v1beta1 is removed from the v1alpha1 configuration") {
  const std::string there = converted(withConfig(R"({"sla":{"ttft":500,"extra":1},"other":2})"));
  CHECK(at(converted(removed(there, "/spec/sla")), "/spec/profilingConfig/config") ==
        R"({"sla":{"extra":1},"other":2})");
}

TEST_CASE("an old spelling stays while its value is unchanged (conv-Q8)") {
  const std::string there = converted(
      withConfig(R"({"deployment":{"modelCache":{"pvcName":"p","pvcPath":"x","mountPath":"/m"}}})"));
  CHECK(at(converted(edited(there, "/spec/modelCache/pvcModelPath", R"("y")")),
           "/spec/profilingConfig/config/deployment/modelCache") ==
        R"({"pvcName":"p","mountPath":"/m","modelPathInPvc":"y"})");
}

TEST_CASE("token counts cleared in v1alpha1 stay cleared when the workload has other fields") {
  const std::string there =
      converted(beta(R"({"model":"m","workload":{"isl":4000,"osl":1000,"requestRate":5}})"));
  const std::string back = converted(removed(there, "/spec/profilingConfig/config"));
  // The next read would add the schema defaults, so they are stored. v1alpha1 does not show them.
  CHECK(
      json::equal(object(at(back, "/spec/workload")), object(R"({"isl":4000,"osl":1000,"requestRate":5})")));
  CHECK(at(converted(back), "/spec/profilingConfig/config") == "(absent)");
  checkReturns(beta(R"({"model":"m","workload":{"requestRate":5}})"));
}

TEST_CASE("a group cleared in v1alpha1 does not come back") {
  const std::string there = converted(beta(
      R"({"model":"m","modelCache":{"pvcName":"","pvcModelPath":"x","pvcMountPath":"/m"},"sla":{"ttft":1}})"));
  CHECK(at(converted(there), "/spec/modelCache/pvcName") == R"("")");
  CHECK(at(converted(removed(there, "/spec/profilingConfig/config/deployment")), "/spec/modelCache") ==
        "(absent)");
}

TEST_CASE("a pod in v1beta1 always has a list of containers (b1-Q5)") {
  const auto pod = [](std::string_view spec) {
    return beta(R"({"model":"m","overrides":{"profilingJob":{"template":{"spec":)" + std::string{spec} +
                "}}}}");
  };
  struct Case {
    const char* spec;
    const char* removed;
    const char* expected;
  };
  const Case cases[] = {
      {R"({"containers":[],"nodeSelector":{"a":"b"},"tolerations":[{"key":"k"}]})",
       "/spec/profilingConfig/tolerations", R"({"containers":[],"nodeSelector":{"a":"b"}})"},
      {R"({"containers":[{"name":"","resources":{"limits":{"cpu":"1"}}}],"nodeSelector":{"a":"b"}})",
       "/spec/profilingConfig/resources", R"({"containers":[],"nodeSelector":{"a":"b"}})"},
      // The form that the reference writes.
      {R"({"tolerations":[{"key":"k"}]})", "/spec/none", R"({"containers":[],"tolerations":[{"key":"k"}]})"},
  };
  for (const Case& row : cases) {
    INFO(row.spec);
    CHECK(at(converted(removed(converted(pod(row.spec)), row.removed)),
             "/spec/overrides/profilingJob/template/spec") == row.expected);
  }
}

TEST_CASE("images (conv-Q3)") {
  const auto images = [](std::string_view profiler, std::string_view workers) {
    return alpha(R"({"model":"m","backend":"vllm","autoApply":true,"profilingConfig":{"profilerImage":")" +
                 std::string{profiler} + R"("},"deploymentOverrides":{"workersImage":")" +
                 std::string{workers} + R"("}})");
  };
  check({{"workers alone", images("", "W"), "/spec/image", R"("W")"},
         {"both", images("P", "W"), "/spec/image", R"("P")"}});
  check({{"v1beta1 without an image", beta(R"({"model":"m"})"), "/spec/profilingConfig/profilerImage",
          R"("")"}});
}

TEST_CASE("GPU discovery") {
  const auto with = [](const char* value, std::string_view notes = {}) {
    return alpha(R"({"model":"m","backend":"vllm","autoApply":true,"enableGpuDiscovery":)" +
                     std::string{value} + R"(,"profilingConfig":{"profilerImage":"p"}})",
                 {}, notes);
  };
  constexpr const char* kNote = "/metadata/annotations/nvidia.com~1dgdr-enable-gpu-discovery";
  check({{"true", with("true"), kNote, R"("true")"},
         {"false", with("false"), kNote, "(absent)"},
         {"false, stale annotation", with("false", R"({"nvidia.com/dgdr-enable-gpu-discovery":"true"})"),
          kNote, "(absent)", false}});
  for (const char* value : {"True", "1", "", "yes"}) {
    INFO(value);
    CHECK(at(converted(beta(R"({"model":"m"})", {},
                            R"({"nvidia.com/dgdr-enable-gpu-discovery":")" + std::string{value} + "\"}")),
             "/spec/enableGpuDiscovery") == "(absent)");
  }
}

TEST_CASE("the profiling Job") {
  const auto profiling = [](std::string_view members) {
    return alpha(R"({"model":"m","backend":"vllm","autoApply":true,"profilingConfig":{"profilerImage":"p",)" +
                 std::string{members} + "}}");
  };
  const auto pod = [](std::string_view spec) {
    return beta(R"({"model":"m","overrides":{"profilingJob":{"template":{"spec":)" + std::string{spec} +
                "}}}}");
  };
  constexpr const char* kPod = "/spec/overrides/profilingJob/template/spec";
  check({
      {"tolerations alone", profiling(R"("tolerations":[{"key":"k"}])"), kPod,
       R"({"containers":[],"tolerations":[{"key":"k"}]})"},
      {"claims alone", profiling(R"("resources":{"claims":[{"name":"c"}]})"), kPod,
       R"({"containers":[{"name":"","resources":{"claims":[{"name":"c"}]}}]})"},
      {"empty resources", profiling(R"("resources":{})"), "/spec/model", R"("m")"},
      {"cpu 1000m", profiling(R"("resources":{"limits":{"cpu":"1000m"}})"),
       "/spec/overrides/profilingJob/template/spec/containers/0/resources/limits/cpu", R"("1000m")"},
      {"node selector", profiling(R"("nodeSelector":{"a":"b"})"), "/spec/overrides", "(absent)"},
      {"two containers",
       pod(R"({"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}},{"name":"b"}]})"),
       "/spec/profilingConfig/resources", R"({"limits":{"cpu":"1"}})"},
      {"an empty container", pod(R"({"containers":[{}]})"), "/spec/profilingConfig/resources", "(absent)"},
      {"no containers", pod(R"({"containers":[]})"), "/spec/profilingConfig/resources", "(absent)"},
      {"more of the pod", pod(R"({"containers":[],"nodeName":"n","tolerations":[{"key":"k"}]})"),
       "/spec/profilingConfig/tolerations", R"([{"key":"k"}])"},
  });
}

TEST_CASE("fields that v1alpha1 does not have") {
  const auto spec = [](std::string_view members) {
    return beta(R"({"model":"m",)" + std::string{members} + "}");
  };
  constexpr const char* kConfig = "/spec/profilingConfig/config";
  check({
      {"autoApply absent", beta(R"({"model":"m"})"), "/spec/autoApply", "true"},
      {"planner {}", spec(R"("features":{"planner":{}})"), "/spec/model", R"("m")"},
      {"features {}", spec(R"("features":{})"), "/spec/model", R"("m")"},
      {"mocker {}", spec(R"("features":{"mocker":{}})"), "/spec/useMocker", "(absent)"},
      {"modelCache {}", spec(R"("modelCache":{})"), "/spec/model", R"("m")"},
      {"e2eLatency alone", spec(R"("sla":{"e2eLatency":900})"), kConfig, R"({"sla":{}})"},
      {"requestRate with defaults", spec(R"("workload":{"requestRate":5,"isl":4000,"osl":1000})"), kConfig,
       R"({"sla":{"isl":4000,"osl":1000}})"},
      {"hardware", spec(R"("hardware":{"gpuSku":"l40s","vramMb":1.5})"), kConfig, "(absent)"},
      {"overrides.dgd", spec(R"("overrides":{"dgd":{"kind":"x","n":null}})"), "/spec/model", R"("m")"},
  });
  const std::string thorough = converted(spec(R"("searchStrategy":"thorough","backend":"vllm")"));
  const std::string back = converted(edited(thorough, "/spec/model", R"("n")"));
  CHECK(at(back, "/spec/searchStrategy") == R"("thorough")");
  CHECK(at(back, "/spec/model") == R"("n")");
}

TEST_CASE("objects stored by older releases") {
  const std::string stored = request(
      api::kV1alpha1, "{}", R"({"state":"Ready","deployment":{"name":"d","state":"Ready","created":true}})");
  const std::string there = converted(stored);
  CHECK(at(there, "/spec") == R"({"model":"","autoApply":false,"backend":"auto","searchStrategy":"rapid"})");
  CHECK(at(there, "/status") == R"({"phase":"Deployed","dgdName":"d"})");
  checkReturns(stored);
  checkReturns(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest",)"
               R"("metadata":{"name":"r"}})");
  checkReturns(
      R"({"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest","metadata":{"name":"r"}})");
}

}  // namespace
}  // namespace dynamo::test
