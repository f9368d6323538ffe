// The rules of DynamoGraphDeploymentRequest on a new object.

#include <set>

#include "support.h"

namespace dynamo::rules::test {
namespace {

const std::string kModel = "E dgdr-model-required spec.model: Required value: must name a model\n";
const std::string kThorough =
    "E dgdr-thorough-backend spec.searchStrategy: Invalid value: \"thorough\": needs one engine: set "
    "spec.backend to \"sglang\", \"trtllm\" or \"vllm\"\n";
const std::string kHardware =
    "E dgdr-hardware-required spec.hardware: Required value: must set gpuSku, vramMb or numGpusPerNode "
    "because GPU discovery is off\n";

struct Row {
  const char* name;
  std::string object;
  std::string expected;
};

void check(const std::vector<Row>& rows, const DgdrPolicy& policy = {},
           std::string_view version = "v1beta1") {
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(findingsOf(row.object, {}, policy, version) == row.expected);
  }
}

TEST_CASE("dgdr-model-required (b1-Q7)") {
  check({
      {"given", dgdr(R"({"model":"m"})"), ""},
      {"absent", dgdr("{}"), kModel},
      {"empty", dgdr(R"({"model":""})"), kModel},
      {"null", dgdr(R"({"model":null})"), kModel},
      {"a space is a name", dgdr(R"({"model":" "})"), ""},
      {"another type is left to the schema", dgdr(R"({"model":7})"), ""},
      {"spec null", dgdr("null"), kModel},
      {"spec a list", dgdr("[]"), kModel},
      {"no spec", R"({"metadata":{"name":"r"}})", kModel},
      {"empty object", "{}", kModel},
      {"not an object", "[]", kModel},
  });
}

TEST_CASE("dgdr-thorough-backend (10.1-1)") {
  const auto with = [](std::string_view rest) { return dgdr(R"({"model":"m",)" + std::string{rest} + "}"); };
  check({
      {"auto", with(R"("searchStrategy":"thorough","backend":"auto")"), kThorough},
      {"vllm", with(R"("searchStrategy":"thorough","backend":"vllm")"), ""},
      {"sglang", with(R"("searchStrategy":"thorough","backend":"sglang")"), ""},
      {"rapid", with(R"("searchStrategy":"rapid","backend":"auto")"), ""},
      {"no strategy", with(R"("backend":"auto")"), ""},
      // The API server defaults the backend to auto first, so it is only absent in an object without schema
      // defaults.
      {"absent backend", with(R"("searchStrategy":"thorough")"), ""},
      {"another spelling", with(R"("searchStrategy":"Thorough","backend":"auto")"), ""},
      {"another type", with(R"("searchStrategy":["thorough"],"backend":"auto")"), ""},
  });
}

TEST_CASE("dgdr-hardware-required (10.1-2)") {
  DgdrPolicy off;
  off.hardwareRequired = true;
  const auto with = [](std::string_view hardware) {
    return dgdr(R"({"model":"m","hardware":)" + std::string{hardware} + "}");
  };
  const std::vector<Row> rows = {
      {"absent", dgdr(R"({"model":"m"})"), kHardware},
      {"null", with("null"), kHardware},
      {"empty", with("{}"), kHardware},
      {"another type", with("7"), kHardware},
      {"totalGpus alone", with(R"({"totalGpus":8})"), kHardware},
      {"gpuSku", with(R"({"gpuSku":"h100_sxm"})"), ""},
      {"gpuSku empty", with(R"({"gpuSku":""})"), kHardware},
      {"gpuSku null", with(R"({"gpuSku":null})"), kHardware},
      {"vramMb", with(R"({"vramMb":81920})"), ""},
      {"vramMb null", with(R"({"vramMb":null})"), kHardware},
      {"numGpusPerNode", with(R"({"numGpusPerNode":8})"), ""},
      {"all", with(R"({"gpuSku":"l40s","vramMb":49152,"totalGpus":1,"numGpusPerNode":1})"), ""},
  };
  check(rows, off);
  for (const Row& row : rows) {
    INFO(row.name << " with discovery");
    CHECK(findingsOf(row.object).empty());
  }
  CHECK(findingsOf(with(R"({"vramMb":0})"), {}, off) ==
        "W dgdr-positive-numbers spec.hardware.vramMb: should be greater than 0, but is 0\n");
}

TEST_CASE("all errors are reported together, sorted by path") {
  DgdrPolicy off;
  off.hardwareRequired = true;
  CHECK(findingsOf(dgdr(R"({"searchStrategy":"thorough","backend":"auto"})"), {}, off) ==
        kHardware + kModel + kThorough);
}

TEST_CASE("dgdr-name-length (life-Q20)") {
  const auto named = [](std::size_t length) {
    return R"({"metadata":{"name":")" + std::string(length, 'n') + R"("},"spec":{"model":"m"}})";
  };
  const std::string tooLong =
      "E dgdr-name-length metadata.name: Too long: may not be more than 55 bytes (it has 56): the profiling "
      "Job "
      "is named after it\n";
  CHECK(findingsOf(named(55)).empty());
  CHECK(findingsOf(named(56)) == tooLong);
  CHECK(findingsOf(named(0)).empty());
  CHECK(findingsOf(R"({"metadata":{"generateName":")" + std::string(60, 'n') + R"("},"spec":{"model":"m"}})")
            .empty());
  // An existing object cannot be renamed.
  CHECK(findingsOf(named(56), named(56)) == "W" + tooLong.substr(1));
}

TEST_CASE("dgdr-overrides-namespace (conv-Q2)") {
  const auto with = [](std::string_view overrides, std::string_view namespaceName = "ns") {
    return fmt::format(R"({{"metadata":{{"name":"r","namespace":"{}","annotations":{{)"
                       R"("nvidia.com/dgdr-deployment-overrides":{}}}}},"spec":{{"model":"m"}}}})",
                       namespaceName, overrides);
  };
  const std::string text =
      "Forbidden: the deployment is created in the namespace of the request, \"ns\", not in \"other\"\n";
  const std::string beta =
      "E dgdr-overrides-namespace metadata.annotations[nvidia.com/dgdr-deployment-overrides]: " + text;
  const std::string alpha = "E dgdr-overrides-namespace spec.deploymentOverrides.namespace: " + text;
  const char* kOther = R"("{\"name\":\"d\",\"namespace\":\"other\"}")";
  check({
      {"another", with(kOther), beta},
      {"its own", with(R"("{\"namespace\":\"ns\"}")"), ""},
      {"none", with(R"("{\"name\":\"d\"}")"), ""},
      {"empty", with(R"("{\"namespace\":\"\"}")"), ""},
      {"no JSON", with(R"("{")"), ""},
      {"no object", with(R"("[\"other\"]")"), ""},
      {"no text", with(R"({"namespace":"other"})"), ""},
      {"namespace a number", with(R"("{\"namespace\":7}")"), ""},
  });
  check({{"v1alpha1 client", with(kOther), alpha}}, {}, "v1alpha1");
  DgdrPolicy open;
  open.allowOtherNamespaces = true;
  check({{"configured", with(kOther), ""}}, open);
}

TEST_CASE("dgdr-positive-numbers (b1-Q9)") {
  const char* const groups[][2] = {
      {"hardware", "vramMb"},      {"hardware", "totalGpus"}, {"hardware", "numGpusPerNode"},
      {"workload", "isl"},         {"workload", "osl"},       {"workload", "concurrency"},
      {"workload", "requestRate"}, {"sla", "ttft"},           {"sla", "itl"},
      {"sla", "e2eLatency"}};
  for (const auto& [group, field] : groups) {
    const auto with = [&, g = group, f = field](std::string_view value) {
      return findingsOf(dgdr(fmt::format(R"({{"model":"m","{}":{{"{}":{}}}}})", g, f, value)));
    };
    const auto warning = [&, g = group, f = field](std::string_view shown) {
      return fmt::format("W dgdr-positive-numbers spec.{}.{}: should be greater than 0, but is {}\n", g, f,
                         shown);
    };
    INFO(group << "." << field);
    CHECK(with("10000").empty());
    CHECK(with("2048.5").empty());
    CHECK(with("0") == warning("0"));
    CHECK(with("-1") == warning("-1"));
    CHECK(with("-0.25") == warning("-0.25"));
    CHECK(with("0.0") == warning("0.0"));
    CHECK(with("null").empty());
    CHECK(with("\"0\"").empty());
  }
}

TEST_CASE("numbers in another unit than that of the field (adm-Q23)") {
  const auto with = [](std::string_view group, std::string_view field, std::string_view value) {
    return dgdr(fmt::format(R"({{"model":"m","{}":{{"{}":{}}}}})", group, field, value));
  };
  const auto units = [](std::string_view path, std::string_view text) {
    return fmt::format("W dgdr-units spec.{}: {}\n", path, text);
  };
  check({
      {"GPU memory in GiB", with("hardware", "vramMb", "80"),
       units("hardware.vramMb", "80 is in MiB: did you mean 81920?")},
      {"a small GPU", with("hardware", "vramMb", "2048"), ""},
      {"a large GPU", with("hardware", "vramMb", "294912"), ""},
      {"GPU memory in bytes", with("hardware", "vramMb", "85899345920"),
       units("hardware.vramMb", "85899345920 is in MiB, which is more than a GPU has")},
      {"ttft in seconds", with("sla", "ttft", "0.25"), units("sla.ttft", "0.25 is in ms: did you mean 250?")},
      {"ttft of whole seconds", with("sla", "ttft", "3"),
       units("sla.ttft", "3 is in ms: did you mean 3000?")},
      {"a short ttft", with("sla", "ttft", "10"), ""},
      {"itl in seconds", with("sla", "itl", "0.02"), units("sla.itl", "0.02 is in ms: did you mean 20?")},
      {"a short itl", with("sla", "itl", "0.5"), ""},
      {"e2eLatency in seconds", with("sla", "e2eLatency", "12.5"),
       units("sla.e2eLatency", "12.5 is in ms: did you mean 12500?")},
      {"a short e2eLatency", with("sla", "e2eLatency", "100"), ""},
  });
}

TEST_CASE("dgdr-override-kind (b1-Q11)") {
  const std::string warning =
      "W dgdr-override-kind spec.overrides.dgd: is not a DynamoGraphDeployment of nvidia.com/v1alpha1\n";
  const auto with = [](std::string_view graph) {
    return dgdr(R"({"model":"m","overrides":{"dgd":)" + std::string{graph} + "}}");
  };
  check({
      {"a graph", with(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment"})"), ""},
      {"absent", dgdr(R"({"model":"m","overrides":{}})"), ""},
      {"null", with("null"), ""},
      {"empty", with("{}"), warning},
      {"another version", with(R"({"apiVersion":"nvidia.com/v1","kind":"DynamoGraphDeployment"})"), warning},
      {"another kind", with(R"({"apiVersion":"nvidia.com/v1alpha1","kind":"Deployment"})"), warning},
  });
}

TEST_CASE("a planner in the spec is always enabled") {
  const auto with = [](std::string_view planner) {
    return dgdr(R"({"model":"m","features":{"planner":)" + std::string{planner} + "}}");
  };
  const auto finding = [](std::string_view key) {
    return fmt::format(
        "W dgdr-planner-on spec.features.planner.{}: does not turn the planner off: remove the planner "
        "block\n",
        key);
  };
  check({
      {"empty", with("{}"), ""},
      {"on", with(R"({"enabled":true,"disabled":false})"), ""},
      {"a feature of it disabled", with(R"({"enable_load_scaling":false})"), ""},
      {"off", with(R"({"enabled":false})"), finding("enabled")},
      {"disabled by text", with(R"({"enabled":"false"})"), finding("enabled")},
      {"disabled by other names", with(R"({"enable":false,"disabled":true})"),
       finding("enable") + finding("disabled")},
      {"no planner", dgdr(R"({"model":"m","features":{"mocker":{"enabled":false}}})"), ""},
      {"another type", with("false"), ""},
  });
}

TEST_CASE("the GPUs of a node and of all nodes") {
  const auto with = [](std::string_view node, std::string_view all) {
    return dgdr(
        fmt::format(R"({{"model":"m","hardware":{{"numGpusPerNode":{},"totalGpus":{}}}}})", node, all));
  };
  check({
      {"fewer", with("8", "16"), ""},
      {"as many", with("8", "8"), ""},
      {"more", with("8", "4"),
       "W dgdr-gpus-of-node spec.hardware.numGpusPerNode: is 8, more than totalGpus (4)\n"},
      {"one of them", dgdr(R"({"model":"m","hardware":{"numGpusPerNode":8}})"), ""},
      {"no number", with("8", "null"), ""},
      {"none at all", with("8", "0"),
       "W dgdr-positive-numbers spec.hardware.totalGpus: should be greater than 0, but is 0\n"},
  });
}

TEST_CASE("the list of rules is complete and its ids are unique") {
  std::set<std::string_view> ids;
  for (const Rule& rule : dgdrRules()) {
    INFO(rule.id);
    CHECK(rule.id.starts_with("dgdr-"));
    CHECK_FALSE(rule.summary.empty());
    CHECK(ids.insert(rule.id).second);
  }
  CHECK(ids == std::set<std::string_view>{"dgdr-failed-is-final", "dgdr-hardware-required",
                                          "dgdr-gpus-of-node", "dgdr-model-required", "dgdr-name-length",
                                          "dgdr-override-kind", "dgdr-overrides-namespace", "dgdr-planner-on",
                                          "dgdr-positive-numbers", "dgdr-spec-locked",
                                          "dgdr-thorough-backend", "dgdr-units"});
}

}  // namespace
}  // namespace dynamo::rules::test
