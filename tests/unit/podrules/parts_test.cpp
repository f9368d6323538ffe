// Parts on their own, and what the table against the API server cannot hold.

#include "support.h"

namespace dynamo::podrules::test {
namespace {

const Options kWhole{};
const Options kPart{Workload::Service, true};

/// What `check(value, findings)` says of the JSON text.
template <typename Check>
std::string said(std::string_view text, Check check) {
  const json::Document value = parsed(text);
  validation::Findings findings;
  check(value, findings);
  return joined(lines(std::move(findings)));
}

std::string ofContainer(std::string_view text, const Options& options,
                        ContainerKind kind = ContainerKind::Main) {
  return said(
      text, [&](const auto& value, auto& findings) { checkContainer(value, "c", kind, options, findings); });
}

TEST_CASE("containers") {
  struct Row {
    const char* name;
    const char* container;
    const char* whole;
    const char* part;
  };
  const Row rows[] = {
      {"empty", "{}",
       "E pod.image c.image: Required value\n"
       "E pod.container-name c.name: Required value\n",
       ""},
      {"no object", "[1]", "", ""},
      {"mount of a volume elsewhere",
       R"({"name":"a","image":"i","volumeMounts":[{"name":"v","mountPath":"/a"}]})", "", ""},
      {"claim elsewhere", R"({"name":"a","image":"i","resources":{"claims":[{"name":"gpu"}]}})", "", ""},
      {"probe of the defaults' port",
       R"({"name":"a","image":"i","livenessProbe":{"httpGet":{"port":"system"}}})",
       "W pod.probe-port-unknown c.livenessProbe.httpGet.port: the container has no port \"system\"\n", ""},
      {"probe of a few numbers", R"({"name":"a","image":"i","livenessProbe":{"periodSeconds":5}})",
       "E pod.handler c.livenessProbe: Required value: a handler: one of exec, httpGet, tcpSocket, grpc\n",
       ""},
      {"request whose limit is elsewhere", R"({"name":"a","image":"i","resources":{"requests":{"a/b":1}}})",
       "E pod.resource-limit c.resources.limits[a/b]: Required value: a limit equal to the request: this "
       "resource "
       "cannot be overcommitted\n",
       ""},
      {"two handlers",
       R"({"name":"a","image":"i","readinessProbe":{"exec":{"command":["a"]},"grpc":{"port":1}}})",
       "E pod.handler c.readinessProbe.grpc: Forbidden: only one handler may be given, and exec is\n",
       "E pod.handler c.readinessProbe.grpc: Forbidden: only one handler may be given, and exec is\n"},
      {"image of white space", R"({"name":"a","image":"i\t"})",
       "E pod.image c.image: Invalid value: \"i \": must not have leading or trailing white space\n",
       "E pod.image c.image: Invalid value: \"i \": must not have leading or trailing white space\n"},
      {"variable from a file",
       R"({"name":"a","image":"i","env":[{"name":"A","valueFrom":{"fileKeyRef":)"
       R"({"volumeName":"v","path":"p","key":"k"}}}]})",
       "W pod.env-file c.env[0].valueFrom.fileKeyRef: needs Kubernetes 1.34 with the feature gate EnvFiles\n",
       "W pod.env-file c.env[0].valueFrom.fileKeyRef: needs Kubernetes 1.34 with the feature gate "
       "EnvFiles\n"},
      {"integers written as floats", R"({"name":"a","image":"i","ports":[{"containerPort":80.0}]})", "", ""},
      {"fractions", R"({"name":"a","image":"i","ports":[{"containerPort":80.5}]})", "", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(ofContainer(row.container, kWhole) == row.whole);
    CHECK(ofContainer(row.container, kPart) == row.part);
  }
  CHECK(
      ofContainer(R"({"name":"a","image":"i","lifecycle":{}})", kWhole, ContainerKind::Init) ==
      "E pod.init-forbidden c.lifecycle: Forbidden: may not be set in init containers without restartPolicy "
      "Always\n");
}

TEST_CASE("doors") {
  const auto probeSaid = [](ProbeKind kind) {
    return said(R"({"grpc":{"port":0},"successThreshold":3})",
                [&](const auto& value, auto& findings) { checkProbe(value, "p", kind, kWhole, findings); });
  };
  const std::string port =
      "E pod.handler-port p.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive\n";
  CHECK(probeSaid(ProbeKind::Readiness) == port);
  CHECK(probeSaid(ProbeKind::Liveness) ==
        port +
            "E pod.probe-success-threshold p.successThreshold: Invalid value: 3: "
            "must be 1 in a liveness or startup probe\n");
  CHECK(said(R"([{"name":"A=s3cret","value":"s3cret"}])",
             [](const auto& value, auto& findings) { checkEnv(value, "env", kWhole, findings); }) ==
        "E pod.env-name env[0].name: Invalid value: \"A=...\": must consist of printable ASCII characters "
        "other than "
        "'='\n");
  CHECK(said(R"([{},7,{"secretRef":{"name":"a"}}])", [](const auto& value, auto& findings) {
          checkEnvFrom(value, "", kWhole, findings);
        }) == "E pod.env-from [0]: Required value: a source: one of configMapRef, secretRef\n");
  CHECK(said(R"({"limits":{"cpu":"1K"}})",
             [](const auto& value, auto& findings) { checkResources(value, "r", kWhole, findings); }) ==
        "E pod.quantity r.limits[cpu]: Invalid value: \"1K\": must be a quantity such as \"2\", \"500m\" or "
        "\"16Gi\"; "
        "did you mean the suffix \"k\"?\n");
  CHECK(said(R"([{"name":"a.b","emptyDir":{}}])",
             [](const auto& value, auto& findings) { checkVolumes(value, "v", kPart, findings); }) ==
        "E pod.volume-name v[0].name: Invalid value: \"a.b\": must consist of lower case letters, digits or "
        "'-', and "
        "start and end with a letter or digit\n");
  CHECK(said(R"([{"operator":"Exists","value":"x"}])", [](const auto& value, auto& findings) {
          checkTolerations(value, "t", findings);
        }) == "E pod.toleration t[0].value: Invalid value: \"x\": must be empty when operator is Exists\n");
  CHECK(said(R"({"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":0}]}})",
             [](const auto& value, auto& findings) { checkAffinity(value, "a", kPart, findings); }) ==
        "E pod.pod-affinity a.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid "
        "value: 0: "
        "must be between 1 and 100, inclusive\n");
  CHECK(said(R"([{"maxSkew":-1}])", [](const auto& value, auto& findings) {
          checkTopologySpread(value, "t", kPart, findings);
        }) == "E pod.topology-spread t[0].maxSkew: Invalid value: -1: must be greater than zero\n");
  CHECK(
      said(R"({"fsGroup":-1})", [](const auto& value, auto& findings) {
        checkPodSecurityContext(value, "s", kWhole, findings);
      }) == "E pod.security-id s.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive\n");
  CHECK(said(R"({"runAsUser":-1})",
             [](const auto& value, auto& findings) { checkSecurityContext(value, "s", kWhole, findings); }) ==
        "E pod.security-id s.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive\n");
  CHECK(said(R"({"a":"b c","d":7,"e":null})",
             [](const auto& value, auto& findings) { checkLabels(value, "l", findings); }) ==
        "E pod.label l[a]: Invalid value: \"b c\": must consist of letters, digits, '-', '_' or '.', and "
        "start and "
        "end with a letter or digit\n");
}

TEST_CASE("annotations up to 256 KiB, keys and values together") {
  const auto annotations = [](std::size_t bytes) {
    return said(R"({"a":")" + std::string(bytes - 1, 'x') + "\"}", [](const auto& value, auto& findings) {
      checkAnnotations(value, "metadata.annotations", findings);
    });
  };
  CHECK(annotations(262144) == "");
  CHECK(annotations(262145) ==
        "E pod.annotation metadata.annotations: Invalid value: may hold 262144 bytes at most (it has "
        "262145)\n");
}

TEST_CASE("a job's pods as a part") {
  const auto job = [](std::string_view text, bool partial) {
    return said(text, [&](const auto& value, auto& findings) {
      checkJobSpec(value, "spec.overrides.profilingJob", {Workload::Job, partial}, findings);
    });
  };
  CHECK(job(R"({"backoffLimit":1,"template":{"spec":{"tolerations":[{"key":"a"}]}}})", true) == "");
  CHECK(job(R"({"template":{"spec":{"restartPolicy":"Always"}}})", true) ==
        "E pod.restart-policy spec.overrides.profilingJob.template.spec.restartPolicy: Unsupported value: "
        "\"Always\": "
        "supported values: \"Never\", \"OnFailure\"\n");
  CHECK(job("{}", false) ==
        "E pod.containers spec.overrides.profilingJob.template.spec: Required value: a pod with at "
        "least one container\n");
  CHECK(job("7", false) == "");
}

TEST_CASE("images of a doubtful name") {
  struct Row {
    const char* image;
    const char* doubt;
  };
  const Row rows[] = {
      {"vllm", ""},
      {"nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0", ""},
      {"localhost:5000/a:V1_x.y-z", ""},
      {"Registry.example/a", ""},
      {"Registry:5000/a", ""},
      {"a@sha256:ABC", ""},
      {"Team/app", "has upper case letters in its repository, which no registry allows"},
      {"reg.io/Team/app:1", "has upper case letters in its repository, which no registry allows"},
      {"App", "has upper case letters in its repository, which no registry allows"},
      {"a:", "has no tag after ':'"},
      {"reg:5000/a:", "has no tag after ':'"},
      {"a:1+2", "has '+' in its tag, which no registry allows"},
      {"a\tb", "holds white space"},
  };
  for (const Row& row : rows) {
    INFO(row.image);
    CHECK(imageDoubt(row.image) == row.doubt);
  }
}

TEST_CASE("names of resources") {
  for (const char* name : {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "rdma/ib",
                           "gpu.intel.com/xe", "kubernetes.io/x"}) {
    INFO(name);
    CHECK(resourceNameProblem(name) == "");
  }
  CHECK(resourceNameProblem("gpu") ==
        "must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain such as "
        "nvidia.com/gpu");
  CHECK(resourceNameProblem("") == "must not be empty");
  CHECK(resourceNameProblem("requests.nvidia.com/gpu") == "must not start with \"requests.\"");
  CHECK(resourceNameProblem("a/b/c") == "must hold at most one '/'");
}

TEST_CASE("hosts of an Ingress") {
  CHECK(hostProblem("") == "must not be empty");
  CHECK(hostProblem("10.0.0.1.local") == "");
  CHECK(hostProblem("10.0.0.1") == "must be a DNS name, not an IP address");
  CHECK(hostProblem("fe80::1") == "must be a DNS name, not an IP address");
  CHECK(hostProblem("*.example.com") == "");
}

}  // namespace
}  // namespace dynamo::podrules::test
