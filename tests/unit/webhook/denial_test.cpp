// The form of denials and warnings. kubectl's output depends on every part of it.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "common/admission/rules.h"
#include "support.h"

namespace dynamo::webhook::test {
namespace {

using json::Value;

constexpr const char* kThorough =
    R"(spec.searchStrategy: Invalid value: "thorough": needs one engine: set spec.backend to "sglang", "trtllm" or "vllm")";

std::string statusOf(const Reply& reply) {
  const json::Document answer = parsed(reply);
  const Value* status = json::find(json::find(&answer, "response"), "status");
  return status == nullptr ? "(none)" : json::dump(*status);
}

TEST_CASE("one error: message without brackets, one cause") {
  const Reply reply = ask(kValidate, review("CREATE", dgdr("{}")));
  CHECK(reply.status == 200);
  CHECK(
      statusOf(reply) ==
      R"({"status":"Failure",)"
      R"("message":"DynamoGraphDeploymentRequest.nvidia.com \"r\" is invalid: spec.model: Required value: must name a model",)"
      R"("reason":"Invalid","details":{"name":"r","group":"nvidia.com",)"
      R"("kind":"DynamoGraphDeploymentRequest",)"
      R"("causes":[{"reason":"FieldValueRequired","message":"Required value: must name a model",)"
      R"("field":"spec.model"}]},)"
      R"("code":422})");
}

TEST_CASE("several errors: all in the message, in brackets, and one cause each") {
  const Reply reply =
      ask(kValidate, review("CREATE", dgdr(R"({"searchStrategy":"thorough","backend":"auto"})")));
  CHECK(outcome(reply) ==
        "denied 422 Invalid: DynamoGraphDeploymentRequest.nvidia.com \"r\" is invalid: "
        "[spec.model: Required value: must name a model, " +
            std::string{kThorough} + "]");
  const json::Document answer = parsed(reply);
  const Value& causes = answer["response"]["status"]["details"]["causes"];
  REQUIRE(causes.Size() == 2);
  CHECK(
      json::dump(causes[1]) ==
      R"({"reason":"FieldValueInvalid","message":"Invalid value: \"thorough\": needs one engine: set spec.backend to \"sglang\", \"trtllm\" or \"vllm\"","field":"spec.searchStrategy"})");
}

/// An object with `count` labels of the wrong type.
std::string badLabels(int count) {
  std::string labels;
  for (int i = 100; i < 100 + count; ++i) labels += (i == 100 ? "\"l" : ",\"l") + std::to_string(i) + "\":1";
  return R"({"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest",)"
         R"("metadata":{"name":"r","labels":{)" +
         labels + R"(}},"spec":{"model":"m"}})";
}

TEST_CASE("up to twenty errors are listed, the others are counted") {
  for (const int count : {19, 20, 21, 500}) {
    INFO(count);
    const json::Document answer = parsed(ask(kValidate, review("CREATE", badLabels(count))));
    const Value& status = answer["response"]["status"];
    const Value& causes = status["details"]["causes"];
    const std::string message{json::text(status["message"])};
    const int more = count - 20;
    REQUIRE(causes.Size() == static_cast<unsigned>(more > 0 ? 21 : count));
    CHECK(json::findText(&causes[0], "field") == "metadata.labels.l100");
    CHECK(
        message.starts_with("DynamoGraphDeploymentRequest.nvidia.com \"r\" is invalid: "
                            "[metadata.labels.l100: Invalid value: "));
    if (more > 0) {
      CHECK(message.ends_with(", and " + std::to_string(more) + " more]"));
      CHECK(json::dump(causes[20]) == R"({"reason":"FieldValueInvalid","message":"and )" +
                                          std::to_string(more) + R"( more errors","field":"spec"})");
      CHECK(message.find("l120") == std::string::npos);
    } else {
      CHECK(message.ends_with("\"integer\"]"));
    }
  }
}

/// A graph with `count` invalid label keys of `length` bytes in a service.
std::string badKeys(int count, std::size_t length) {
  std::string labels;
  for (int i = 100; i < 100 + count; ++i) {
    labels += (i == 100 ? "\"" : ",\"") + std::to_string(i) + std::string(length, '!') + "\":\"v\"";
  }
  return R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g",)"
         R"("namespace":"n"},"spec":{"services":{"Frontend":{"componentType":"frontend",)"
         R"("extraPodSpec":{"mainContainer":{"image":"i:1"}},"labels":{)" +
         labels + "}}}}}";
}

