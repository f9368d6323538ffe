// Updates: the lock on the spec by phase, and defects that the change did not touch (adm-Q5, adm-Q6,
// life-Q7).

#include "common/conversion/dgdr.h"
#include "support.h"

namespace dynamo::rules::test {
namespace {

std::string locked(std::string_view phase) {
  return fmt::format(
      "E dgdr-spec-locked spec: Forbidden: may not be changed in phase {}: delete the request and "
      "create it anew\n",
      phase);
}

TEST_CASE("the spec is locked by the old object's phase") {
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
        "W dgdr-failed-is-final spec: the request has failed and is not run again: delete it and create it "
        "anew\n";
    const std::string edited = judged(dgdr(R"({"model":"n"})", row.phase), old);
    CHECK(edited == (row.locked ? locked(row.phase) : std::string_view{row.phase} == "Failed" ? failed : ""));
    CHECK(judged(old, old).empty());
    // The new object's phase does not matter: status is another endpoint's.
    CHECK(judged(dgdr(R"({"model":"m"})", "Pending"), old).empty());
    CHECK(judged(dgdr(R"({"model":"n"})", "Pending"), old) == edited);
  }
}

TEST_CASE("phases of odd types lock nothing and break nothing") {
  for (const char* status : {"null", "7", "[]", "{}", R"({"phase":null})", R"({"phase":["Ready"]})"}) {
    INFO(status);
    const std::string old =
        R"({"metadata":{"name":"r"},"spec":{"model":"m"},"status":)" + std::string{status} + "}";
    CHECK(judged(dgdr(R"({"model":"n"})"), old).empty());
  }
}

TEST_CASE("metadata may change in every phase") {
  const std::string now =
      R"({"metadata":{"name":"r","labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["nvidia.com/f"]},)"
      R"("spec":{"model":"m"},"status":{"phase":"Deployed"}})";
  CHECK(judged(now, dgdr(R"({"model":"m"})", "Deployed")).empty());
  CHECK(judged(dgdr(R"({"model":"m"})", "Deployed"), now).empty());
}

TEST_CASE("an object that is being deleted is not refused") {
  const std::string deleted =
      R"({"metadata":{"name":"r","deletionTimestamp":"2025-01-01T00:00:00Z"},"spec":{},)"
      R"("status":{"phase":"Ready"}})";
  CHECK(judged(deleted, dgdr(R"({"model":"m"})", "Ready")).empty());
  // On CREATE the timestamp is a client's invention.
  CHECK(judged(deleted) == "E dgdr-model-required spec.model: Required value: name a model\n");
}

TEST_CASE("a defect that the update did not touch warns, in the same words") {
  const std::string warning = "W dgdr-model-required spec.model: Required value: name a model\n";
  const std::string error = "E dgdr-model-required spec.model: Required value: name a model\n";
  CHECK(judged(dgdr(R"({"backend":"vllm"})"), dgdr("{}")) == warning);
  CHECK(judged(dgdr(R"({"model":""})"), dgdr(R"({"model":""})")) == warning);
  CHECK(judged(dgdr(R"({"model":""})"), dgdr(R"({"model":"m"})")) == error);
  CHECK(judged(dgdr("{}"), dgdr(R"({"model":"m"})")) == error);
  CHECK(judged(dgdr(R"({"model":""})"), dgdr("{}")) == error);  // touched, though not for the better
  CHECK(judged(dgdr(R"({"model":"m"})"), dgdr("{}")).empty());
}

TEST_CASE("a defect of two fields is touched by either") {
  const char* text =
      " dgdr-thorough-backend spec.searchStrategy: Invalid value: \"thorough\": needs one engine: set "
      "spec.backend "
      "to \"sglang\", \"trtllm\" or \"vllm\"\n";
  const std::string error = "E" + std::string{text};
  const std::string warning = "W" + std::string{text};
  const std::string bad = dgdr(R"({"model":"m","searchStrategy":"thorough","backend":"auto"})");
  CHECK(judged(dgdr(R"({"model":"n","searchStrategy":"thorough","backend":"auto"})"), bad) ==
        "W dgdr-thorough-backend spec.searchStrategy: Invalid value: \"thorough\": needs one engine: set "
        "spec.backend to \"sglang\", \"trtllm\" or \"vllm\"\n");
  CHECK(judged(bad, bad) == warning);
  CHECK(judged(bad, dgdr(R"({"model":"m","searchStrategy":"rapid","backend":"auto"})")) == error);
  CHECK(judged(bad, dgdr(R"({"model":"m","searchStrategy":"thorough","backend":"vllm"})")) == error);
}

