// How each field of an override gets into the profiling Job, and which field a path of the Job comes from.
#include "common/render/profiling_override.h"

#include <vector>

#include "common/render/profiling_job.h"
#include "profiling_support.h"

namespace dynamo::render::test {
namespace {

using field::Path;
using json::Value;

struct Row {
  const char* what;
  std::string request;
  Path path;
  std::string value;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(at(profiled(row.request), row.path) == row.value);
  }
}

/// A row of one member, which is taken over whole.
void addWhole(std::vector<Row>& rows, const char* member, const char* value, const Path& holder,
              std::string made) {
  rows.push_back({member, std::move(made), holder / std::string_view{member}, value});
}

TEST_CASE("fields of the Job are taken over whole") {
  std::vector<Row> rows;
  const auto row = [&](const char* member, const char* value) {
    addWhole(rows, member, value, Path{"spec"},
             overridden("", "", fmt::format(R"(,"{}":{})", member, value)));
  };
  row("backoffLimit", "0");
  row("activeDeadlineSeconds", "60");
  row("ttlSecondsAfterFinished", "0");
  row("completions", "2");
  row("parallelism", "2");
  row("suspend", "true");
  rows.push_back({"null", overridden("", "", R"(,"backoffLimit":null)"), Path{"spec.backoffLimit"}, "3"});
  rows.push_back(
      {"left out", overridden("", "", R"(,"completionMode":"Indexed")"), Path{"spec.completionMode"}, ""});
  check(rows);
}

TEST_CASE("fields of the pod are taken over whole") {
  std::vector<Row> rows;
  const auto row = [&](const char* member, const char* value) {
    addWhole(rows, member, value, kPodSpec, overridden(fmt::format(R"(,"{}":{})", member, value)));
  };
  row("tolerations", R"([{"key":"a","operator":"Exists"}])");
  row("nodeSelector", R"({"a":"b"})");
  row("topologySpreadConstraints", R"([{"maxSkew":1}])");
  row("affinity", "{}");
  row("runtimeClassName", R"("nvidia")");
  row("dnsConfig", R"({"nameservers":["10.0.0.1"]})");
  row("terminationGracePeriodSeconds", "0");
  row("automountServiceAccountToken", "true");
  row("priorityClassName", R"("high")");
  row("serviceAccountName", R"("mine")");
  row("dnsPolicy", R"("Default")");
  row("resourceClaims", R"([{"name":"c","resourceClaimName":"d"}])");  // life-Q25
  row("initContainers", R"([{"name":"a","image":"i"}])");
  const auto left = [&](const char* member, const char* value, const char* stays) {
    rows.push_back({member, overridden(fmt::format(R"(,"{}":{})", member, value)),
                    kPodSpec / std::string_view{member}, stays});
  };
  left("tolerations", "[]", "");
  left("nodeSelector", "{}", "");
  left("serviceAccountName", R"("")", R"("dgdr-profiling-job")");
  left("restartPolicy", R"("OnFailure")", R"("Never")");
  left("hostNetwork", "true", "");
  left("schedulerName", R"("s")", "");
  left("activeDeadlineSeconds", "1", "");
  check(rows);
}

TEST_CASE("pull secrets and volumes are merged by name") {
  std::vector<Row> rows;
  const auto row = [&](const char* what, std::string made, const char* member, const char* value) {
    rows.push_back({what, std::move(made), kPodSpec / std::string_view{member}, value});
  };
  row("pull secrets", overridden(R"(,"imagePullSecrets":[{"name":"a"},{"name":"nvcr-imagepullsecret"}])"),
      "imagePullSecrets", R"([{"name":"nvcr-imagepullsecret"},{"name":"a"}])");
  row("another volume", overridden(R"(,"volumes":[{"name":"v","emptyDir":{}}])"), "volumes",
      R"([{"name":"profiling-output","emptyDir":{}},{"name":"v","emptyDir":{}}])");
  row("the volume of the results",
      overridden(R"(,"volumes":[{"name":"profiling-output","persistentVolumeClaim":{"claimName":"c"}}])"),
      "volumes", R"([{"name":"profiling-output","persistentVolumeClaim":{"claimName":"c"}}])");
  row("a name twice: the last counts",
      overridden(R"(,"volumes":[{"name":"v","emptyDir":{}},{"name":"v","hostPath":{"path":"/v"}}])"),
      "volumes", R"([{"name":"profiling-output","emptyDir":{}},{"name":"v","hostPath":{"path":"/v"}}])");
  check(rows);
}

TEST_CASE("the security of the pod is taken over field by field") {
  std::vector<Row> rows;
  const auto row = [&](const char* given, const char* value) {
    rows.push_back({given, overridden(fmt::format(R"(,"securityContext":{})", given)),
                    kPodSpec / "securityContext", value});
  };
  row(R"({"runAsNonRoot":false})",
      R"({"runAsNonRoot":false,"runAsUser":1000,"runAsGroup":1000,"fsGroup":1000})");
  row(R"({"runAsUser":0,"runAsGroup":1,"fsGroup":2})",
      R"({"runAsNonRoot":true,"runAsUser":0,"runAsGroup":1,"fsGroup":2})");
  row(R"({"supplementalGroups":[7],"fsGroup":null})",
      R"({"runAsNonRoot":true,"runAsUser":1000,"runAsGroup":1000,"fsGroup":1000,"supplementalGroups":[7]})");
  for (const char* member :
       {R"("sysctls":[{"name":"a","value":"b"}])", R"("fsGroupChangePolicy":"Always")",
        R"("seccompProfile":{"type":"RuntimeDefault"})", R"("appArmorProfile":{"type":"Unconfined"})",
        R"("seLinuxOptions":{"level":"l"})", R"("windowsOptions":{"hostProcess":false})"}) {
    const std::string given = fmt::format("{{{}}}", member);
    rows.push_back(
        {member, overridden(fmt::format(R"(,"securityContext":{})", given)), kPodSpec / "securityContext",
         fmt::format(R"({{"runAsNonRoot":true,"runAsUser":1000,"runAsGroup":1000,"fsGroup":1000,{}}})",
                     member)});
  }
  row(R"({"supplementalGroupsPolicy":"Strict","seLinuxChangePolicy":"Recursive"})",
      R"({"runAsNonRoot":true,"runAsUser":1000,"runAsGroup":1000,"fsGroup":1000})");
  check(rows);
}

TEST_CASE("the first container is the profiler") {
  std::vector<Row> rows;
  const auto row = [&](const char* what, const char* given, const Path& path, const char* value) {
    rows.push_back({what, overridden("", given), path, value});
  };
  row("image", R"(,"image":"i:2")", kProfiler / "image", R"("i:2")");
  row("no image", R"(,"image":"")", kProfiler / "image", R"("i:1")");
  row("name", "", kProfiler / "name", R"("profiler")");
  row("resources", R"(,"resources":{"limits":{"cpu":"1"}})", kProfiler / "resources",
      R"({"limits":{"cpu":"1"}})");
  row("claims alone", R"(,"resources":{"claims":[{"name":"c"}]})", kProfiler / "resources",
      R"({"claims":[{"name":"c"}]})");
  row("no resources", R"(,"resources":{})", kProfiler / "resources", "");
  row("security", R"(,"securityContext":{"privileged":true})", kProfiler / "securityContext",
      R"({"privileged":true})");
  row("sources of variables", R"(,"envFrom":[{"secretRef":{"name":"s"}},{"secretRef":{"name":"s"}}])",
      kProfiler / "envFrom", R"([{"secretRef":{"name":"s"}},{"secretRef":{"name":"s"}}])");
  row("a variable of the operator", R"(,"env":[{"name":"HUGGING_FACE_HUB_TOKEN","value":"v"}])",
      (kProfiler / "env")[0], R"({"name":"HUGGING_FACE_HUB_TOKEN","value":"v"})");
  row("another variable", R"(,"env":[{"name":"NEW"}])", (kProfiler / "env")[6], R"({"name":"NEW"})");
  // life-Q24
  row("two mounts of a volume",
      R"(,"volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b","subPath":"b"}])",
      kProfiler / "volumeMounts",
      R"([{"name":"profiling-output","mountPath":"/data"},{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b","subPath":"b"}])");
  row("a mount in the place of the operator's", R"(,"volumeMounts":[{"name":"v","mountPath":"/data/"}])",
      kProfiler / "volumeMounts", R"([{"name":"v","mountPath":"/data/"}])");
  row("command", R"(,"command":["sh"],"args":["x"])", kProfiler / "command",
      R"(["python","-m","dynamo.profiler"])");
  row("working directory", R"(,"workingDir":"/tmp")", kProfiler / "workingDir", R"("/workspace")");
  row("ports", R"(,"ports":[{"containerPort":1}])", kProfiler / "ports", "");
  row("the copier", R"(,"image":"i:2")", kCopier / "image", R"("bitnami/kubectl:latest")");
  const char* both =
      R"("overrides":{"profilingJob":{"template":{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}}})";
  rows.push_back({"another container", request(both), (kPodSpec / "containers")[2], ""});
  check(rows);
}

