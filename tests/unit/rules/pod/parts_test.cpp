// Parts of pods, and cases that the table for the API server cannot contain.

#include "common/rules/pod/parts.h"
#include "support.h"

namespace dynamo::rules::pod::test {
namespace {

/// The findings about a container that is alone in its pod.
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
    const char* findingText;
  };
  const Row rows[] = {
      {"empty", "{}",
       "E pod.image containers[0].image: Required value\n"
       "E pod.container-name containers[0].name: Required value\n"},
      {"mount of a volume outside the part",
       R"({"name":"a","image":"i","volumeMounts":[{"name":"v","mountPath":"/a"}]})",
       "E pod.mount-volume containers[0].volumeMounts[0].name: Not found: \"v\": the pod has no volume of "
       "this name\n"},
      {"claim outside the part", R"({"name":"a","image":"i","resources":{"claims":[{"name":"gpu"}]}})",
       "E pod.resource-claim containers[0].resources.claims[0].name: Not found: \"gpu\": must be one of the "
       "pod's resourceClaims\n"},
      {"probe of a default port", R"({"name":"a","image":"i","livenessProbe":{"httpGet":{"port":"system"}}})",
       "W pod.probe-port-unknown containers[0].livenessProbe.httpGet.port: the container has no port "
       "\"system\"\n"},
      {"probe with numbers only", R"({"name":"a","image":"i","livenessProbe":{"periodSeconds":5}})",
       "E pod.handler containers[0].livenessProbe: Required value: must specify one of: exec, httpGet, "
       "tcpSocket, grpc\n"},
      {"request with a limit outside the part",
       R"({"name":"a","image":"i","resources":{"requests":{"a/b":1}}})",
       "E pod.resource-limit containers[0].resources.limits[a/b]: Required value: must equal the request "
       "because this resource cannot be overcommitted\n"},
      {"two handlers",
       R"({"name":"a","image":"i","readinessProbe":{"exec":{"command":["a"]},"grpc":{"port":1}}})",
       "E pod.handler containers[0].readinessProbe.grpc: Forbidden: may not be set together with exec\n"},
      {"image of whitespace", R"({"name":"a","image":"i\t"})",
       "E pod.image containers[0].image: Invalid value: \"i \": must not have leading or trailing "
       "whitespace\n"},
      {"variable from a file",
       R"({"name":"a","image":"i","env":[{"name":"A","valueFrom":{"fileKeyRef":)"
       R"({"volumeName":"v","path":"p","key":"k"}}}]})",
       "E pod.env-file containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: \"v\": the pod has "
       "no "
       "volume of this name\n"
       "W pod.feature-gate containers[0].env[0].valueFrom.fileKeyRef: needs feature gate EnvFiles, which "
       "is off by default\n"},
      {"integers written as floats", R"({"name":"a","image":"i","ports":[{"containerPort":80.0}]})", ""},
      {"fractions", R"({"name":"a","image":"i","ports":[{"containerPort":80.5}]})", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(ofContainer(row.container) == row.findingText);
  }
  CHECK(ofContainer(R"({"name":"a","image":"i","lifecycle":{}})", "initContainers") ==
        "E pod.containers containers: Required value\n"
        "E pod.init-forbidden initContainers[0].lifecycle: Forbidden: may not be set for init containers "
        "without restartPolicy=Always\n");
}

TEST_CASE("annotations are limited to 256 KiB for keys and values together") {
  const auto findingText = [](std::size_t bytes) {
    const json::Document map = parsed(R"({"a":")" + std::string(bytes - 1, 'x') + "\"}");
    field::Findings findings;
    annotations(Reports{findings}, &map, At{"metadata.annotations"});
    return joined(lines(std::move(findings)));
  };
  CHECK(findingText(262144) == "");
  CHECK(findingText(262145) ==
        "E pod.annotation metadata.annotations: Invalid value: may not be more than 262144 bytes in total "
        "(they have 262145)\n");
}

TEST_CASE("a Job") {
  const auto findingText = [](std::string_view text) {
    const json::Document job = parsed(text);
    field::Findings findings;
    checkJob(job, "spec.overrides.profilingJob", findings);
    return joined(lines(std::move(findings)));
  };
  const std::string container = R"("containers":[{"name":"a","image":"i"}])";
  const auto pod = [&](const std::string& members) {
    return R"({"template":{"spec":{)" + container + members + "}}}";
  };
  CHECK(findingText(pod(R"(,"restartPolicy":"Never","tolerations":[{"key":"a"}])")) == "");
  CHECK(findingText(pod(R"(,"restartPolicy":"Always")")) ==
        "E pod.restart-policy spec.overrides.profilingJob.template.spec.restartPolicy: Unsupported value: "
        "\"Always\": "
        "supported values: \"Never\", \"OnFailure\"\n");
  CHECK(findingText("{}") ==
        "E pod.containers spec.overrides.profilingJob.template.spec: Required value: must be a pod with at "
        "least one container\n");
  CHECK(findingText("7") == "");
}

TEST_CASE("doubtful image names") {
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
      {"a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", ""},
      {"a:1@sha512:ABC", ""},
      {"[::1]:5000/a/b__c.d-e--f", ""},
      {"localhost/a", ""},
      {"a@sha256:ABC", "has a digest that is not sha256: and 64 hexadecimal digits"},
      {"a@1", "has a digest that is not sha256: and 64 hexadecimal digits"},
      {"registry/x:latest:1", "has a tag that no registry allows"},
      {"x:-1", "has a tag that no registry allows"},
      {"nvcr.io//x:1", "has a repository that no registry allows"},
      {"a/b/", "has a repository that no registry allows"},
      {"/a", "has a repository that no registry allows"},
      {"a/.b", "has a repository that no registry allows"},
      {"a/b-:1", "has a repository that no registry allows"},
      {"a,b", "has a repository that no registry allows"},
      {"Team/app", "has upper case letters in its repository, which no registry allows"},
      {"reg.io/Team/app:1", "has upper case letters in its repository, which no registry allows"},
      {"App", "has upper case letters in its repository, which no registry allows"},
      {"a:", "has no tag after ':'"},
      {"reg:5000/a:", "has no tag after ':'"},
      {"a:1+2", "has '+' in its tag, which no registry allows"},
      {"a\tb", "contains whitespace"},
  };
  for (const Row& row : rows) {
    INFO(row.image);
    CHECK(imageWarning(row.image) == row.doubt);
  }
}

}  // namespace
}  // namespace dynamo::rules::pod::test
