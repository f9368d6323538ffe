// The facts of the cluster that the webhook reads from a file, and their effect on admission (adm-Q13).

#include "webhook/commands/facts_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/admission/validate.h"
#include "common/config/load.h"
#include "common/json/parse.h"
#include "common/render/facts.h"

namespace dynamo::webhook {
namespace {

std::string wrong(std::string_view text) {
  render::Facts facts;
  return render::parseFacts(text, facts);
}

/// The findings of admission about `graph` in a cluster with `facts`: errors, then warnings.
std::string findingsOf(std::string_view graph, std::string_view facts) {
  render::Facts known;
  REQUIRE(render::parseFacts(facts, known).empty());
  const admission::Settings settings{config::defaultConfig(), "", "", known};
  json::Document object;
  REQUIRE_FALSE(json::parse(graph, object));
  const auto findings = admission::judge(object, {"DynamoGraphDeployment"}, settings);
  std::string said;
  for (const auto& error : findings.errors) said += error.message() + "\n";
  for (const auto& warning : findings.warnings) said += "warning: " + warning.text + "\n";
  return said;
}

constexpr std::string_view kPicker = R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",
  "metadata":{"name":"g","namespace":"ns"},"spec":{"services":{"Epp":{"componentType":"epp","replicas":1,
  "eppConfig":{"configMapRef":{"name":"c","key":"k"}},
  "extraPodSpec":{"mainContainer":{"image":"i:1"}}}}}})";
constexpr std::string_view kTwoNodes = R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",
  "metadata":{"name":"g","namespace":"ns"},"spec":{"backendFramework":"sglang","services":{"Worker":{
  "componentType":"worker","replicas":1,"multinode":{"nodeCount":2},"resources":{"limits":{"gpu":"8"}},
  "extraPodSpec":{"mainContainer":{"image":"i:1","command":["python3"],"args":["-m","dynamo.sglang"]}}}}}})";

}  // namespace

TEST_CASE("a document of facts") {
  render::Facts facts;
  REQUIRE(render::parseFacts("apis: {grove: false, inferencePool: true}\n", facts).empty());
  CHECK(facts.api(render::Api::Grove) == false);
  CHECK(facts.api(render::Api::InferencePool) == true);
  CHECK_FALSE(facts.api(render::Api::LeaderWorkerSet).has_value());
  CHECK(wrong("apis: {groves: true}") == R"(apis: unknown field "groves")");
  CHECK(wrong("apis: {grove: 1}") == "apis.grove: must be true or false");
  CHECK(wrong("apis: [grove]") == "apis: must be an object");
  CHECK(wrong("api: {}") == R"(unknown field "api")");
  CHECK(wrong("pullSecrets: 5") == "pullSecrets: must be an object");
  CHECK(wrong("pullSecrets: {ns: [a]}") == "pullSecrets[ns]: must be an object");
  CHECK(wrong("pullSecrets: {ns: {r.io: a}}") == "pullSecrets[ns][r.io]: must be a list of names");
  CHECK(wrong("componentServiceAccounts: x") == "componentServiceAccounts: must be an object");
  CHECK(wrong("componentServiceAccounts: {ns: [1]}") ==
        "componentServiceAccounts[ns]: must be a list of names");
  CHECK(wrong("checkpoints: {}") == "checkpoints: must be a list of DynamoCheckpoints");
  CHECK(wrong("checkpoints: [a]") == "checkpoints: must be a list of DynamoCheckpoints");
  CHECK(wrong("hardware: 1") == "hardware: must be an object");
  CHECK(wrong("hardware: {gpuSku: 1}") == "hardware.gpuSku: must be a string");
  CHECK(wrong("hardware: {vramMb: a}") == "hardware.vramMb: must be a number");
  CHECK(wrong("hardware: {totalGpus: 1.5}") == "hardware.totalGpus: must be a whole number");
  CHECK(wrong("hardware: {gpu: 1}") == "hardware: unknown field \"gpu\"");
  CHECK(wrong("hardware: {gpuSku: h200_sxm, vramMb: 141000.5, numGpusPerNode: 8, totalGpus: 16}") == "");
  CHECK(wrong("pullSecrets: {ns: {r.io: }, other: }\ncomponentServiceAccounts: {ns: }") == "");
  CHECK(wrong("apis:\npullSecrets:\ncomponentServiceAccounts:\ncheckpoints:\n") == "");
  CHECK(wrong("apis: {") != "");
  CHECK(wrong("").empty());
}

TEST_CASE("a graph is rejected for an API that the cluster lacks, but not for an unknown one") {
  constexpr std::string_view kNoPools =
      "an endpoint picker needs the API inference.networking.k8s.io, which is not installed in the cluster";
  CHECK_THAT(findingsOf(kPicker, ""), !Catch::Contains("inference.networking"));
  CHECK_THAT(findingsOf(kPicker, "apis: {inferencePool: true}"), !Catch::Contains("inference.networking"));
  CHECK_THAT(findingsOf(kPicker, "apis: {inferencePool: false}"), Catch::Contains(std::string{kNoPools}));

  CHECK(findingsOf(kTwoNodes, "").empty());
  CHECK(findingsOf(kTwoNodes, "apis: {grove: false}").empty());
  CHECK(findingsOf(kTwoNodes, "apis: {leaderWorkerSet: false}").empty());
  CHECK_THAT(findingsOf(kTwoNodes, "apis: {grove: false, leaderWorkerSet: false}"),
             Catch::Contains("warning: needs Grove or LeaderWorkerSet"));
}

TEST_CASE("the file is read when it changes") {
  const auto path = std::filesystem::temp_directory_path() / ("facts-" + std::to_string(::getpid()));
  const auto write = [&](std::string_view text) { std::ofstream{path} << text; };
  FactsFile file{path.string()};
  auto reading = file.poll();
  REQUIRE(reading);
  CHECK(reading->missing);
  CHECK_FALSE(file.poll());

  write("apis: {grove: true}");
  reading = file.poll();
  REQUIRE(reading);
  CHECK(reading->facts.api(render::Api::Grove) == true);
  CHECK_FALSE(reading->missing);
  CHECK_FALSE(file.poll());

  write("apis: {grove: maybe}");
  reading = file.poll();
  REQUIRE(reading);
  CHECK(reading->error == "apis.grove: must be true or false");
  CHECK_FALSE(file.poll());

  std::filesystem::remove(path);
  reading = file.poll();
  REQUIRE(reading);
  CHECK(reading->missing);

  // A container runtime creates a directory for a mount whose source is missing.
  std::filesystem::create_directory(path);
  reading = file.poll();
  REQUIRE(reading);
  CHECK(reading->error == "Is a directory");
  CHECK_FALSE(reading->missing);
  CHECK_FALSE(file.poll());
  std::filesystem::remove(path);
  REQUIRE(file.poll());
  CHECK_FALSE(FactsFile{""}.poll());
}

}  // namespace dynamo::webhook