TEST_CASE("labels of the operator stay, other labels and annotations are added") {
  const char* given =
      R"("overrides":{"profilingJob":{"template":{"metadata":{"labels":{"app":"a","dgdr":"b","team":"x",)"
      R"("nvidia.com/managed-by":"me","dgdr.nvidia.com/name":"q","dgdr.nvidia.com/namespace":"q"},)"
      R"("annotations":{"n":"1","app":"2"},"name":"left-out"}}}})";
  check({{"metadata", request(given), Path{"spec.template.metadata"},
          R"({"labels":{"team":"x"},"annotations":{"n":"1","app":"2"}})"}});
}

TEST_CASE("the copier gets a token where the pod may have none") {
  const std::string mounts =
      R"([{"name":"profiling-output","mountPath":"/data","readOnly":true},)"
      R"({"name":"output-copier-token","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true}])";
  const Path volume = (kPodSpec / "volumes")[1];
  check({
      {"no token wanted", overridden(R"(,"automountServiceAccountToken":false)"), kCopier / "volumeMounts",
       mounts},
      {"the volume", overridden(R"(,"automountServiceAccountToken":false)"), volume,
       R"({"name":"output-copier-token","projected":{"sources":[)"
       R"({"serviceAccountToken":{"path":"token","expirationSeconds":3607}},)"
       R"({"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},)"
       R"({"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}]}})"},
      {"another account, which may say so", overridden(R"(,"serviceAccountName":"mine")"),
       kCopier / "volumeMounts", mounts},
      {"the profiler gets none", overridden(R"(,"automountServiceAccountToken":false)"),
       kProfiler / "volumeMounts", R"([{"name":"profiling-output","mountPath":"/data"}])"},
      {"the same account", overridden(R"(,"serviceAccountName":"dgdr-profiling-job")"), volume, ""},
      {"another account with token",
       overridden(R"(,"serviceAccountName":"mine","automountServiceAccountToken":true)"), volume, ""},
  });
}

