// Specs that are equal for the lock of the spec.

#include "support.h"

namespace dynamo::rules::test {
namespace {

struct Row {
  const char* name;
  std::string before;  ///< specs as JSON; "" for no spec
  std::string after;
};

/// Specs that override the profiling Job's pod, or its only container.
std::string pod(std::string_view spec) {
  return fmt::format(R"({{"overrides":{{"profilingJob":{{"template":{{"spec":{}}}}}}}}})", spec);
}
std::string container(std::string_view text) {
  return pod(fmt::format(R"({{"containers":[{}]}})", text));
}

/// A variable of a resource; `more` are members of its source.
std::string divisor(std::string_view more) {
  return fmt::format(
      R"({{"env":[{{"name":"A","valueFrom":{{"resourceFieldRef":{{"resource":"limits.cpu"{}}}}}}}]}})", more);
}

bool same(const std::string& before, const std::string& after) {
  const json::Document a = object(before.empty() ? "null" : before);
  const json::Document b = object(after.empty() ? "null" : after);
  const json::Value* left = before.empty() ? nullptr : &a;
  const json::Value* right = after.empty() ? nullptr : &b;
  const bool forth = sameDgdrSpec(left, right);
  CHECK(forth == sameDgdrSpec(right, left));
  return forth;
}

TEST_CASE("the same specs") {
  const Row rows[] = {
      {"none", "", ""},
      {"null and absent", "null", ""},
      {"empty", "{}", "{}"},
      {"an absent spec is an empty one", "{}", ""},
      {"order of members", R"({"model":"m","backend":"vllm"})", R"({"backend":"vllm","model":"m"})"},
      {"image empty", R"({"image":""})", "{}"},
      {"image null", R"({"image":null})", "{}"},
      {"backend empty", R"({"backend":""})", "{}"},
      {"model empty", R"({"model":""})", "{}"},
      {"searchStrategy empty", R"({"searchStrategy":""})", "{}"},
      {"gpuSku empty", R"({"hardware":{"gpuSku":""}})", R"({"hardware":{}})"},
      {"pvcName empty", R"({"modelCache":{"pvcName":""}})", R"({"modelCache":{}})"},
      {"pvcModelPath empty", R"({"modelCache":{"pvcModelPath":""}})", R"({"modelCache":{}})"},
      {"pvcMountPath empty", R"({"modelCache":{"pvcMountPath":""}})", R"({"modelCache":{}})"},
      {"mocker off", R"({"features":{"mocker":{"enabled":false}}})", R"({"features":{"mocker":{}}})"},
      {"null pointers", R"({"hardware":null,"sla":null,"autoApply":null,"overrides":null})", "{}"},
      {"whole doubles", R"({"sla":{"ttft":2000}})", R"({"sla":{"ttft":2000.0}})"},
      {"exponents", R"({"sla":{"ttft":2e3}})", R"({"sla":{"ttft":2000}})"},
      {"planner order", R"({"features":{"planner":{"a":1,"b":2}}})",
       R"({"features":{"planner":{"b":2,"a":1}}})"},
      {"planner null", R"({"features":{"planner":null}})", R"({"features":{}})"},
      {"dgd null", R"({"overrides":{"dgd":null}})", R"({"overrides":{}})"},
      {"memory", container(R"({"resources":{"limits":{"memory":"1024Mi"}}})"),
       container(R"({"resources":{"limits":{"memory":"1Gi"}}})")},
      {"cpu", container(R"({"resources":{"requests":{"cpu":"1000m"}}})"),
       container(R"({"resources":{"requests":{"cpu":1}}})")},
      {"overhead", pod(R"({"containers":[],"overhead":{"cpu":"0.5"}})"),
       pod(R"({"containers":[],"overhead":{"cpu":"500m"}})")},
      {"sizeLimit", pod(R"({"containers":[],"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}]})"),
       pod(R"({"containers":[],"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1024Mi"}}]})")},
      {"empty list in the job", pod(R"({"containers":[],"tolerations":[]})"), pod(R"({"containers":[]})")},
      {"empty map in the job", pod(R"({"containers":[],"nodeSelector":{}})"), pod(R"({"containers":[]})")},
      {"empty text in the job", pod(R"({"containers":[],"nodeName":""})"), pod(R"({"containers":[]})")},
      {"false in the job", pod(R"({"containers":[],"hostNetwork":false})"), pod(R"({"containers":[]})")},
      // Changes by a typed client that reads an object and writes it back.
      {"resources {} of a container", container(R"({"name":"c","resources":{}})"),
       container(R"({"name":"c"})")},
      {"metadata of the template",
       R"({"overrides":{"profilingJob":{"template":{"metadata":{"creationTimestamp":null},"spec":{}}}}})",
       pod("{}")},
      {"zeros of numbers that are no pointers",
       container(
           R"({"livenessProbe":{"initialDelaySeconds":0,"timeoutSeconds":0},"ports":[{"hostPort":0}]})"),
       container(R"({"livenessProbe":{},"ports":[{}]})")},
      {"metadata that the typed API does not read",
       R"({"overrides":{"profilingJob":{"template":{"metadata":{"labels":{"a":"b"},"foo":1},"spec":{}}}}})",
       R"({"overrides":{"profilingJob":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{}}}}})"},
      {"a divisor of 0", container(divisor(R"(,"divisor":"0")")), container(divisor(""))},
      {"a divisor that is the number 0", container(divisor(R"(,"divisor":0)")), container(divisor(""))},
      {"divisors", container(divisor(R"(,"divisor":"1000m")")), container(divisor(R"(,"divisor":"1")"))},
      {"empty env value", container(R"({"env":[{"name":"A","value":""}]})"),
       container(R"({"env":[{"name":"A"}]})")},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(same(row.before, row.after));
    CHECK(same(row.before, row.before));
  }
}

