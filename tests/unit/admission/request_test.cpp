// DynamoGraphDeploymentRequests: what the profiling Job and its profiler could not take.

#include "common/admission/request.h"

#include "common/conversion/dgdr.h"
#include "rows.h"
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

void check(const std::vector<test::Row>& rows) {
  test::check([](std::string_view object) { return said(object); }, rows);
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
       "E pod.mount-volume " + spec +
           "containers[0].volumeMounts[0].name: Not found: \"x\": the pod has no volume of this name\n"},
      {"mount of its own volume",
       job(R"(,"volumes":[{"name":"x","emptyDir":{}}])",
           R"(,"volumeMounts":[{"name":"x","mountPath":"/x"}])"),
       ""},
      {"mount of the operator's volume",
       job("", R"(,"volumeMounts":[{"name":"profiling-output","mountPath":"/x"}])"), ""},
      {"mount of the model cache",
       with(R"("modelCache":{"pvcName":"c"},"overrides":{"profilingJob":{"template":{"spec":{"containers":[)"
            R"({"name":"a","volumeMounts":[{"name":"model-cache","mountPath":"/x"}]}]}}}})"),
       ""},
      {"mount of a model cache that is not asked for",
       job("", R"(,"volumeMounts":[{"name":"model-cache","mountPath":"/x"}])"),
       "E pod.mount-volume " + spec +
           "containers[0].volumeMounts[0].name: Not found: \"model-cache\": the pod has no volume of this "
           "name\n"},
      {"root in a pod that must not be", job(R"(,"securityContext":{"runAsUser":0})"),
       "W pod.security-root " + spec +
           "securityContext.runAsUser: is root, but runAsNonRoot is true: no container will start\n"},
      {"root that may be", job(R"(,"securityContext":{"runAsUser":0,"runAsNonRoot":false})"), ""},
      {"what the merge leaves out",
       job(R"(,"restartPolicy":"Always","schedulerName":"a b")", R"(,"ports":[{"containerPort":0}])",
           R"(,"selector":{})"),
       ""},
      {"what the operator gives: image and volumes",
       job(R"(,"initContainers":[{"name":"a","image":"i"}])",
           R"(,"image":"","volumeMounts":[{"name":"profiling-output","mountPath":"/x"}])"),
       ""},
      {"no containers", with(R"("overrides":{"profilingJob":{"template":{"spec":{"containers":[]}}}})"), ""},
  });
  const std::string bad = job(R"(,"serviceAccountName":"A")");
  CHECK(said(bad, bad).starts_with("W pod.name-field "));
}

