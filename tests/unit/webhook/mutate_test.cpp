// Defaults of a DynamoGraphDeploymentRequest as patches (adm-Q14, adm-Q19).

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "common/api/kinds.h"
#include "support.h"

namespace dynamo::webhook::test {
namespace {

constexpr const char* kAdd =
    R"([{"op":"add","path":"/spec/image","value":"nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.2.3"}])";
constexpr const char* kReplace =
    R"([{"op":"replace","path":"/spec/image","value":"nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.2.3"}])";

TEST_CASE("a null service reaches validation, which rejects it (adm-Q4)") {
  const std::string graph = R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)"
                            R"("metadata":{"name":"g","namespace":"ns"},)"
                            R"("spec":{"services":{"Worker":null,"Frontend":{"componentType":"frontend"}}}})";
  const std::string path = "-nvidia-com-v1alpha1-dynamographdeployment";
  const std::string patch = patchOf(ask("/mutate" + path, review("CREATE", graph)));
  CHECK(patch.find("/spec/services/Frontend") != std::string::npos);
  CHECK(patch.find("/spec/services/Worker") == std::string::npos);
  const std::string validated = ask("/validate" + path, review("CREATE", graph)).body;
  CHECK(validated.find("spec.services[Worker]: Required value") != std::string::npos);
}

TEST_CASE("the image is only defaulted on CREATE, with a minimal patch") {
  struct Row {
    const char* name;
    std::string body;
    const char* patch;  ///< "" when nothing changes
  };
  const Row rows[] = {
      {"no image", review("CREATE", dgdr(R"({"model":"m"})")), kAdd},
      {"empty spec", review("CREATE", dgdr("{}")), kAdd},
      {"empty image", review("CREATE", dgdr(R"({"image":"","model":"m"})")), kReplace},
      // Server-side apply keeps nulls, so the patch replaces the existing member.
      {"null image", review("CREATE", dgdr(R"({"image":null,"model":"m"})")), kReplace},
      {"image given", review("CREATE", dgdr(R"({"image":"mine:1"})")), ""},
      {"image of blanks", review("CREATE", dgdr(R"({"image":" "})")), ""},
      {"image of another type is left to the schema", review("CREATE", dgdr(R"({"image":7})")), ""},
      {"spec null", review("CREATE", dgdr("null")), ""},
      {"spec a list", review("CREATE", dgdr("[]")), ""},
      {"v1alpha1 client", review("CREATE", goodDgdr(), {}, "v1alpha1"), kAdd},
      {"UPDATE", review("UPDATE", goodDgdr(), goodDgdr()), ""},
      {"UPDATE that clears the image",
       review("UPDATE", dgdr(R"({"image":"","model":"m"})"), dgdr(R"({"image":"mine:1","model":"m"})")), ""},
      {"UPDATE with a null image keeps the stored one",
       review("UPDATE", dgdr(R"({"image":null,"model":"m"})"), dgdr(R"({"image":"mine:1","model":"m"})")),
       R"([{"op":"replace","path":"/spec/image","value":"mine:1"}])"},
      {"UPDATE with a null image, none stored (dec-5)",
       review("UPDATE", dgdr(R"({"image":null,"model":"m"})"), goodDgdr()),
       R"([{"op":"remove","path":"/spec/image"}])"},
      {"DELETE", review("DELETE", "null", goodDgdr()), ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Reply reply = ask(kMutate, row.body);
    CHECK(outcome(reply) == "allowed");
    CHECK(patchOf(reply) == row.patch);
  }
}

TEST_CASE("a graph that is too large to be rendered is still defaulted on updates") {
  const auto graph = [](int variables) {
    std::string envs;
    for (int i = 0; i < variables; ++i) envs += fmt::format(R"({}{{"name":"A{}"}})", i == 0 ? "" : ",", i);
    std::string services;
    for (int i = 0; i < 20; ++i) {
      services += fmt::format(R"({}"s{}":{{"componentType":"frontend"}})", i == 0 ? "" : ",", i);
    }
    return fmt::format(R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":)"
                       R"({{"name":"g","namespace":"ns"}},"spec":{{"services":{{{}}},"envs":[{}]}}}})",
                       services, envs);
  };
  const char* path = "/mutate-nvidia-com-v1alpha1-dynamographdeployment";
  CHECK(patchOf(ask(path, review("CREATE", graph(600)))).empty());
  const std::string patch = patchOf(ask(path, review("UPDATE", graph(600), graph(600))));
  CHECK(patch.find(R"("path":"/spec/services/s0/replicas","value":1)") != std::string::npos);
}

TEST_CASE("the origin version stays, and the operator gets no warning (adm-Q2)") {
  const auto graph = [](std::string_view annotations) {
    return fmt::format(R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":)"
                       R"({{"name":"g","namespace":"ns","annotations":{{{}}}}},"spec":{{"services":)"
                       R"({{"a":{{"componentType":"frontend","replicas":1}}}}}}}})",
                       annotations);
  };
  const auto removal = [&](std::string_view username) {
    std::string body = review("UPDATE", graph(R"("x":"y")"),
                              graph(R"("x":"y","nvidia.com/dynamo-operator-origin-version":"1.0.0")"));
    const std::string uid = R"("uid":"u",)";
    body.insert(body.find(uid) + uid.size(), fmt::format(R"("userInfo":{{"username":"{}"}},)", username));
    config::OperatorConfig configuration = config::defaultConfig();
    configuration.scalingAllowedServiceAccounts = {"ns/hpa"};
    return ask("/mutate-nvidia-com-v1alpha1-dynamographdeployment", body,
               std::make_shared<admission::Settings>(std::move(configuration), "1.2.3", "ns/operator"));
  };
  const std::string path = "metadata.annotations[nvidia.com/dynamo-operator-origin-version]";
  const Reply someones = removal("someone");
  CHECK(warningsOf(someones) ==
        std::vector<std::string>{path + ": cannot be removed; the stored value is kept"});
  CHECK(warningsOf(removal("system:serviceaccount:ns:hpa")) == warningsOf(someones));
  const Reply operators = removal("system:serviceaccount:ns:operator");
  CHECK(warningsOf(operators).empty());
  CHECK(patchOf(operators) == patchOf(someones));
}

TEST_CASE("the tag of the default image is the operator's version") {
  struct Row {
    const char* version;
    const char* image;  ///< "" when there is no default image
  };
  const Row rows[] = {
      {"1.0.0", "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.0.0"},
      {"v1.0.0", "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:v1.0.0"},
      {"1.1.0-rc.2", "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.1.0-rc.2"},
      {"1.1.0+build.5", "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.1.0_build.5"},
      {"1.1.0-rc.2+a+b", "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.1.0-rc.2_a_b"},
      {"unknown", ""},
      {"", ""},
  };
  for (const Row& row : rows) {
    INFO(row.version);
    const auto settings = std::make_shared<admission::Settings>(config::defaultConfig(), row.version);
    const Reply reply = ask(kMutate, review("CREATE", goodDgdr()), settings);
    CHECK(outcome(reply) == "allowed");
    const std::string wanted =
        R"([{"op":"add","path":"/spec/image","value":")" + std::string{row.image} + "\"}]";
    CHECK(patchOf(reply) == (*row.image == '\0' ? "" : wanted));
  }
}

TEST_CASE("patches of every length are valid base64") {
  // Version texts of 1 to 9 characters cover every length modulo three.
  for (std::size_t length = 1; length < 10; ++length) {
    const auto settings =
        std::make_shared<admission::Settings>(config::defaultConfig(), std::string(length, '9'));
    const std::string patch = patchOf(ask(kMutate, review("CREATE", goodDgdr()), settings));
    json::Document operations;
    REQUIRE_FALSE(json::parse(patch, operations).has_value());
    CHECK(json::findText(&operations[0], "value") ==
          "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:" + settings->operatorVersion);
  }
}

TEST_CASE("the defaulting webhook does not validate") {
  const std::string bad = dgdr(R"({"model":"","backend":"auto","searchStrategy":"thorough","image":"i"})");
  CHECK(outcome(ask(kMutate, review("CREATE", bad))) == "allowed");
  CHECK(outcome(ask(kMutate, review("UPDATE", bad, goodDgdr()))) == "allowed");
}

TEST_CASE("a path only accepts its own kind") {
  std::size_t asked = 0;
  for (const AdmissionRoute& route : admissionRoutes()) {
    INFO(route.path);
    if (route.kind.kind == api::kDynamoGraphDeploymentRequest) continue;
    const std::string object = R"({"apiVersion":")" + std::string{route.kind.apiVersion} + R"(","kind":")" +
                               std::string{route.kind.kind} + R"(","metadata":{"name":"r"}})";
    for (const char* operation : {"DELETE", "CONNECT"}) {
      CHECK(outcome(ask(route.path, review(operation, object, object))) == "allowed");
    }
    CHECK(outcome(ask(route.path, review("PATCH", object, object))) ==
          R"(denied 400 BadRequest: request.operation: Unsupported value: "PATCH")");
    CHECK(outcome(ask(route.path, review("CREATE", goodDgdr()))).starts_with("denied 400 BadRequest"));
    ++asked;
  }
  CHECK(asked == 7);
}