TEST_CASE("long keys do not make long messages") {
  const char* path = "/validate-nvidia-com-v1alpha1-dynamographdeployment";
  const json::Document answer = parsed(ask(path, review("CREATE", badKeys(30, 5000))));
  const Value& status = answer["response"]["status"];
  const Value& causes = status["details"]["causes"];
  const std::string message{json::text(status["message"])};
  INFO(message);
  CHECK(message.size() < 4500);
  const int more = 30 - static_cast<int>(causes.Size()) + 1;
  CHECK(message.ends_with(", and " + std::to_string(more) + " more]"));
  const std::string_view field = json::findText(&causes[0], "field");
  CHECK(field.size() <= 256);
  CHECK(field.starts_with("spec.services[Frontend].labels[100!!!"));
  CHECK(field.find("!!!...!!!") != std::string_view::npos);
  CHECK(field.ends_with("!!!]"));
}

/// Whether every text in `value` is one line without terminal control characters.
bool isPlain(const Value& value) {
  if (value.IsObject()) {
    return std::all_of(value.MemberBegin(), value.MemberEnd(),
                       [](const auto& m) { return isPlain(m.value); });
  }
  if (value.IsArray())
    return std::all_of(value.Begin(), value.End(), [](const Value& v) { return isPlain(v); });
  const std::string_view text = json::text(value);
  return std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; });
}

TEST_CASE("control characters in names and keys are removed") {
  const std::string graph =
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g",)"
      R"("namespace":"n"},"spec":{"services":{"a\nb\u001b[31m":{"replicas":-1,"envs":[{"name":"="}],)"
      R"("extraPodSpec":{"mainContainer":{"image":"x y"}}}}}})";
  const json::Document denial =
      parsed(ask("/validate-nvidia-com-v1alpha1-dynamographdeployment", review("CREATE", graph)));
  const Value& status = denial["response"]["status"];
  CHECK(isPlain(denial));
  const std::string field = "spec.services[a b [31m].replicas";
  CHECK(std::string{json::text(status["message"])}.find(field + ": Invalid value: -1") != std::string::npos);
  const Value& causes = status["details"]["causes"];
  CHECK(std::any_of(causes.Begin(), causes.End(),
                    [&](const Value& cause) { return json::findText(&cause, "field") == field; }));
  const std::string request =
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"A\u001b","metadata":{"name":"r\n"},"spec":{}})";
  const std::string body =
      R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u",)"
      R"("desiredAPIVersion":"nvidia.com/v1beta1","objects":[)" +
      request + "]}}";
  const json::Document failure = parsed(ask(kConvert, body));
  CHECK(json::findText(&failure["response"]["result"], "status") == "Failure");
  CHECK(isPlain(failure));
}

TEST_CASE("warnings beyond the API server's limit are counted") {
  std::string variables;
  for (int i = 100; i < 160; ++i) {
    variables += (i == 100 ? R"({"name":"1)" : R"(,{"name":"1)") + std::to_string(i) + R"(","value":"x"})";
  }
  const std::string graph =
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g",)"
      R"("namespace":"n"},"spec":{"services":{"Frontend":{"componentType":"frontend","envs":[)" +
      variables + "]}}}}";
  const auto warnings =
      warningsOf(ask("/validate-nvidia-com-v1alpha1-dynamographdeployment", review("CREATE", graph)));
  REQUIRE(warnings.size() > 30);
  REQUIRE(warnings.size() < 60);
  std::size_t bytes = 0;
  for (const std::string& warning : warnings) bytes += warning.size();
  CHECK(bytes <= 4096);
  CHECK(warnings.back() == "and " + std::to_string(61 - warnings.size()) + " more warnings");
}

