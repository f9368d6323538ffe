// DynamoGraphDeploymentRequests: what the profiling Job and its profiler could not take.

#include "common/admission/request.h"

#include "common/conversion/dgdr.h"
#include "rows.h"
#include "support.h"

namespace dynamo::admission {
namespace {

using rules::test::dgdr;
using rules::test::lines;
using rules::test::object;

std::string said(std::string_view text, std::string_view old = {}, std::string_view version = "v1beta1") {
  const rules::DgdrPolicy policy;
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
  const auto ignored = [&](std::string_view field) {
    return fmt::format("W dgdr-override-job {}{}: has no effect: the profiling Job does not take it over\n",
                       spec, field);
  };
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
       ignored("restartPolicy") + ignored("schedulerName") + ignored("containers[0].ports")},
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

TEST_CASE("what of the override is not taken over") {
  const std::string at = "W dgdr-override-job spec.overrides.profilingJob.";
  const std::string how = ": has no effect: the profiling Job does not take it over\n";
  const std::string pod = at + "template.spec.";
  const auto metadata = [](std::string_view members) {
    return with(fmt::format(
        R"("overrides":{{"profilingJob":{{"template":{{"metadata":{{{}}},"spec":{{"containers":[]}}}}}}}})",
        members));
  };
  check({
      {"of the Job", job("", "", R"(,"completionMode":"Indexed","manualSelector":true,"managedBy":"x.io/y")"),
       at + "completionMode" + how + at + "manualSelector" + how + at + "managedBy" + how},
      {"of the pod", job(R"(,"hostNetwork":true,"schedulerName":"s","nodeName":"n","priority":1)"),
       pod + "hostNetwork" + how + pod + "schedulerName" + how + pod + "nodeName" + how + pod + "priority" +
           how},
      {"of the profiler", job("", R"(,"command":["a"],"args":["b"],"workingDir":"/w","lifecycle":{"a":1})"),
       pod + "containers[0].command" + how + pod + "containers[0].args" + how + pod +
           "containers[0].workingDir" + how + pod + "containers[0].lifecycle" + how},
      {"of the pod's security",
       job(R"(,"securityContext":{"fsGroup":1,"supplementalGroupsPolicy":"Strict"})"),
       pod + "securityContext.supplementalGroupsPolicy" + how},
      {"another container",
       with(
           R"("overrides":{"profilingJob":{"template":{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}}})"),
       pod + "containers[1]: has no effect: only the first container is taken over\n"},
      {"metadata", metadata(R"("name":"n","labels":{"team":"a"},"annotations":{"a":"b"})"),
       at + "template.metadata.name" + how},
      {"labels of the operator", metadata(R"("labels":{"app":"x","nvidia.com/managed-by":"me"})"),
       at + "template.metadata.labels[app]: has no effect: the operator sets this label itself\n" + at +
           "template.metadata.labels[nvidia.com/managed-by]: has no effect: the operator sets this label "
           "itself\n"},
      {"what is as it is anyway, and what is empty",
       job(R"(,"restartPolicy":"Never","hostAliases":[])", R"(,"command":[],"args":null,"ports":[])",
           R"(,"selector":{})"),
       ""},
      {"all that is taken over",
       job(R"(,"tolerations":[],"automountServiceAccountToken":true,"dnsPolicy":"Default",)"
           R"("priorityClassName":"p","securityContext":{"runAsUser":1,"seLinuxOptions":{"level":"a"}})",
           R"(,"image":"i:1","envFrom":[],"securityContext":{"privileged":true})",
           R"(,"backoffLimit":1,"suspend":false,"ttlSecondsAfterFinished":1)"),
       ""},
  });
}

TEST_CASE("white space and characters that nobody sees") {
  const std::string around = "must not have leading or trailing white space\n";
  const std::string mount = R"("modelCache":{"pvcName":"c","pvcMountPath":)";
  check({
      {"image with a line break at its end", with(R"("image":"profiler:1\n")"),
       "E dgdr-image-space spec.image: Invalid value: \"profiler:1 \": " + around},
      {"image with a blank before it", with(R"("image":" profiler:1")"),
       "E dgdr-image-space spec.image: Invalid value: \" profiler:1\": " + around},
      {"image with a control character", with(R"("image":"profiler:\u0001")"),
       "W dgdr-image spec.image: holds a control character\n"},
      {"image with a dash of a word processor", with(R"("image":"profiler\u2013x:1")"),
       "W dgdr-image spec.image: holds characters beyond ASCII, which no registry allows\n"},
      {"image with a no-break space", with(R"("image":"profiler:1\u00a0")"),
       "W dgdr-image spec.image: holds a space that is not ASCII's\n"},
      {"model with a line break", dgdr(R"({"model":"Qwen/Qwen3\n"})"),
       "W dgdr-model-space spec.model: holds a line break\n"},
      {"model with a blank inside", dgdr(R"({"model":"Qwen/Qwen 3"})"),
       "W dgdr-model-space spec.model: holds white space\n"},
      {"model with an unseen space", dgdr(R"({"model":"Qwen\u200b/Qwen3"})"),
       "W dgdr-model-space spec.model: holds a space that is not ASCII's\n"},
      {"mount path", with(mount + R"("/models\n"})"),
       "W dgdr-model-cache-odd spec.modelCache.pvcMountPath: holds a line break\n"},
      {"mount path with a blank inside", with(mount + R"("/my models"})"), ""},
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
      {"no name", ref(""), "E dgdr-config-map " + at + ".name: Required value: name the ConfigMap\n"},
      {"no JSON", annotated("config-map-ref", "x"), ""},
  });
  CHECK(said(ref(R"(\"name\":\"a\",\"key\":\"../x\")"))
            .starts_with("E dgdr-config-map " + at + ".key: Invalid value: \"../x\""));
  CHECK(said(ref(R"(\"name\":\"Base\")"), {}, "v1alpha1")
            .starts_with("E dgdr-config-map spec.profilingConfig.configMapRef.name: "));
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
       "W dgdr-workload-once spec.workload.requestRate: concurrency is given, too: the profiler takes one of "
       "the two\n"},
      {"half a target", with(R"("sla":{"ttft":1})"),
       "W dgdr-sla-complete spec.sla.itl: is missing: the profiler needs it beside ttft\n"},
      {"both targets", with(R"("sla":{"ttft":1,"itl":1})"), ""},
      {"a target that is not used", with(R"("sla":{"e2eLatency":1,"itl":1})"),
       "W dgdr-sla-complete spec.sla.itl: has no effect beside e2eLatency\n"},
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
        "W dgdr-positive-numbers spec.profilingConfig.config.sla.ttft: must be greater than 0, but is -1\n");
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
  CHECK(cache(R"("mountPath":"m","pvcMountPath":"n")") ==
        odd + "pvcMountPath" + relative +
            "W dgdr-ineffective-field spec.profilingConfig.config.deployment.modelCache.mountPath: has no "
            "effect: "
            "pvcMountPath is given, too\n");
  CHECK(written(R"("profilingConfig":{"profilerImage":""},"deploymentOverrides":{"workersImage":"a b"})") ==
        "W dgdr-image spec.deploymentOverrides.workersImage: holds white space\n");
  CHECK(written(R"("profilingConfig":{"profilerImage":"a b"},"deploymentOverrides":{"workersImage":"w"})") ==
        "W dgdr-image spec.profilingConfig.profilerImage: holds white space\n"
        "W dgdr-ineffective-field spec.deploymentOverrides.workersImage: has no effect any more beside "
        "profilerImage: use spec.overrides.dgd of v1beta1\n");
}

}  // namespace
}  // namespace dynamo::admission