TEST_CASE("defaults of a graph, as patches") {
  const auto graph = [](const char* services) {
    return std::string{R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)"} +
           R"("metadata":{"name":"g","namespace":"ns"},"spec":{"services":)" + services + "}}";
  };
  const std::string path = "/mutate-nvidia-com-v1alpha1-dynamographdeployment";
  const std::string patch =
      patchOf(ask(path, review("CREATE", graph(R"({"a/b~c":{"componentType":"frontend"}})"))));
  json::Document operations;
  REQUIRE_FALSE(json::parse(patch, operations).has_value());
  CHECK(patch.find(R"("path":"/spec/services/a~1b~0c/replicas","value":1)") != std::string::npos);
  CHECK(patch.find(R"("nvidia.com/dynamo-operator-origin-version":")") != std::string::npos);
  CHECK(patch.find(R"("fsGroup":1000)") != std::string::npos);
}

TEST_CASE("only the paths of the table are served") {
  const Routes routes{current(), {}};
  for (const AdmissionRoute& route : admissionRoutes()) {
    INFO(route.path);
    const Route* found = routes.find(route.path);
    REQUIRE(found != nullptr);
    CHECK(found->maxBody == std::size_t{7} * 1024 * 1024);
    CHECK_FALSE(found->conversion);
    CHECK(routes.find(std::string{route.path} + "/") == nullptr);
  }
  REQUIRE(routes.find("/convert") != nullptr);
  CHECK(routes.find("/convert")->conversion);
  for (const char* path : {"", "/", "/Convert", "/convert/", "//convert", "/convert?x",
                           "/validate-nvidia-com-v1alpha1-dynamographdeploymentrequest"}) {
    INFO(path);
    CHECK(routes.find(path) == nullptr);
  }
}

TEST_CASE("observers are called with the decision") {
  std::string seen;
  Observers observers;
  observers.admission = [&](const AdmissionRoute& route, const AdmissionOutcome& outcome, double seconds) {
    seen = std::string{route.kind.kind} + " " + std::string{outcome.operation} +
           (outcome.allowed ? " allowed" : " denied");
    for (const auto& error : *outcome.errors) seen += " " + error.rule;
    CHECK(seconds >= 0);
  };
  const Routes routes{current(), observers};
  const auto observed = [&](std::string body) {
    seen.clear();
    HttpRequest request{std::move(body)};
    routes.find(kValidate)->handle(request);
    return seen;
  };
  CHECK(observed(review("CREATE", goodDgdr())) == "DynamoGraphDeploymentRequest CREATE allowed");
  CHECK(observed(review("CREATE", dgdr("{}"))) ==
        "DynamoGraphDeploymentRequest CREATE denied dgdr-model-required");
  // A review that cannot be read has no decision.
  CHECK(observed(review("CREATE", "null")).empty());
  CHECK(observed("{}").empty());
}

}  // namespace
}  // namespace dynamo::webhook::test
