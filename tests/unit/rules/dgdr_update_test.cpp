// Updates: the spec is locked in some phases, and errors in unchanged fields warn (adm-Q5, adm-Q6, life-Q7).

#include "common/conversion/dgdr.h"
#include "support.h"

namespace dynamo::rules::test {
namespace {

std::string locked(std::string_view phase) {
  return fmt::format(
      "E dgdr-spec-locked spec: Forbidden: may not be changed in phase {}: delete the request and create it "
      "again\n",
      phase);
}

TEST_CASE("the old object's phase locks the spec") {
  struct Row {
    const char* phase;
    bool locked;
  };
  const Row rows[] = {{"", false},           {"Pending", false}, {"Profiling", true}, {"Ready", true},
                      {"Deploying", true},   {"Deployed", true}, {"Failed", false},   {"profiling", false},
                      {"Profiling ", false}, {"garbage", false}};
  for (const Row& row : rows) {
    INFO(row.phase);
    const std::string old = dgdr(R"({"model":"m"})", row.phase);
    const std::string failed =
        "W dgdr-failed-is-final spec: has no effect because the request has failed: delete the request and "
        "create it again\n";
    const std::string edited = findingsOf(dgdr(R"({"model":"n"})", row.phase), old);
    CHECK(edited == (row.locked ? locked(row.phase) : std::string_view{row.phase} == "Failed" ? failed : ""));
    CHECK(findingsOf(old, old).empty());
    // The new object's phase has no effect, because status has its own endpoint.
    CHECK(findingsOf(dgdr(R"({"model":"m"})", "Pending"), old).empty());
    CHECK(findingsOf(dgdr(R"({"model":"n"})", "Pending"), old) == edited);
  }
}

TEST_CASE("a phase of the wrong type does not lock the spec") {
  for (const char* status : {"null", "7", "[]", "{}", R"({"phase":null})", R"({"phase":["Ready"]})"}) {
    INFO(status);
    const std::string old =
        R"({"metadata":{"name":"r"},"spec":{"model":"m"},"status":)" + std::string{status} + "}";
    CHECK(findingsOf(dgdr(R"({"model":"n"})"), old).empty());
  }
}

TEST_CASE("metadata may change in every phase") {
  const std::string now =
      R"({"metadata":{"name":"r","labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["nvidia.com/f"]},)"
      R"("spec":{"model":"m"},"status":{"phase":"Deployed"}})";
  CHECK(findingsOf(now, dgdr(R"({"model":"m"})", "Deployed")).empty());
  CHECK(findingsOf(dgdr(R"({"model":"m"})", "Deployed"), now).empty());
}

TEST_CASE("an update of an object that is being deleted is not rejected") {
  const std::string deleted =
      R"({"metadata":{"name":"r","deletionTimestamp":"2025-01-01T00:00:00Z"},"spec":{},)"
      R"("status":{"phase":"Ready"}})";
  CHECK(findingsOf(deleted, dgdr(R"({"model":"m"})", "Ready")).empty());
  // On CREATE a client cannot set the timestamp.
  CHECK(findingsOf(deleted) == "E dgdr-model-required spec.model: Required value: must name a model\n");
}

TEST_CASE("an error in unchanged fields is a warning with the same message") {
  const std::string warning = "W dgdr-model-required spec.model: Required value: must name a model\n";
  const std::string error = "E dgdr-model-required spec.model: Required value: must name a model\n";
  CHECK(findingsOf(dgdr(R"({"backend":"vllm"})"), dgdr("{}")) == warning);
  CHECK(findingsOf(dgdr(R"({"model":""})"), dgdr(R"({"model":""})")) == warning);
  CHECK(findingsOf(dgdr(R"({"model":""})"), dgdr(R"({"model":"m"})")) == error);
  CHECK(findingsOf(dgdr("{}"), dgdr(R"({"model":"m"})")) == error);
  CHECK(findingsOf(dgdr(R"({"model":""})"), dgdr("{}")) == error);  // touched, though not for the better
  CHECK(findingsOf(dgdr(R"({"model":"m"})"), dgdr("{}")).empty());
}