// Items of these lists and these structs go into the Job as they are.
TEST_CASE("what the profiling Job takes whole of an override is whole") {
  const std::string spec = "spec.overrides.profilingJob.template.spec.";
  const auto refused = [&](const char* rule, const std::string& field, const std::string& how) {
    return "E " + std::string{rule} + " " + spec + field + ": " + how + "\n";
  };
  const auto init = [](const std::string& members) {
    return job(R"(,"initContainers":[{)" + members + "}]");
  };
  const auto affinity = [](const std::string& terms) {
    return job(R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
               R"({"nodeSelectorTerms":)" +
               terms + "}}}");
  };
  const std::string terms =
      "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const auto volume = [](const std::string& source) {
    return job(R"(,"volumes":[{"name":"v",)" + source + "}]");
  };
  const std::string env = "containers[0].env[0].valueFrom";
  check({
      {"init container without image", init(R"("name":"a")"),
       refused("pod.image", "initContainers[0].image", "Required value")},
      {"init container's mount",
       init(R"("name":"a","image":"i","volumeMounts":[{"name":"x","mountPath":"/x"}])"),
       refused("pod.mount-volume", "initContainers[0].volumeMounts[0].name",
               "Not found: \"x\": the pod has no volume of this name")},
      {"sidecar's probe", init(R"("name":"a","image":"i","restartPolicy":"Always","livenessProbe":{})"),
       refused("pod.handler", "initContainers[0].livenessProbe",
               "Required value: a handler: one of exec, httpGet, tcpSocket, grpc")},
      {"the profiler's name", init(R"("name":"profiler","image":"i")"),
       refused("pod.container-unique", "initContainers[0].name", "Duplicate value: \"profiler\"")},
      {"the copier's name", init(R"("name":"output-copier","image":"i")"),
       refused("pod.container-unique", "initContainers[0].name", "Duplicate value: \"output-copier\"")},
      {"empty toleration", job(R"(,"tolerations":[{}])"),
       refused("pod.toleration", "tolerations[0].operator",
               "Invalid value: \"\": must be Exists when key is empty, which means all taints")},
      {"toleration without key", job(R"(,"tolerations":[{"operator":"Equal","value":"x"}])"),
       refused("pod.toleration", "tolerations[0].operator",
               "Invalid value: \"Equal\": must be Exists when key is empty, which means all taints")},
      {"no node selector terms", affinity("[]"),
       refused("pod.node-affinity", terms, "Required value: at least one term")},
      {"In without values", affinity(R"([{"matchExpressions":[{"key":"a","operator":"In"}]}])"),
       refused("pod.node-affinity", terms + "[0].matchExpressions[0].values",
               "Required value: at least one value, for the operator is In")},
      {"empty topology key",
       job(R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"([{"topologyKey":"","labelSelector":{}}]}})"),
       refused("pod.pod-affinity",
               "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
               "Required value")},
      {"no nameserver", job(R"(,"dnsPolicy":"None")"),
       refused("pod.dns", "dnsConfig.nameservers",
               "Required value: at least one nameserver, for dnsPolicy is None")},
      {"empty variable source", job("", R"(,"env":[{"name":"A","valueFrom":{}}])"),
       refused("pod.env-source", env,
               "Required value: a source: one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef")},
      {"secret without name", job("", R"(,"env":[{"name":"A","valueFrom":{"secretKeyRef":{"key":"k"}}}])"),
       refused("pod.key-ref", env + ".secretKeyRef.name", "Required value")},
      {"empty source of variables", job("", R"(,"envFrom":[{}])"),
       refused("pod.env-from", "containers[0].envFrom[0]",
               "Required value: a source: one of configMapRef, secretRef")},
      {"request without limit", job("", R"(,"resources":{"requests":{"nvidia.com/gpu":1}})"),
       refused("pod.resource-limit", "containers[0].resources.limits[nvidia.com/gpu]",
               "Required value: a limit equal to the request: this resource cannot be overcommitted")},
      {"claim of nothing", job("", R"(,"resources":{"claims":[{"name":"c"}]})"),
       refused("pod.resource-claim", "containers[0].resources.claims[0].name",
               "Not found: \"c\": must be one of the pod's resourceClaims")},
      // life-Q25
      {"claim of the pod",
       job(R"(,"resourceClaims":[{"name":"c","resourceClaimName":"c"}])",
           R"(,"resources":{"claims":[{"name":"c"}]})"),
       "W pod.newer-field spec.overrides.profilingJob.template.spec.resourceClaims: needs Kubernetes 1.34 or "
       "newer; older API servers drop it\n"},
      {"nameless ConfigMap", volume(R"("configMap":{})"),
       refused("pod.volume-field", "volumes[0].configMap.name", "Required value")},
      {"nameless claim", volume(R"("persistentVolumeClaim":{"claimName":""})"),
       refused("pod.volume-field", "volumes[0].persistentVolumeClaim.claimName", "Required value")},
      {"empty path", volume(R"("hostPath":{"path":""})"),
       refused("pod.volume-path", "volumes[0].hostPath.path", "Required value")},
  });
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
  const std::string inside = ": is a path inside the claim\n";
  const std::string relative = ": is not an absolute path\n";
  CHECK(cache(R"("modelPathInPvc":"/abs")") == odd + "modelPathInPvc" + inside);
  CHECK(cache(R"("pvcPath":"/abs")") == odd + "pvcPath" + inside);
  CHECK(cache(R"("pvcMountPath":"m")") == odd + "pvcMountPath" + relative);
  CHECK(cache(R"("mountPath":"m")") == odd + "mountPath" + relative);
  CHECK(cache(R"("mountPath":"m","pvcMountPath":"n")") == odd + "pvcMountPath" + relative);
  CHECK(written(R"("profilingConfig":{"profilerImage":""},"deploymentOverrides":{"workersImage":"a b"})") ==
        "W dgdr-image spec.deploymentOverrides.workersImage: holds white space\n");
  CHECK(written(R"("profilingConfig":{"profilerImage":"a b"},"deploymentOverrides":{"workersImage":"w"})") ==
        "W dgdr-image spec.profilingConfig.profilerImage: holds white space\n");
}

}  // namespace
}  // namespace dynamo::admission