// Paths

/// The path of the override for `path` of the Job; "-" when it is the operator's.
std::string origin(const std::string& text, const Path& path) {
  const Setup setup;
  const json::Document made = parsed(text);
  json::Document memory;
  const Value spec = profilingJobSpec(made, setup.context(), memory.GetAllocator());
  const Value* override = field::valueAt(made, Path{"spec.overrides.profilingJob"});
  REQUIRE(override != nullptr);
  const auto found = overridePath(spec, *override, path);
  return found ? found->text() : "-";
}

TEST_CASE("paths of the Job lead to the override") {
  const std::string made = overridden(
      R"(,"volumes":[{"name":"v","emptyDir":{}},{"name":"profiling-output","emptyDir":{}}],)"
      R"("imagePullSecrets":[{"name":"nvcr-imagepullsecret"},{},{"name":"b"},{}],"tolerations":[{},{}],)"
      R"("securityContext":{"runAsUser":0},"nodeSelector":{})",
      R"(,"env":[{"name":"A"},{"name":"DGDR_NAME"},{"name":"A"}],"envFrom":[{},{}],)"
      R"("volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"v","mountPath":"/data"}],"resources":{"limits":{"a":1}})",
      R"(,"backoffLimit":-1)");
  const Path pod{"template.spec"};
  const Path profiler = (pod / "containers")[0];
  struct {
    Path path;
    const char* origin;
  } rows[] = {
      {Path{"backoffLimit"}, "backoffLimit"},
      {Path{"parallelism"}, "parallelism"},
      {Path{"selector"}, "selector"},
      {Path{"template.metadata.labels"}.key("a"), "template.metadata.labels[a]"},
      {(pod / "volumes")[0] / "emptyDir", "template.spec.volumes[1].emptyDir"},
      {(pod / "volumes")[1], "template.spec.volumes[0]"},
      {(pod / "imagePullSecrets")[0] / "name", "template.spec.imagePullSecrets[0].name"},
      {(pod / "imagePullSecrets")[1] / "name", "template.spec.imagePullSecrets[1].name"},
      {(pod / "imagePullSecrets")[2] / "name", "template.spec.imagePullSecrets[2].name"},
      {(pod / "imagePullSecrets")[3] / "name", "template.spec.imagePullSecrets[3].name"},
      {(pod / "tolerations")[1] / "key", "template.spec.tolerations[1].key"},
      {(pod / "nodeSelector").key("a"), "template.spec.nodeSelector[a]"},
      {pod / "securityContext.runAsUser", "template.spec.securityContext.runAsUser"},
      {pod / "securityContext.runAsGroup", "-"},
      {pod / "serviceAccountName", "-"},
      {pod / "restartPolicy", "-"},
      {pod / "hostNetwork", "template.spec.hostNetwork"},
      {pod / "dnsConfig.nameservers", "template.spec.dnsConfig.nameservers"},
      {profiler / "image", "-"},
      {profiler / "command", "-"},
      {(profiler / "env")[3] / "name", "template.spec.containers[0].env[1].name"},
      {(profiler / "env")[0] / "name", "-"},
      {(profiler / "env")[6] / "name", "template.spec.containers[0].env[2].name"},
      {(profiler / "envFrom")[0], "template.spec.containers[0].envFrom[0]"},
      {(profiler / "envFrom")[1], "template.spec.containers[0].envFrom[1]"},
      {(profiler / "volumeMounts")[0] / "name", "template.spec.containers[0].volumeMounts[1].name"},
      {(profiler / "volumeMounts")[1] / "name", "template.spec.containers[0].volumeMounts[0].name"},
      {(profiler / "resources.limits").key("a"), "template.spec.containers[0].resources.limits[a]"},
      {(pod / "containers")[1] / "image", "-"},
  };
  for (const auto& row : rows) {
    INFO(row.path.text());
    CHECK(origin(made, row.path) == row.origin);
  }
}

}  // namespace
}  // namespace dynamo::render::test