TEST_CASE("an error about two fields is new when either field changes") {
  const char* text =
      " dgdr-thorough-backend spec.searchStrategy: Invalid value: \"thorough\": needs one engine: set "
      "spec.backend to \"sglang\", \"trtllm\" or \"vllm\"\n";
  const std::string error = "E" + std::string{text};
  const std::string warning = "W" + std::string{text};
  const std::string bad = dgdr(R"({"model":"m","searchStrategy":"thorough","backend":"auto"})");
  CHECK(findingsOf(dgdr(R"({"model":"n","searchStrategy":"thorough","backend":"auto"})"), bad) ==
        "W dgdr-thorough-backend spec.searchStrategy: Invalid value: \"thorough\": needs one engine: set "
        "spec.backend to \"sglang\", \"trtllm\" or \"vllm\"\n");
  CHECK(findingsOf(bad, bad) == warning);
  CHECK(findingsOf(bad, dgdr(R"({"model":"m","searchStrategy":"rapid","backend":"auto"})")) == error);
  CHECK(findingsOf(bad, dgdr(R"({"model":"m","searchStrategy":"thorough","backend":"vllm"})")) == error);
}

TEST_CASE("missing hardware is only a new error when spec.hardware changes") {
  DgdrPolicy off;
  off.hardwareRequired = true;
  const char* text =
      " dgdr-hardware-required spec.hardware: Required value: must set gpuSku, vramMb or numGpusPerNode "
      "because GPU discovery is off\n";
  const std::string none = dgdr(R"({"model":"m"})");
  const std::string total = dgdr(R"({"model":"m","hardware":{"totalGpus":8}})");
  CHECK(findingsOf(dgdr(R"({"model":"n"})"), none, off) == "W" + std::string{text});
  CHECK(findingsOf(total, total, off) == "W" + std::string{text});
  // The rule does not read totalGpus (adm-Q5).
  CHECK(findingsOf(total, none, off) == "W" + std::string{text});
  CHECK(findingsOf(dgdr(R"({"model":"m","hardware":{}})"), none, off) == "W" + std::string{text});
  CHECK(findingsOf(total, dgdr(R"({"model":"m","hardware":{"gpuSku":"l40s"}})"), off) ==
        "E" + std::string{text});
}

TEST_CASE("clients of v1alpha1 get advice about fields of v1beta1") {
  DgdrPolicy off;
  off.hardwareRequired = true;
  CHECK(findingsOf(dgdr(R"({"model":"m"})"), {}, off, "v1alpha1") ==
        "E dgdr-hardware-required spec.hardware: Required value: must be set because GPU discovery is off, "
        "but v1alpha1 has no such field: use nvidia.com/v1beta1, or enable gpu.discoveryEnabled in the "
        "operator's configuration\n");
  CHECK(findingsOf(dgdr(R"({"model":"m","searchStrategy":"thorough","backend":"auto"})"),
                   dgdr(R"({"model":"m","searchStrategy":"thorough","backend":"vllm"})"), {}, "v1alpha1") ==
        "E dgdr-thorough-backend spec.backend: Invalid value: \"auto\": must be "
        "\"sglang\", \"trtllm\" or \"vllm\" because searchStrategy is \"thorough\" in v1beta1\n");
}

/// A request of v1alpha1, converted to v1beta1 as the API server sends it.
std::string converted(std::string_view spec, std::string_view state, std::string_view metadata = "") {
  const json::Document alpha = object(fmt::format(
      R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest","metadata":{{"name":"r",)"
      R"("namespace":"ns"{}}},"spec":{{"model":"m","backend":"vllm",{}}},"status":{{"state":"{}"}}}})",
      metadata, spec, state));
  json::Document beta;
  REQUIRE(!conversion::convertDgdr(alpha, "nvidia.com/v1beta1", beta, beta.GetAllocator()));
  return json::dump(beta);
}