TEST_CASE("warnings are only shortened if they do not fit together") {
  const auto settings = usualSettings();
  settings->warnOnly = true;
  // Each key breaks a rule whose message and path contain the key.
  const auto warnings = [&](int count) {
    std::string annotations;
    for (int i = 100; i < 100 + count; ++i) {
      annotations += fmt::format(R"({}"{} {}":"")", i == 100 ? "" : ",", std::string(160, 'k'), i);
    }
    const std::string graph = fmt::format(
        R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{{"name":"g",)"
        R"("namespace":"n"}},"spec":{{"services":{{"F":{{"componentType":"frontend","annotations":{{{}}}}}}}}}}})",
        annotations);
    return warningsOf(
        ask("/validate-nvidia-com-v1alpha1-dynamographdeployment", review("CREATE", graph), settings));
  };
  const std::vector<std::string> few = warnings(5);
  REQUIRE(few.size() >= 5);
  CHECK(few.front().size() > 256);
  CHECK_FALSE(few.front().ends_with("..."));
  const std::vector<std::string> many = warnings(30);
  CHECK(many.back().starts_with("and "));
  std::size_t bytes = 0;
  for (const std::string& warning : many) {
    bytes += warning.size();
    CHECK(warning.size() <= 256);
    CHECK((warning == many.back() || warning.ends_with("...")));
  }
  CHECK(bytes <= 4096);
}

TEST_CASE("a denial has the name of the request, or else of the object") {
  const auto nameIn = [](const std::string& metadata, const char* requestName) {
    std::string body = review("CREATE", R"({"apiVersion":"nvidia.com/v1beta1",)"
                                        R"("kind":"DynamoGraphDeploymentRequest","metadata":)" +
                                            metadata + R"(,"spec":{}})");
    body.replace(body.find(R"("name":"r")"), 10, requestName);
    const json::Document answer = parsed(ask(kValidate, body));
    return std::string{json::findText(&answer["response"]["status"]["details"], "name")};
  };
  CHECK(nameIn(R"({"name":"of-object"})", R"("name":"of-request")") == "of-request");
  CHECK(nameIn(R"({"name":"of-object"})", R"("name":"")") == "of-object");
  CHECK(nameIn(R"({"name":"of-object"})", R"("x":"")") == "of-object");
  CHECK(nameIn(R"({"generateName":"g-"})", R"("name":"")").empty());
  CHECK(nameIn("7", R"("name":"")").empty());
}

TEST_CASE("the user's values do not break the text of a denial") {
  const std::string wild = R"(\u0000\u001b[31m\"}\n\u0085)" + std::string(300, 'x');
  const Reply reply =
      ask(kValidate, review("UPDATE", dgdr(R"({"model":"m"})", R"(,"status":{"phase":")" + wild + R"("})"),
                            dgdr(R"({"model":"n"})", R"(,"status":{"phase":"Ready"})")));
  CHECK(outcome(reply).starts_with("denied 422 Invalid: "));
  for (const char c : reply.body) CHECK(static_cast<unsigned char>(c) >= 0x20);
}

/// The API server silently drops warnings with control characters (Go's unicode.IsControl) and empty ones.
bool survives(const std::string& warning) {
  for (std::size_t i = 0; i < warning.size(); ++i) {
    const auto byte = static_cast<unsigned char>(warning[i]);
    if (byte < 0x20 || byte == 0x7F) return false;
    const bool latin = byte == 0xC2 && i + 1 < warning.size();
    if (latin && static_cast<unsigned char>(warning[i + 1]) < 0xA0) return false;  // U+0080 to U+009F
  }
  return !warning.empty() && warning.size() <= 4096;
}

TEST_CASE("warnings reach the user for every object") {
  struct Row {
    const char* name;
    const char* text;  ///< in the namespace, which the rule about namespaces shows; escaped for JSON
  };
  const Row rows[] = {
      {"newline", R"(a\nb)"},
      {"NUL", R"(\u0000)"},
      {"tab and escape", R"(\t\u001b[0m)"},
      {"delete", R"(\u007f)"},
      {"C1 control", R"(\u0085)"},
      {"C1 control at the end", R"(\u009f)"},
      {"quotes", R"(\"\\)"},
      {"accents", "\xC3\xA9\xC3\xA9"},
  };
  const auto settings = usualSettings();
  settings->warnOnly = true;
  for (const Row& row : rows) {
    for (const std::size_t padding : {0U, 8U, 9U, 10U, 11U, 12U, 13U, 14U, 1000U}) {
      INFO(row.name << " " << padding);
      const std::string value = std::string(padding, 'p') + row.text;
      const std::string object =
          R"({"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest",)"
          R"("metadata":{"name":"r",)"
          R"("namespace":")" +
          value +
          R"(","annotations":{"nvidia.com/dgdr-deployment-overrides":"{\"namespace\":\"elsewhere\"}"}},)"
          R"("spec":{"model":"m"}})";
      const Reply reply = ask(kValidate, review("CREATE", object, {}, "v1alpha1"), settings);
      const auto warnings = warningsOf(reply);
      REQUIRE(warnings.size() == 1);
      CHECK(survives(warnings[0]));
      CHECK(warnings[0].starts_with("spec.deploymentOverrides.namespace: Forbidden: "));
    }
  }
}

