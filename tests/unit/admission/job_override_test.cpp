// The profiling Job of a request: what an API server would refuse of it, and what of the override it leaves
// out.

#include "request_support.h"

namespace dynamo::admission {
namespace {

using namespace test;

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
       "W pod.image-doubtful " + spec + "containers[0].image: contains whitespace\n"},
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
  CHECK(findingsOf(bad, bad).starts_with("W pod.name-field "));
}

TEST_CASE("findings about the Job are reported at the field of the override") {
  const std::string container = "spec.overrides.profilingJob.template.spec.containers[0].";
  const std::string none = ".name: Not found: \"x\": the pod has no volume of this name\n";
  const std::string place = "E pod.mount-path spec.modelCache.pvcMountPath: Invalid value: ";
  const std::string taken = ": must be unique: the operator mounts something there\n";
  const auto cache = [](std::string_view path, std::string_view more = "") {
    return with(fmt::format(R"("modelCache":{{"pvcName":"c","pvcMountPath":"{}"}}{})", path, more));
  };
  const auto mounts = [](std::string_view list) {
    return fmt::format(
        R"(,"overrides":{{"profilingJob":{{"template":{{"spec":{{"containers":[{{"name":"a","volumeMounts":{}}}]}}}}}}}})",
        list);
  };
  check({
      {"a variable behind the operator's", job("", R"(,"env":[{"name":"A"},{"name":"B=C"}])"),
       "E pod.env-name " + container +
           "env[1].name: Invalid value: \"B=...\": must consist of printable ASCII characters other than "
           "'='\n"},
      {"a variable of the operator's name", job("", R"(,"env":[{"name":"DGDR_UID","valueFrom":{}}])"),
       "E pod.env-source " + container +
           "env[0].valueFrom: Required value: must specify one of: fieldRef, resourceFieldRef, "
           "configMapKeyRef, "
           "secretKeyRef\n"},
      {"a mount in the place of the operator's",
       job("", R"(,"volumeMounts":[{"name":"x","mountPath":"/y"},{"name":"x","mountPath":"/data"}])"),
       "E pod.mount-volume " + container + "volumeMounts[0]" + none + "E pod.mount-volume " + container +
           "volumeMounts[1]" + none},
      {"a pull secret behind the operator's", job(R"(,"imagePullSecrets":[{"name":"B"}])"),
       "W pod.pull-secret spec.overrides.profilingJob.template.spec.imagePullSecrets[0].name: \"B\" is not a "
       "valid Secret name\n"},
      // life-Q31
      {"a model cache in the place of the results", cache("/data"), place + "\"/data\"" + taken},
      {"a model cache in the place of nothing", cache("/config"), ""},
      {"the same, and a mount of the user's that is wrong",
       cache("/data", mounts(R"([{"name":"a","mountPath":"/b"}])")),
       place + "\"/data\"" + taken + "E pod.mount-volume " + container +
           "volumeMounts[0].name: Not found: \"a\": the pod has no volume of this name\n"},
      {"what the Job lacks", job(R"(,"securityContext":{"windowsOptions":{"hostProcess":true}})"),
       "E pod.host-process spec.overrides.profilingJob.template.spec.hostNetwork: Required value: must be "
       "true for "
       "hostProcess containers\n"},
  });
  const char* both =
      R"({"metadata":{"name":"r","namespace":"ns","annotations":{"nvidia.com/dgdr-config-map-ref":"{\"name\":\"b\"}"}},)"
      R"("spec":{"model":"m","modelCache":{"pvcName":"c","pvcMountPath":"/config"}}})";
  CHECK(findingsOf(both) == place + "\"/config\"" + taken);
  CHECK(findingsOf(cache("/data"), {}, "v1alpha1") ==
        "E pod.mount-path spec.profilingConfig.config.deployment.modelCache.pvcMountPath: Invalid value: "
        "\"/data\"" +
            taken);
}

// Items of these lists and these structs go into the Job as they are.
TEST_CASE("parts that the Job takes unchanged must be complete") {
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
               "Required value: must specify one of: exec, httpGet, tcpSocket, grpc")},
      {"the profiler's name", init(R"("name":"profiler","image":"i")"),
       refused("pod.container-unique", "initContainers[0].name", "Duplicate value: \"profiler\"")},
      {"the copier's name", init(R"("name":"output-copier","image":"i")"),
       refused("pod.container-unique", "initContainers[0].name", "Duplicate value: \"output-copier\"")},
      {"empty toleration", job(R"(,"tolerations":[{}])"),
       refused("pod.toleration", "tolerations[0].operator",
               "Invalid value: \"\": must be Exists when key is empty, which matches all taints")},
      {"toleration without key", job(R"(,"tolerations":[{"operator":"Equal","value":"x"}])"),
       refused("pod.toleration", "tolerations[0].operator",
               "Invalid value: \"Equal\": must be Exists when key is empty, which matches all taints")},
      {"no node selector terms", affinity("[]"),
       refused("pod.node-affinity", terms, "Required value: must have at least one node selector term")},
      {"In without values", affinity(R"([{"matchExpressions":[{"key":"a","operator":"In"}]}])"),
       refused("pod.node-affinity", terms + "[0].matchExpressions[0].values",
               "Required value: must be specified when operator is In")},
      {"empty topology key",
       job(R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"([{"topologyKey":"","labelSelector":{}}]}})"),
       refused("pod.pod-affinity",
               "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
               "Required value")},
      {"no nameserver", job(R"(,"dnsPolicy":"None")"),
       refused("pod.dns", "dnsConfig.nameservers",
               "Required value: must provide at least one DNS nameserver when dnsPolicy is None")},
      {"empty variable source", job("", R"(,"env":[{"name":"A","valueFrom":{}}])"),
       refused(
           "pod.env-source", env,
           "Required value: must specify one of: fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef")},
      {"secret without name", job("", R"(,"env":[{"name":"A","valueFrom":{"secretKeyRef":{"key":"k"}}}])"),
       refused("pod.key-ref", env + ".secretKeyRef.name", "Required value")},
      {"empty source of variables", job("", R"(,"envFrom":[{}])"),
       refused("pod.env-from", "containers[0].envFrom[0]",
               "Required value: must specify one of: configMapRef, secretRef")},
      {"request without limit", job("", R"(,"resources":{"requests":{"nvidia.com/gpu":1}})"),
       refused("pod.resource-limit", "containers[0].resources.limits[nvidia.com/gpu]",
               "Required value: must equal the request because this resource cannot be overcommitted")},
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

}  // namespace
}  // namespace dynamo::admission