TEST_CASE("different specs") {
  const Row rows[] = {
      {"model", R"({"model":"m"})", R"({"model":"n"})"},
      {"model added", "{}", R"({"model":"m"})"},
      {"case", R"({"model":"m"})", R"({"model":"M"})"},
      {"a space is not empty", R"({"image":" "})", "{}"},
      {"hardware", "{}", R"({"hardware":{}})"},
      {"sla", "{}", R"({"sla":{}})"},
      {"workload", "{}", R"({"workload":{}})"},
      {"modelCache", "{}", R"({"modelCache":{}})"},
      {"features", "{}", R"({"features":{}})"},
      {"mocker", R"({"features":{}})", R"({"features":{"mocker":{}}})"},
      {"mocker on", R"({"features":{"mocker":{"enabled":true}}})", R"({"features":{"mocker":{}}})"},
      {"overrides", "{}", R"({"overrides":{}})"},
      {"isl 0", R"({"workload":{}})", R"({"workload":{"isl":0}})"},
      {"vramMb 0", R"({"hardware":{}})", R"({"hardware":{"vramMb":0}})"},
      {"autoApply false", "{}", R"({"autoApply":false})"},
      {"autoApply true", "{}", R"({"autoApply":true})"},
      {"doubles", R"({"sla":{"ttft":2000}})", R"({"sla":{"ttft":2000.5}})"},
      {"a text for a number", R"({"sla":{"ttft":2000}})", R"({"sla":{"ttft":"2000"}})"},
      {"planner empty", R"({"features":{}})", R"({"features":{"planner":{}}})"},
      {"planner quantities are texts", R"({"features":{"planner":{"limits":{"memory":"1Gi"}}}})",
       R"({"features":{"planner":{"limits":{"memory":"1024Mi"}}}})"},
      {"planner empty text", R"({"features":{"planner":{"image":""}}})", R"({"features":{"planner":{}}})"},
      {"planner list order", R"({"features":{"planner":{"a":[1,2]}}})",
       R"({"features":{"planner":{"a":[2,1]}}})"},
      {"dgd quantities are texts", R"({"overrides":{"dgd":{"limits":{"memory":"1Gi"}}}})",
       R"({"overrides":{"dgd":{"limits":{"memory":"1024Mi"}}}})"},
      {"profilingJob", R"({"overrides":{}})", R"({"overrides":{"profilingJob":{}}})"},
      {"containers [] is not absent", pod(R"({"containers":[]})"), pod(R"({})")},
      {"memory", container(R"({"resources":{"limits":{"memory":"1024M"}}})"),
       container(R"({"resources":{"limits":{"memory":"1Gi"}}})")},
      {"a limit of 0 is not absent", container(R"({"resources":{"limits":{"cpu":"0"}}})"),
       container(R"({"resources":{"limits":{}}})")},
      {"runtimeClassName empty", pod(R"({"runtimeClassName":""})"), pod("{}")},
      {"procMount empty", container(R"({"securityContext":{"procMount":""}})"),
       container(R"({"securityContext":{}})")},
      {"a node label named like a quantity", pod(R"({"nodeSelector":{"sizeLimit":"1k"}})"),
       pod(R"({"nodeSelector":{"sizeLimit":"1000"}})")},
      {"a label named like a quantity",
       R"({"overrides":{"profilingJob":{"template":{"metadata":{"labels":{"divisor":"1k"}},"spec":{}}}}})",
       R"({"overrides":{"profilingJob":{"template":{"metadata":{"labels":{"divisor":"1000"}},"spec":{}}}}})"},
      {"a node label without value", pod(R"({"nodeSelector":{"a":""}})"), pod(R"({"nodeSelector":{}})")},
      {"no sizeLimit and one of 0", pod(R"({"volumes":[{"name":"v","emptyDir":{"sizeLimit":"0"}}]})"),
       pod(R"({"volumes":[{"name":"v","emptyDir":{}}]})")},
      {"backoffLimit 0",
       R"({"overrides":{"profilingJob":{"template":{"spec":{"containers":[]}},"backoffLimit":0}}})",
       pod(R"({"containers":[]})")},
      {"a grace period of 0", pod(R"({"terminationGracePeriodSeconds":0})"), pod("{}")},
      {"a label named foo",
       R"({"overrides":{"profilingJob":{"template":{"metadata":{"labels":{"a":"b","foo":"1"}},"spec":{}}}}})",
       R"({"overrides":{"profilingJob":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{}}}}})"},
      {"an environment value of quantity form", container(R"({"env":[{"name":"A","value":"1Gi"}]})"),
       container(R"({"env":[{"name":"A","value":"1024Mi"}]})")},
      {"container order", pod(R"({"containers":[{"name":"a"},{"name":"b"}]})"),
       pod(R"({"containers":[{"name":"b"},{"name":"a"}]})")},
      {"big integers", R"({"features":{"planner":{"n":9007199254740993}}})",
       R"({"features":{"planner":{"n":9007199254740992}}})"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK_FALSE(same(row.before, row.after));
  }
}

}  // namespace
}  // namespace dynamo::rules::test
