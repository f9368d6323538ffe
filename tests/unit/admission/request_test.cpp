// DynamoGraphDeploymentRequests: what the profiling Job and its profiler could not take.

#include "common/admission/request.h"

#include "support.h"

namespace dynamo::admission {
namespace {

using validation::test::dgdr;
using validation::test::lines;
using validation::test::object;

std::string said(std::string_view text, std::string_view old = {}, std::string_view version = "v1beta1") {
  const validation::DgdrPolicy policy;
  const json::Document now = object(text);
  if (old.empty()) return lines(validateRequest({now, nullptr, version, policy}));
  const json::Document before = object(old);
  return lines(validateRequest({now, &before, version, policy}));
}

std::string with(std::string_view members) {
  return dgdr(fmt::format(R"({{"model":"m",{}}})", members));
}

/// A Job override: members of the pod, of its only container, of the Job.
std::string job(std::string_view pod, std::string_view container = "", std::string_view members = "") {
  return with(fmt::format(
      R"("overrides":{{"profilingJob":{{"template":{{"spec":{{"containers":[{{"name":"profiler"{}}}]{}}}}}{}}}}})",
      container, pod, members));
}

std::string annotated(std::string_view key, std::string_view value) {
  return fmt::format(
      R"({{"metadata":{{"name":"r","namespace":"ns","annotations":{{"nvidia.com/dgdr-{}":"{}"}}}},)"
      R"("spec":{{"model":"m"}}}})",
      key, value);
}

struct Row {
  std::string name;
  std::string object;
  std::string expected;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(said(row.object) == row.expected);
  }
}

const std::string kName =
    "must consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit\n";

TEST_CASE("the override of the profiling Job") {
  const std::string spec = "spec.overrides.profilingJob.template.spec.";
  check({
      {"nothing", job(""), ""},
      {"good",
       job(R"(,"tolerations":[{"key":"gpu","operator":"Exists"}],"nodeSelector":{"a":"b"})",
           R"(,"image":"i:1","env":[{"name":"A"}])", R"(,"backoffLimit":0)"),
       ""},
      {"toleration", job(R"(,"tolerations":[{"key":"a","operator":"In"}])"),
       "E pod.toleration " + spec +
           "tolerations[0].operator: Unsupported value: \"In\": supported values: \"Equal\", \"Exists\"\n"},
      {"retries", job("", "", R"(,"backoffLimit":-1)"),
       "E job.number spec.overrides.profilingJob.backoffLimit: Invalid value: -1: must be greater than or "
       "equal "
       "to 0\n"},
      {"service account", job(R"(,"serviceAccountName":"A")"),
       "E pod.name-field " + spec + "serviceAccountName: Invalid value: \"A\": " + kName},
      {"image", job("", R"(,"image":"a b")"),
       "W pod.image-doubtful " + spec + "containers[0].image: holds white space\n"},
      {"mount without volume", job("", R"(,"volumeMounts":[{"name":"x","mountPath":"/x"}])"),
       "E dgdr-job-mount " + spec +
           "containers[0].volumeMounts[0].name: Not found: \"x\": the profiling Job has no volume of this "
           "name\n"},
      {"mount of its own volume",
       job(R"(,"volumes":[{"name":"x","emptyDir":{}}])",
           R"(,"volumeMounts":[{"name":"x","mountPath":"/x"}])"),
       ""},
      {"mount of the operator's volume",
       job("", R"(,"volumeMounts":[{"name":"model-cache","mountPath":"/x"}])"), ""},
      {"what the merge leaves out",
       job(R"(,"restartPolicy":"Always","schedulerName":"a b")", R"(,"ports":[{"containerPort":0}])",
           R"(,"selector":{})"),
       ""},
  });
  const std::string bad = job(R"(,"serviceAccountName":"A")");
  CHECK(said(bad, bad).starts_with("W pod.name-field "));
}

TEST_CASE("image, model cache, traffic and targets") {
  check({
      {"image", with(R"("image":"profiler: 1")"), "W dgdr-image spec.image: holds white space\n"},
      {"good image", with(R"("image":"profiler:1")"), ""},
      {"claim", with(R"("modelCache":{"pvcName":"Models","pvcMountPath":"/m"})"),
       "E dgdr-model-cache spec.modelCache.pvcName: Invalid value: \"Models\": " + kName},
      {"no claim", with(R"("modelCache":{"pvcMountPath":"/m"})"),
       "W dgdr-model-cache-odd spec.modelCache: has no effect without pvcName\n"},
      {"no claim, the default path", with(R"("modelCache":{"pvcMountPath":"/opt/model-cache"})"), ""},
      {"odd paths", with(R"("modelCache":{"pvcName":"c","pvcMountPath":"m:n","pvcModelPath":"../x"})"),
       "W dgdr-model-cache-odd spec.modelCache.pvcMountPath: is not an absolute path\n"
       "W dgdr-model-cache-odd spec.modelCache.pvcMountPath: holds ':', which container runtimes refuse\n"
       "W dgdr-model-cache-odd spec.modelCache.pvcModelPath: leaves the claim\n"},
      {"an absolute model path", with(R"("modelCache":{"pvcName":"c","pvcModelPath":"/x"})"),
       "W dgdr-model-cache-odd spec.modelCache.pvcModelPath: is a path inside the claim\n"},
      {"traffic twice", with(R"("workload":{"concurrency":1,"requestRate":2})"),
       "W dgdr-workload-once spec.workload.requestRate: give it or concurrency: the profiler takes one of "
       "them\n"},
      {"half a target", with(R"("sla":{"ttft":1})"),
       "W dgdr-sla-complete spec.sla.itl: is missing: the profiler wants it beside ttft\n"},
      {"both targets", with(R"("sla":{"ttft":1,"itl":1})"), ""},
      {"a target that is not used", with(R"("sla":{"e2eLatency":1,"itl":1})"),
       "W dgdr-sla-complete spec.sla.itl: is not used: e2eLatency is\n"},
  });
}

TEST_CASE("v1alpha1 clients read their own paths") {
  const auto alpha = [](const std::string& text) { return said(text, {}, "v1alpha1"); };
  const std::string bad = R"({\"name\":\"My_Graph\",\"labels\":{\"a b\":\"c\"}})";
  CHECK(alpha(job(R"(,"tolerations":[{"key":"a","operator":"In"}])")) ==
        "E pod.toleration spec.profilingConfig.tolerations[0].operator: Unsupported value: \"In\": supported "
        "values: \"Equal\", \"Exists\"\n");
  CHECK(alpha(with(R"("image":"a b")")) ==
        "W dgdr-image spec.profilingConfig.profilerImage: holds white space\n");
  CHECK(alpha(with(R"("sla":{"ttft":-1,"itl":1})")) ==
        "W dgdr-positive-numbers spec.profilingConfig.config.sla.ttft: -1 is not greater than 0\n");
  CHECK(alpha(annotated("output-pvc", "Out")) ==
        "E dgdr-output-claim spec.profilingConfig.outputPVC: Invalid value: \"Out\": " + kName);
  CHECK(said(annotated("output-pvc", "Out")) ==
        "E dgdr-output-claim metadata.annotations[nvidia.com/dgdr-output-pvc]: Invalid value: \"Out\": " +
            kName);
  CHECK(alpha(annotated("deployment-overrides", bad)) ==
        "E dgdr-overrides-metadata spec.deploymentOverrides.labels[a b]: Invalid value: \"a b\": name part "
        "must "
        "consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit\n"
        "E dgdr-overrides-metadata spec.deploymentOverrides.name: Invalid value: \"My_Graph\": " +
            kName);
  CHECK(alpha(annotated("deployment-overrides", "no JSON")).empty());
}

}  // namespace
}  // namespace dynamo::admission
