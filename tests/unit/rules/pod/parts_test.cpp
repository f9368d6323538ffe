// Parts on their own, and what the table against the API server cannot hold.

#include "common/rules/pod/parts.h"
#include "support.h"

namespace dynamo::rules::pod::test {
namespace {

/// What the rules say of a container, alone in its pod.
std::string ofContainer(std::string_view text, const char* list = "containers") {
  const json::Document container = parsed(text);
  json::Document spec{rapidjson::kObjectType};
  json::Value containers{rapidjson::kArrayType};
  containers.PushBack(json::copy(container, spec.GetAllocator()), spec.GetAllocator());
  json::set(spec, list, std::move(containers), spec.GetAllocator());
  field::Findings findings;
  podSpec(Reports{findings}, spec, At{}, Workload::Service);
  return joined(lines(std::move(findings)));
}

TEST_CASE("containers") {
  struct Row {
    const char* name;
    const char* container;
    const char* said;
  };
  const Row rows[] = {
      {"empty", "{}",
       "E pod.image containers[0].image: Required value\n"
       "E pod.container-name containers[0].name: Required value\n"},
      {"mount of a volume elsewhere",
       R"({"name":"a","image":"i","volumeMounts":[{"name":"v","mountPath":"/a"}]})",
       "E pod.mount-volume containers[0].volumeMounts[0].name: Not found: \"v\": the pod has no volume of "
       "this name\n"},
      {"claim elsewhere", R"({"name":"a","image":"i","resources":{"claims":[{"name":"gpu"}]}})",
       "E pod.resource-claim containers[0].resources.claims[0].name: Not found: \"gpu\": must be one of the "
       "pod's resourceClaims\n"},
      {"probe of the defaults' port",
       R"({"name":"a","image":"i","livenessProbe":{"httpGet":{"port":"system"}}})",
       "W pod.probe-port-unknown containers[0].livenessProbe.httpGet.port: the container has no port "
       "\"system\"\n"},
      {"probe of a few numbers", R"({"name":"a","image":"i","livenessProbe":{"periodSeconds":5}})",
       "E pod.handler containers[0].livenessProbe: Required value: a handler: one of exec, httpGet, "
       "tcpSocket, grpc\n"},
      {"request whose limit is elsewhere", R"({"name":"a","image":"i","resources":{"requests":{"a/b":1}}})",
       "E pod.resource-limit containers[0].resources.limits[a/b]: Required value: a limit equal to the "
       "request: this "
       "resource "
       "cannot be overcommitted\n"},
      {"two handlers",
       R"({"name":"a","image":"i","readinessProbe":{"exec":{"command":["a"]},"grpc":{"port":1}}})",
       "E pod.handler containers[0].readinessProbe.grpc: Forbidden: only one handler may be given, and exec "
       "is\n"},
      {"image of white space", R"({"name":"a","image":"i\t"})",
       "E pod.image containers[0].image: Invalid value: \"i \": must not have leading or trailing white "
       "space\n"},
      {"variable from a file",
       R"({"name":"a","image":"i","env":[{"name":"A","valueFrom":{"fileKeyRef":)"
       R"({"volumeName":"v","path":"p","key":"k"}}}]})",
       "E pod.env-file containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: \"v\": the pod has "
       "no "
       "volume of this name\n"
       "W pod.feature-gate containers[0].env[0].valueFrom.fileKeyRef: needs the feature gate EnvFiles, off "
       "by "
       "default\n"},
      {"integers written as floats", R"({"name":"a","image":"i","ports":[{"containerPort":80.0}]})", ""},
      {"fractions", R"({"name":"a","image":"i","ports":[{"containerPort":80.5}]})", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(ofContainer(row.container) == row.said);
  }
  CHECK(ofContainer(R"({"name":"a","image":"i","lifecycle":{}})", "initContainers") ==
        "E pod.containers containers: Required value\n"
        "E pod.init-forbidden initContainers[0].lifecycle: Forbidden: may not be set in init containers "
        "without restartPolicy "
        "Always\n");
}

TEST_CASE("annotations up to 256 KiB, keys and values together") {
  const auto said = [](std::size_t bytes) {
    const json::Document map = parsed(R"({"a":")" + std::string(bytes - 1, 'x') + "\"}");
    field::Findings findings;
    annotations(Reports{findings}, &map, At{"metadata.annotations"});
    return joined(lines(std::move(findings)));
  };
  CHECK(said(262144) == "");
  CHECK(said(262145) ==
        "E pod.annotation metadata.annotations: Invalid value: may hold 262144 bytes at most (it has "
        "262145)\n");
}

TEST_CASE("a Job") {
  const auto said = [](std::string_view text) {
    const json::Document job = parsed(text);
    field::Findings findings;
    checkJob(job, "spec.overrides.profilingJob", findings);
    return joined(lines(std::move(findings)));
  };
  const std::string container = R"("containers":[{"name":"a","image":"i"}])";
  const auto pod = [&](const std::string& members) {
    return R"({"template":{"spec":{)" + container + members + "}}}";
  };
  CHECK(said(pod(R"(,"restartPolicy":"Never","tolerations":[{"key":"a"}])")) == "");
  CHECK(said(pod(R"(,"restartPolicy":"Always")")) ==
        "E pod.restart-policy spec.overrides.profilingJob.template.spec.restartPolicy: Unsupported value: "
        "\"Always\": "
        "supported values: \"Never\", \"OnFailure\"\n");
  CHECK(said("{}") ==
        "E pod.containers spec.overrides.profilingJob.template.spec: Required value: a pod with at least one "
        "container\n");
  CHECK(said("7") == "");
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

}  // namespace
}  // namespace dynamo::rules::pod::test