TEST_CASE("the whole spec that clients of v1alpha1 see is locked (adm-Q6)") {
  const auto profiling = [](std::string_view members) {
    return fmt::format(R"("profilingConfig":{{"profilerImage":"p"{}}})", members);
  };
  const std::string plain = profiling("");
  struct SpecRow {
    const char* name;
    std::string before;
    std::string after;
    bool same;
  };
  const SpecRow rows[] = {
      {"overrides", plain, plain + R"(,"deploymentOverrides":{"name":"d"})", false},
      {"outputPVC", plain, profiling(R"(,"outputPVC":"c")"), false},
      {"configMapRef", plain, profiling(R"(,"configMapRef":{"name":"c"})"), false},
      {"another key of the configuration", profiling(R"(,"config":{"engine":{"a":1}})"),
       profiling(R"(,"config":{"engine":{"a":2}})"), false},
      {"discovery", plain + R"(,"enableGpuDiscovery":true)", plain + R"(,"enableGpuDiscovery":false)", false},
      {"nodeSelector", plain, profiling(R"(,"nodeSelector":{"a":"b"})"), false},
      {"workersImage", plain + R"(,"deploymentOverrides":{"workersImage":"w"})", plain, false},
      {"a node label without value", profiling(R"(,"nodeSelector":{"a":""})"), plain, false},
      {"an empty workersImage", plain + R"(,"deploymentOverrides":{"name":"d","workersImage":""})",
       plain + R"(,"deploymentOverrides":{"name":"d"})", true},
      {"nothing", plain, plain, true},
      {"zeros", plain, profiling(R"(,"outputPVC":"","nodeSelector":{},"tolerations":[])"), true},
      {"empty overrides' labels", plain + R"(,"deploymentOverrides":{"name":"d"})",
       plain + R"(,"deploymentOverrides":{"name":"d","labels":{}})", true},
      {"schema defaults", plain, plain + R"(,"enableGpuDiscovery":true,"useMocker":false)", true},
      {"the schema default of the key", profiling(R"(,"configMapRef":{"name":"c"})"),
       profiling(R"(,"configMapRef":{"name":"c","key":"disagg.yaml"})"), true},
      {"quantities", profiling(R"(,"resources":{"limits":{"memory":"1Gi"}})"),
       profiling(R"(,"resources":{"limits":{"memory":"1024Mi"}})"), true},
  };
  for (const SpecRow& row : rows) {
    INFO(row.name);
    for (const char* state : {"Profiling", "Ready", "Deploying"}) {
      INFO(state);
      const std::string old = converted(row.before, state);
      const std::string findings =
          findingsOf(converted(row.after, state, R"(,"labels":{"a":"b"})"), old, {}, "v1alpha1");
      CHECK((findings.find("dgdr-spec-locked") == std::string::npos) == row.same);
    }
    CHECK(findingsOf(converted(row.after, "Pending"), converted(row.before, "Pending"), {}, "v1alpha1")
              .find("dgdr-spec-locked") == std::string::npos);
  }
  // For clients of v1beta1 annotations are metadata.
  const std::string old = converted(plain, "Profiling");
  CHECK(findingsOf(converted(profiling(R"(,"outputPVC":"c")"), "Profiling"), old).empty());
}

TEST_CASE("another namespace in the overrides: unchanged is a warning, changed is an error") {
  const auto with = [](std::string_view namespaceName) {
    return fmt::format(
        R"({{"metadata":{{"name":"r","namespace":"ns","annotations":{{)"
        R"("nvidia.com/dgdr-deployment-overrides":"{{\"namespace\":\"{}\"}}"}}}},"spec":{{"model":"m"}}}})",
        namespaceName);
  };
  for (const char* version : {"v1alpha1", "v1beta1"}) {
    INFO(version);
    CHECK(findingsOf(with("a"), with("a"), {}, version).starts_with("W dgdr-overrides-namespace "));
    CHECK(findingsOf(with("b"), with("a"), {}, version).starts_with("E dgdr-overrides-namespace "));
    CHECK(findingsOf(with("ns"), with("a"), {}, version).empty());
  }
}

TEST_CASE("the lock applies although the old object has errors") {
  CHECK(findingsOf(dgdr(R"({"backend":"vllm"})", "Ready"), dgdr("{}", "Ready")) ==
        locked("Ready") + "W dgdr-model-required spec.model: Required value: must name a model\n");
}

}  // namespace
}  // namespace dynamo::rules::test
