// DynamoGraphDeploymentRequests that the profiling Job or the profiler would reject.

#include "common/admission/dgdr.h"

#include "common/conversion/dgdr.h"
#include "request_support.h"

namespace dynamo::admission {
namespace {

using namespace test;

TEST_CASE("white space and invisible characters") {
  const std::string around = "must not have leading or trailing whitespace\n";
  const std::string mount = R"("modelCache":{"pvcName":"c","pvcMountPath":)";
  check({
      {"image with a line break at its end", with(R"("image":"profiler:1\n")"),
       "E dgdr-image-space spec.image: Invalid value: \"profiler:1 \": " + around},
      {"image with a leading space", with(R"("image":" profiler:1")"),
       "E dgdr-image-space spec.image: Invalid value: \" profiler:1\": " + around},
      {"image with a control character", with(R"("image":"profiler:\u0001")"),
       "W dgdr-image spec.image: contains a control character\n"},
      {"image with an en dash", with(R"("image":"profiler\u2013x:1")"),
       "W dgdr-image spec.image: contains characters other than ASCII, which no registry allows\n"},
      {"image with a no-break space", with(R"("image":"profiler:1\u00a0")"),
       "W dgdr-image spec.image: contains a space that is not ASCII\n"},
      {"model with a line break", dgdr(R"({"model":"Qwen/Qwen3\n"})"),
       "W dgdr-model-space spec.model: contains a line break\n"},
      {"model with a space inside", dgdr(R"({"model":"Qwen/Qwen 3"})"),
       "W dgdr-model-space spec.model: contains whitespace\n"},
      {"model with a zero-width space", dgdr(R"({"model":"Qwen\u200b/Qwen3"})"),
       "W dgdr-model-space spec.model: contains a space that is not ASCII\n"},
      {"mount path", with(mount + R"("/models\n"})"),
       "W dgdr-model-cache-odd spec.modelCache.pvcMountPath: contains a line break\n"},
      {"mount path with a space inside", with(mount + R"("/my models"})"), ""},
  });
}

TEST_CASE("the ConfigMap of a v1alpha1 request") {
  const std::string at = "metadata.annotations[nvidia.com/dgdr-config-map-ref]";
  const auto ref = [](std::string_view members) {
    return annotated("config-map-ref", fmt::format("{{{}}}", members));
  };
  check({
      {"good", ref(R"(\"name\":\"base\",\"key\":\"disagg.yaml\")"), ""},
      {"name", ref(R"(\"name\":\"Base\")"),
       "E dgdr-config-map " + at + ".name: Invalid value: \"Base\": " + kName},
      {"no name", ref(""), "E dgdr-config-map " + at + ".name: Required value: must name a ConfigMap\n"},
      {"no JSON", annotated("config-map-ref", "x"), ""},
  });
  CHECK(findingsOf(ref(R"(\"name\":\"a\",\"key\":\"../x\")"))
            .starts_with("E dgdr-config-map " + at + ".key: Invalid value: \"../x\""));
  CHECK(findingsOf(ref(R"(\"name\":\"Base\")"), {}, "v1alpha1")
            .starts_with("E dgdr-config-map spec.profilingConfig.configMapRef.name: "));
}

TEST_CASE("image, model cache, traffic and targets") {
  check({
      {"image", with(R"("image":"profiler: 1")"), "W dgdr-image spec.image: contains whitespace\n"},
      {"good image", with(R"("image":"profiler:1")"), ""},
      {"claim", with(R"("modelCache":{"pvcName":"Models","pvcMountPath":"/m"})"),
       "E dgdr-model-cache spec.modelCache.pvcName: Invalid value: \"Models\": " + kName},
      {"a path without a claim", with(R"("modelCache":{"pvcMountPath":"/m"})"),
       "W dgdr-model-cache-odd spec.modelCache: has no effect without pvcName\n"},
      {"the default path without a claim", with(R"("modelCache":{"pvcMountPath":"/opt/model-cache"})"), ""},
      {"invalid paths", with(R"("modelCache":{"pvcName":"c","pvcMountPath":"m:n","pvcModelPath":"../x"})"),
       "W dgdr-model-cache-odd spec.modelCache.pvcMountPath: is not an absolute path\n"
       "W dgdr-model-cache-odd spec.modelCache.pvcMountPath: contains ':', which container runtimes refuse\n"
       "W dgdr-model-cache-odd spec.modelCache.pvcModelPath: leads outside the claim\n"},
      {"an absolute model path", with(R"("modelCache":{"pvcName":"c","pvcModelPath":"/x"})"),
       "W dgdr-model-cache-odd spec.modelCache.pvcModelPath: should be relative because it is a path inside "
       "the claim\n"},
      {"two kinds of traffic", with(R"("workload":{"concurrency":1,"requestRate":2})"),
       "W dgdr-workload-once spec.workload.requestRate: is set together with concurrency: the profiler uses "
       "only one of them\n"},
      {"one of two targets", with(R"("sla":{"ttft":100})"),
       "W dgdr-sla-complete spec.sla.itl: should be set: the profiler needs it together with ttft\n"},
      {"both targets", with(R"("sla":{"ttft":100,"itl":10})"), ""},
      {"an unused target", with(R"("sla":{"e2eLatency":1000,"itl":1})"),
       "W dgdr-sla-complete spec.sla.itl: has no effect when e2eLatency is set\n"},
  });
}

TEST_CASE("findings for v1alpha1 clients have v1alpha1 field paths") {
  const auto alpha = [](const std::string& text) { return findingsOf(text, {}, "v1alpha1"); };
  const std::string bad = R"({\"name\":\"My_Graph\",\"labels\":{\"a b\":\"c\"}})";
  CHECK(alpha(job(R"(,"tolerations":[{"key":"a","operator":"In"}])")) ==
        "E pod.toleration spec.profilingConfig.tolerations[0].operator: Unsupported value: \"In\": supported "
        "values: \"Equal\", \"Exists\"\n");
  CHECK(alpha(with(R"("image":"a b")")) ==
        "W dgdr-image spec.profilingConfig.profilerImage: contains whitespace\n");
  CHECK(
      alpha(with(R"("sla":{"ttft":-1,"itl":1})")) ==
      "W dgdr-positive-numbers spec.profilingConfig.config.sla.ttft: should be greater than 0, but is -1\n");
  CHECK(alpha(annotated("output-pvc", "Out")) ==
        "E dgdr-output-claim spec.profilingConfig.outputPVC: Invalid value: \"Out\": " + kName);
  CHECK(findingsOf(annotated("output-pvc", "Out")) ==
        "E dgdr-output-claim metadata.annotations[nvidia.com/dgdr-output-pvc]: Invalid value: \"Out\": " +
            kName);
  CHECK(alpha(annotated("deployment-overrides", bad)) ==
        "E dgdr-overrides-metadata spec.deploymentOverrides.labels[a b]: Invalid value: \"a b\": name part "
        "must "
        "consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit\n"
        "E dgdr-overrides-metadata spec.deploymentOverrides.name: Invalid value: \"My_Graph\": " +
            kName);
  CHECK(alpha(annotated("deployment-overrides", "no JSON")).empty());
  const auto written = [&](std::string_view spec) {
    const json::Document from = object(fmt::format(
        R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest","metadata":{{"name":"r"}},)"
        R"("spec":{{"model":"m","backend":"vllm",{}}}}})",
        spec));
    json::Document beta;
    REQUIRE(!conversion::convertDgdr(from, "nvidia.com/v1beta1", beta, beta.GetAllocator()));
    return alpha(json::dump(beta));
  };
  const auto cache = [&](std::string_view members) {
    return written(
        fmt::format(R"("profilingConfig":{{"profilerImage":"i","config":{{"deployment":{{"modelCache":)"
                    R"({{"pvcName":"c",{}}}}}}}}})",
                    members));
  };
  const std::string odd = "W dgdr-model-cache-odd spec.profilingConfig.config.deployment.modelCache.";
  const std::string inside = ": should be relative because it is a path inside the claim\n";
  const std::string relative = ": is not an absolute path\n";
  CHECK(cache(R"("modelPathInPvc":"/abs")") == odd + "modelPathInPvc" + inside);
  CHECK(cache(R"("pvcPath":"/abs")") == odd + "pvcPath" + inside);
  CHECK(cache(R"("pvcMountPath":"m")") == odd + "pvcMountPath" + relative);
  CHECK(cache(R"("mountPath":"m")") == odd + "mountPath" + relative);
  CHECK(cache(R"("mountPath":"m","pvcMountPath":"n")") ==
        odd + "pvcMountPath" + relative +
            "W dgdr-ineffective-field spec.profilingConfig.config.deployment.modelCache.mountPath: has no "
            "effect because pvcMountPath is set\n");
  CHECK(written(R"("profilingConfig":{"profilerImage":""},"deploymentOverrides":{"workersImage":"a b"})") ==
        "W dgdr-image spec.deploymentOverrides.workersImage: contains whitespace\n");
  CHECK(written(R"("profilingConfig":{"profilerImage":"a b"},"deploymentOverrides":{"workersImage":"w"})") ==
        "W dgdr-image spec.profilingConfig.profilerImage: contains whitespace\n"
        "W dgdr-ineffective-field spec.deploymentOverrides.workersImage: no longer has an effect when "
        "profilerImage is set: use spec.overrides.dgd of v1beta1\n");
}

}  // namespace
}  // namespace dynamo::admission