TEST_CASE("allowed and denied answers have warnings") {
  CHECK(outcome(ask(kValidate, review("CREATE", dgdr(R"({"model":"m","sla":{"ttft":0,"itl":1}})")))) ==
        "allowed [spec.sla.ttft: should be greater than 0, but is 0]");
  CHECK(
      outcome(ask(kValidate, review("CREATE", dgdr(R"({"sla":{"ttft":0,"itl":-1.5}})")))) ==
      "denied 422 Invalid: DynamoGraphDeploymentRequest.nvidia.com \"r\" is invalid: spec.model: Required "
      "value: must name a model [spec.sla.ttft: should be greater than 0, but is 0] [spec.sla.itl: should be "
      "greater than 0, but is -1.5]");
}

TEST_CASE("only rules about changes are locks") {
  for (const char* rule : {"dgdr-spec-locked", "dgd.framework-immutable", "dgd.services-immutable",
                           "dgd.topology-immutable", "dgd.replicas-owned", "dgd.restart-during-rollout",
                           "dcd.framework-immutable", "model.type-immutable", "model.base-immutable"}) {
    INFO(rule);
    CHECK(admission::isLock(rule));
  }
  for (const char* rule : {"dgdr-model-required", "dgd.framework-change", "schema.type", ""})
    CHECK_FALSE(admission::isLock(rule));
}

TEST_CASE("mode warn keeps the locks of a graph") {
  const auto settings = usualSettings();
  settings->warnOnly = true;
  const auto graph = [](std::string_view framework) {
    return R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"n"},)"
           R"("spec":{"backendFramework":")" +
           std::string{framework} +
           R"(","services":{"Frontend":{"componentType":"frontend","replicas":1}}}})";
  };
  const char* path = "/validate-nvidia-com-v1alpha1-dynamographdeployment";
  const Reply reply = ask(path, review("UPDATE", graph("sglang"), graph("vllm")), settings);
  CHECK(reply.body.find(R"("allowed":false)") != std::string::npos);
  CHECK(reply.body.find(R"("field":"spec.backendFramework")") != std::string::npos);
}

TEST_CASE("mode warn admits with warnings, but a locked spec stays locked") {
  const auto settings = usualSettings();
  settings->warnOnly = true;
  CHECK(outcome(ask(kValidate, review("CREATE", dgdr(R"({"searchStrategy":"thorough","backend":"auto"})")),
                    settings)) ==
        "allowed [spec.model: Required value: must name a model] "
        "[spec.searchStrategy: Invalid value: \"thorough\": needs one engine: set spec.backend to "
        "\"sglang\", \"trtllm\" or \"vllm\"]");
  CHECK(outcome(ask(kValidate, review("CREATE", dgdr(R"({"model":7})")), settings)) ==
        "allowed [spec.model: Invalid value: \"integer\": spec.model in body must be of type string: "
        "\"integer\"]");
  const std::string ready = R"(,"status":{"phase":"Ready"})";
  CHECK(outcome(
            ask(kValidate, review("UPDATE", dgdr("{}", ready), dgdr(R"({"model":"m"})", ready)), settings)) ==
        "denied 422 Invalid: DynamoGraphDeploymentRequest.nvidia.com \"r\" is invalid: spec: Forbidden: may "
        "not be changed in phase Ready: delete the request and create it again "
        "[spec.model: Required value: must name a model]");
  CHECK(outcome(ask(kValidate, review("CREATE", "null"), settings)) ==
        "denied 400 BadRequest: request.object: Required value");
}

}  // namespace
}  // namespace dynamo::webhook::test