TEST_CASE("missing hardware is touched only through spec.hardware") {
  DgdrPolicy off;
  off.hardwareRequired = true;
  const char* text =
      " dgdr-hardware-required spec.hardware: Required value: GPU discovery is off: set gpuSku, vramMb or "
      "numGpusPerNode\n";
  const std::string none = dgdr(R"({"model":"m"})");
  const std::string total = dgdr(R"({"model":"m","hardware":{"totalGpus":8}})");
  CHECK(judged(dgdr(R"({"model":"n"})"), none, off) == "W" + std::string{text});
  CHECK(judged(total, total, off) == "W" + std::string{text});
  // totalGpus is none of the fields that the rule reads (adm-Q5).
  CHECK(judged(total, none, off) == "W" + std::string{text});
  CHECK(judged(dgdr(R"({"model":"m","hardware":{}})"), none, off) == "W" + std::string{text});
  CHECK(judged(total, dgdr(R"({"model":"m","hardware":{"gpuSku":"l40s"}})"), off) == "E" + std::string{text});
}

TEST_CASE("clients of v1alpha1 are told what they can do about fields of v1beta1") {
  DgdrPolicy off;
  off.hardwareRequired = true;
  CHECK(
      judged(dgdr(R"({"model":"m"})"), {}, off, "v1alpha1") ==
      "E dgdr-hardware-required spec.hardware: Required value: GPU discovery is off and v1alpha1 has no such "
      "field: write the request in nvidia.com/v1beta1, or turn on gpu.discoveryEnabled of the operator\n");
  CHECK(judged(dgdr(R"({"model":"m","searchStrategy":"thorough","backend":"auto"})"),
               dgdr(R"({"model":"m","searchStrategy":"thorough","backend":"vllm"})"), {}, "v1alpha1") ==
        "E dgdr-thorough-backend spec.backend: Invalid value: \"auto\": the request has searchStrategy "
        "\"thorough\", of v1beta1, and needs one engine: set \"sglang\", \"trtllm\" or \"vllm\"\n");
}

/// A request of v1alpha1 as the API server hands it on: in v1beta1.
std::string converted(std::string_view spec, std::string_view state, std::string_view metadata = "") {
  const json::Document alpha = object(fmt::format(
      R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest","metadata":{{"name":"r",)"
      R"("namespace":"ns"{}}},"spec":{{"model":"m","backend":"vllm",{}}},"status":{{"state":"{}"}}}})",
      metadata, spec, state));
  json::Document beta;
  REQUIRE(!conversion::convertDgdr(alpha, "nvidia.com/v1beta1", beta, beta.GetAllocator()));
  return json::dump(beta);
}

TEST_CASE("all of the spec that clients of v1alpha1 see is locked (adm-Q6)") {
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
      {"what the schema adds", plain, plain + R"(,"enableGpuDiscovery":true,"useMocker":false)", true},
      {"the key that the schema adds", profiling(R"(,"configMapRef":{"name":"c"})"),
       profiling(R"(,"configMapRef":{"name":"c","key":"disagg.yaml"})"), true},
      {"quantities", profiling(R"(,"resources":{"limits":{"memory":"1Gi"}})"),
       profiling(R"(,"resources":{"limits":{"memory":"1024Mi"}})"), true},
  };
  for (const SpecRow& row : rows) {
    INFO(row.name);
    for (const char* state : {"Profiling", "Ready", "Deploying"}) {
      INFO(state);
      const std::string old = converted(row.before, state);
      const std::string told =
          judged(converted(row.after, state, R"(,"labels":{"a":"b"})"), old, {}, "v1alpha1");
      CHECK((told.find("dgdr-spec-locked") == std::string::npos) == row.same);
    }
    CHECK(judged(converted(row.after, "Pending"), converted(row.before, "Pending"), {}, "v1alpha1")
              .find("dgdr-spec-locked") == std::string::npos);
  }
  // To clients of v1beta1 annotations are metadata.
  const std::string old = converted(plain, "Profiling");
  CHECK(judged(converted(profiling(R"(,"outputPVC":"c")"), "Profiling"), old).empty());
}

TEST_CASE("a foreign namespace in the overrides: kept warns, changed is refused") {
  const auto with = [](std::string_view space) {
    return fmt::format(
        R"({{"metadata":{{"name":"r","namespace":"ns","annotations":{{)"
        R"("nvidia.com/dgdr-deployment-overrides":"{{\"namespace\":\"{}\"}}"}}}},"spec":{{"model":"m"}}}})",
        space);
  };
  for (const char* version : {"v1alpha1", "v1beta1"}) {
    INFO(version);
    CHECK(judged(with("a"), with("a"), {}, version).starts_with("W dgdr-overrides-namespace "));
    CHECK(judged(with("b"), with("a"), {}, version).starts_with("E dgdr-overrides-namespace "));
    CHECK(judged(with("ns"), with("a"), {}, version).empty());
  }
}

TEST_CASE("the lock is no defect: it holds though the old object had one") {
  CHECK(judged(dgdr(R"({"backend":"vllm"})", "Ready"), dgdr("{}", "Ready")) ==
        locked("Ready") + "W dgdr-model-required spec.model: Required value: name a model\n");
}

}  // namespace
}  // namespace dynamo::rules::test
