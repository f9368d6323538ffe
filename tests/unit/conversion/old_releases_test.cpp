// Requests that releases before 1.0 have stored in v1alpha1, with other fields (conv-Q9).

#include <string>
#include <vector>

#include "tests/unit/conversion/edge_support.h"

namespace dynamo::test {
namespace {

/// With all fields of that time. Today's API server removes those that its schema lacks.
constexpr const char* kAllFields =
    R"({"modelName":"meta/llama","backend":"trtllm","sla":{"ttft":200,"itl":20},"gpu":{"type":"h200_sxm"},)"
    R"("online":true,"autoApply":true,"deploymentOverrides":{"name":"chat","labels":{"team":"a"}},)"
    R"("profilingConfig":{"configMapRef":{"name":"cm","key":"disagg.yaml"}}})";
constexpr const char* kKeptFields =
    R"({"backend":"trtllm","autoApply":true,"deploymentOverrides":{"name":"chat","labels":{"team":"a"}},)"
    R"("profilingConfig":{"configMapRef":{"name":"cm","key":"disagg.yaml"}}})";
constexpr const char* kGraph =
    R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g"},"spec":{}})";

TEST_CASE("the spec of a release before 1.0 becomes what v1beta1 has fields for") {
  for (const char* spec : {kAllFields, kKeptFields}) {
    INFO(spec);
    const std::string there = converted(alpha(spec));
    CHECK(at(there, "/spec/model") == R"("")");
    CHECK(at(there, "/spec/backend") == R"("trtllm")");
    CHECK(at(there, "/spec/autoApply") == "true");
    CHECK(at(there, "/spec/image") == "(absent)");
    CHECK(at(there, "/status/phase") == R"("Pending")");
    const std::string back = converted(there);
    CHECK(at(back, "/spec/deploymentOverrides") == R"({"name":"chat","labels":{"team":"a"}})");
    CHECK(at(back, "/spec/profilingConfig/configMapRef") == R"({"name":"cm","key":"disagg.yaml"})");
  }
}

TEST_CASE("every status of a release before 1.0 is converted and returns") {
  struct Row {
    std::string status;
    const char* phase;
    const char* graph;
  };
  const std::string generated = std::string{R"(,"generatedDeployment":)"} + kGraph;
  const auto deployed = [](const std::string& state, const char* created) {
    return R"(,"deployment":{"name":"g","namespace":"ns","state":")" + state + R"(","created":)" + created +
           "}";
  };
  std::vector<Row> rows = {
      {R"({"state":""})", R"("Pending")", "(absent)"},
      {R"({"state":"Pending","observedGeneration":1})", R"("Pending")", "(absent)"},
      {R"({"state":"Profiling","observedGeneration":1})", R"("Profiling")", "(absent)"},
      {R"({"state":"Ready","profilingResults":"configmap/dgdr-output-r")" + generated + "}", R"("Ready")",
       "(absent)"},
      {R"({"state":"Deploying")" + generated + "}", R"("Deploying")", "(absent)"},
      {R"({"state":"DeploymentDeleted")" + generated + deployed("Deleted", "true") + "}", R"("Ready")",
       R"("g")"},
      {R"({"state":"Failed","observedGeneration":1})", R"("Failed")", "(absent)"},
  };
  for (const char* state : {"", "Pending", "Ready", "Failed", "Deleted", "successful"}) {
    rows.push_back(
        {R"({"state":"Deploying")" + generated + deployed(state, "true") + "}", R"("Deploying")", R"("g")"});
    rows.push_back(
        {R"({"state":"Ready")" + generated + deployed(state, "true") + "}", R"("Deployed")", R"("g")"});
  }
  for (const Row& row : rows) {
    INFO(row.status);
    const std::string source = alpha(kKeptFields, row.status);
    const std::string there = converted(source);
    CHECK(at(there, "/status/phase") == row.phase);
    CHECK(at(there, "/status/dgdName") == row.graph);
    const bool has = row.status.find("generatedDeployment") != std::string::npos;
    CHECK(at(there, "/status/profilingResults/selectedConfig") == (has ? kGraph : "(absent)"));
    const std::string back = converted(there);
    for (const char* part : {"/status/state", "/status/deployment", "/status/generatedDeployment",
                             "/status/profilingResults", "/status/observedGeneration"}) {
      INFO(part);
      CHECK(at(back, part) == at(source, part));
    }
  }
}

}  // namespace
}  // namespace dynamo::test
