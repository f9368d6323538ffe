// Settings of v1alpha1 that nothing reads anymore (conv-Q1).

#include "common/admission/dgdr.h"
#include "common/conversion/dgdr.h"
#include "rows.h"
#include "support.h"

namespace dynamo::admission {
namespace {

using rules::test::lines;
using rules::test::object;

json::Document converted(std::string_view spec) {
  const json::Document alpha = object(fmt::format(
      R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest","metadata":{{"name":"r"}},)"
      R"("spec":{{"model":"m","backend":"vllm",{}}}}})",
      spec));
  json::Document beta;
  json::Value hub;
  REQUIRE(!conversion::convertDgdr(alpha, "nvidia.com/v1beta1", hub, beta.GetAllocator()));
  static_cast<json::Value&>(beta) = json::copy(hub, beta.GetAllocator());
  return beta;
}

std::string findingsOf(std::string_view spec, std::string_view old = {},
                       std::string_view version = "v1alpha1") {
  const rules::DgdrPolicy policy;
  const json::Document now = converted(spec);
  if (old.empty()) return lines(validateDgdr({now, nullptr, version, policy}));
  const json::Document before = converted(old);
  return lines(validateDgdr({now, &before, version, policy}));
}

std::string profiling(std::string_view members) {
  return fmt::format(R"("profilingConfig":{{"profilerImage":"i:1"{}}})", members);
}

std::string config(std::string_view members) {
  return profiling(fmt::format(R"(,"config":{{{}}})", members));
}

void check(const std::vector<test::Row>& rows) {
  test::check([](std::string_view spec) { return findingsOf(spec); }, rows);
}

std::string warning(std::string_view path, std::string_view text) {
  return fmt::format("W dgdr-ineffective-field spec.{}: {}\n", path, text);
}

std::string ofConfig(std::string_view path, std::string_view text) {
  return warning(fmt::format("profilingConfig.config.{}", path), text);
}

TEST_CASE("unknown and unused keys of the profiler configuration") {
  const std::string unread = "has no effect because nothing reads it";
  check({
      {"all known keys",
       config(R"("sla":{"ttft":150.5,"itl":2,"isl":3,"osl":4},"planner":{"a":1},)"
              R"("deployment":{"modelCache":{"pvcName":"c","pvcPath":"p","mountPath":"/m"}})"),
       ""},
      {"nothing", config(""), ""},
      {"null counts as absent", config(R"("hardware":null,"sla":{"x":null})"), ""},
      {"keys of former profilers", config(R"("hardware":{"a":1},"engine":{},"sweep":{})"),
       ofConfig("hardware", "no longer has an effect: use spec.hardware of v1beta1") +
           ofConfig("engine", "no longer has an effect") +
           ofConfig("sweep", "no longer has an effect: use spec.searchStrategy of v1beta1")},
      {"others", config(R"("output_dir":"/x","extra":[1])"),
       ofConfig("output_dir", unread) + ofConfig("extra", unread)},
      {"a typing error", config(R"("planer":{"a":1})"),
       ofConfig("planer", unread + " (did you mean \"planner\"?)")},
      {"keys of the targets",
       config(R"("sla":{"ttft":100,"itl":10,"concurrency":4,"TTFT":2,"e2eLatency":9})"),
       ofConfig("sla.concurrency", unread) + ofConfig("sla.TTFT", unread + " (did you mean \"ttft\"?)") +
           ofConfig("sla.e2eLatency", "no longer has an effect: use spec.sla.e2eLatency of v1beta1")},
      {"keys of the deployment",
       config(R"("deployment":{"model":"x","namespace":"y","dgd_image":"z","w":1})"),
       ofConfig("deployment.model", "no longer has an effect: use spec.model") +
           ofConfig("deployment.namespace", "no longer has an effect: use metadata.namespace") +
           ofConfig("deployment.dgd_image", "no longer has an effect: use spec.overrides.dgd of v1beta1") +
           ofConfig("deployment.w", unread)},
      {"keys of the model cache",
       config(R"("deployment":{"modelCache":{"pvcName":"c","pvcNam":"d","size":1}})"),
       ofConfig("deployment.modelCache.pvcNam", unread + " (did you mean \"pvcName\"?)") +
           ofConfig("deployment.modelCache.size", unread)},
      {"an empty planner", config(R"("planner":{})"),
       ofConfig("planner", "has no effect because it is empty")},
  });
}

TEST_CASE("values of wrong types in the profiler configuration") {
  const auto count = [](std::string_view key, std::string_view value, int otherwise) {
    return ofConfig(fmt::format("sla.{}", key),
                    fmt::format("has no effect because {} is not a whole number; the default {} is used",
                                value, otherwise));
  };
  check({
      {"tokens as text", config(R"("sla":{"isl":"3000","osl":"500"})"),
       count("isl", "\"3000\"", 4000) + count("osl", "\"500\"", 1000)},
      {"tokens as a fraction", config(R"("sla":{"isl":3000.5})"), count("isl", "3000.5", 4000)},
      {"more tokens than allowed", config(R"("sla":{"isl":3e10})"), count("isl", "30000000000.0", 4000)},
      {"whole numbers in other notations", config(R"("sla":{"isl":3000.0,"osl":5e2})"), ""},
      {"latencies as text", config(R"("sla":{"ttft":"200ms","itl":true})"),
       ofConfig("sla.ttft", "has no effect because \"200ms\" is not a number") +
           ofConfig("sla.itl", "has no effect because true is not a number")},
      {"one valid and one invalid latency", config(R"("sla":{"ttft":"200","itl":20})"),
       ofConfig("sla.ttft", "has no effect because \"200\" is not a number")},
      {"values that are no objects", config(R"("sla":"fast","deployment":[],"planner":true)"),
       ofConfig("sla", "has no effect because it is not an object") +
           ofConfig("deployment", "has no effect because it is not an object") +
           ofConfig("planner", "has no effect because it is not an object")},
      {"a model cache that is no object", config(R"("deployment":{"modelCache":"c"})"),
       ofConfig("deployment.modelCache", "has no effect because it is not an object")},
      {"a claim name that is a number", config(R"("deployment":{"modelCache":{"pvcName":7}})"),
       ofConfig("deployment.modelCache.pvcName", "has no effect because 7 is not a string")},
      {"a configuration that is no object", profiling(R"(,"config":"sla: {}")"), ""},  // the schema's matter
  });
}

TEST_CASE("fields of v1alpha1 without effect") {
  check({
      {"a base ConfigMap", profiling(R"(,"configMapRef":{"name":"c"})"),
       warning("profilingConfig.configMapRef",
               "is mounted but not used as a base: use spec.overrides.dgd of v1beta1")},
      {"a node selector", profiling(R"(,"nodeSelector":{"a":"b"})"),
       warning("profilingConfig.nodeSelector",
               "no longer has an effect: use spec.overrides.profilingJob of v1beta1")},
      {"an empty node selector", profiling(R"(,"nodeSelector":{})"), ""},
      {"discovery off", profiling("") + R"(,"enableGpuDiscovery":false)",
       warning("enableGpuDiscovery", "no longer has an effect: use spec.hardware of v1beta1")},
      {"discovery on, the schema default", profiling("") + R"(,"enableGpuDiscovery":true)", ""},
      {"two images", profiling("") + R"(,"deploymentOverrides":{"workersImage":"w:1"})",
       warning("deploymentOverrides.workersImage",
               "no longer has an effect when profilerImage is set: use spec.overrides.dgd of v1beta1")},
      {"one image twice", profiling("") + R"(,"deploymentOverrides":{"workersImage":"i:1"})", ""},
      {"the workers' image alone", R"("profilingConfig":{},"deploymentOverrides":{"workersImage":"w:1"})",
       ""},
      {"a planner that is off", config(R"("planner":{"enabled":false})"),
       "W dgdr-planner-on spec.profilingConfig.config.planner.enabled: does not turn the planner off: remove "
       "the planner block\n"},
  });
}

TEST_CASE("settings without effect are reported to v1alpha1 clients when they are written") {
  const auto engine = [](int a) { return config(fmt::format(R"("engine":{{"a":{}}})", a)); };
  const std::string told = ofConfig("engine", "no longer has an effect");
  CHECK(findingsOf(engine(1)) == told);
  CHECK(findingsOf(engine(1), {}, "v1beta1").empty());
  CHECK(findingsOf(engine(2), engine(1)) == told);
  CHECK(findingsOf(engine(1), engine(1)).empty());
}

}  // namespace
}  // namespace dynamo::admission
