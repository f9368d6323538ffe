// The facts of the cluster as the webhook reads them, and what follows from them (quirk adm-Q13).

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

/// What admission says against `graph` in a cluster of these facts: errors, then warnings.
std::string saidOf(std::string_view graph, std::string_view facts) {
  render::Facts known;
  REQUIRE(render::parseFacts(facts, known).empty());
  const admission::Settings settings{config::defaultConfig(), "", known};
  json::Document object;
  REQUIRE_FALSE(json::parse(graph, object));
  const auto findings = admission::validate({"DynamoGraphDeployment", object, nullptr, ""}, settings);
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
  CHECK(wrong("apis: {grove: 1}") == "apis.grove: want true or false");
  CHECK(wrong("apis: [grove]") == "apis: want an object");
  CHECK(wrong("api: {}") == R"(unknown field "api")");
  CHECK(wrong("pullSecrets: 5") == "pullSecrets: want an object");
  CHECK(wrong("pullSecrets: {ns: [a]}") == "pullSecrets[ns]: want an object");
  CHECK(wrong("pullSecrets: {ns: {r.io: a}}") == "pullSecrets[ns][r.io]: want a list of names");
  CHECK(wrong("componentServiceAccounts: x") == "componentServiceAccounts: want an object");
  CHECK(wrong("componentServiceAccounts: {ns: [1]}") == "componentServiceAccounts[ns]: want a list of names");
  CHECK(wrong("checkpoints: {}") == "checkpoints: want a list of DynamoCheckpoints");
  CHECK(wrong("checkpoints: [a]") == "checkpoints: want a list of DynamoCheckpoints");
  CHECK(wrong("pullSecrets: {ns: {r.io: }, other: }\ncomponentServiceAccounts: {ns: }") == "");
  CHECK(wrong("apis:\npullSecrets:\ncomponentServiceAccounts:\ncheckpoints:\n") == "");
  CHECK(wrong("apis: {") != "");
  CHECK(wrong("").empty());
}

TEST_CASE("what a cluster is known to lack is refused, what is not known is not") {
  constexpr std::string_view kNoPools =
      "an endpoint picker needs the API inference.networking.k8s.io, which the cluster lacks";
  CHECK_THAT(saidOf(kPicker, ""), !Catch::Contains("inference.networking"));
  CHECK_THAT(saidOf(kPicker, "apis: {inferencePool: true}"), !Catch::Contains("inference.networking"));
  CHECK_THAT(saidOf(kPicker, "apis: {inferencePool: false}"), Catch::Contains(std::string{kNoPools}));

  CHECK(saidOf(kTwoNodes, "").empty());
  CHECK(saidOf(kTwoNodes, "apis: {grove: false}").empty());
  CHECK(saidOf(kTwoNodes, "apis: {leaderWorkerSet: false}").empty());
  CHECK_THAT(saidOf(kTwoNodes, "apis: {grove: false, leaderWorkerSet: false}"),
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
  CHECK(reading->error == "apis.grove: want true or false");
  CHECK_FALSE(file.poll());

  std::filesystem::remove(path);
  reading = file.poll();
  REQUIRE(reading);
  CHECK(reading->missing);

  // What a container runtime makes of a mount whose source is not there.
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
