#include "support.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace dynamo::webhook::test {

using json::Value;

std::shared_ptr<admission::Settings> usualSettings() {
  return std::make_shared<admission::Settings>(config::defaultConfig(), "1.2.3");
}

std::shared_ptr<CurrentSettings> current(CurrentSettings::Pointer settings) {
  return std::make_shared<CurrentSettings>(std::move(settings));
}

Reply ask(std::string_view path, std::string body, const CurrentSettings::Pointer& settings) {
  const Routes routes{current(settings), {}};
  const Route* route = routes.find(path);
  REQUIRE(route != nullptr);
  HttpRequest request{std::move(body)};
  return route->handle(request);
}

std::string dgdr(std::string_view spec, std::string_view more) {
  return fmt::format(R"({{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest",)"
                     R"("metadata":{{"name":"r","namespace":"ns"}},"spec":{}{}}})",
                     spec, more);
}

std::string goodDgdr() {
  return dgdr(R"({"model":"m"})");
}

std::string review(std::string_view operation, std::string_view object, std::string_view old,
                   std::string_view clientVersion) {
  return fmt::format(
      R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u",)"
      R"("requestKind":{{"group":"nvidia.com","version":"{}","kind":"DynamoGraphDeploymentRequest"}},)"
      R"("name":"r","namespace":"ns","operation":"{}","object":{}{}{}}}}})",
      clientVersion, operation, object, old.empty() ? "" : R"(,"oldObject":)", old);
}

json::Document parsed(const Reply& reply) {
  json::Document document;
  if (const auto error = json::parse(reply.body, document)) {
    FAIL("answer is no JSON: " << error->message() << "\n" << reply.body);
  }
  CHECK(reply.contentType == "application/json");
  return document;
}

std::vector<std::string> warningsOf(const Reply& reply) {
  const json::Document answer = parsed(reply);
  std::vector<std::string> warnings;
  const Value* list = json::find(json::find(&answer, "response"), "warnings");
  if (list == nullptr) return warnings;
  REQUIRE(list->IsArray());
  for (const Value& item : list->GetArray()) warnings.emplace_back(json::text(item));
  return warnings;
}

std::string outcome(const Reply& reply, std::string_view uid) {
  const json::Document answer = parsed(reply);
  if (reply.status != 200) {
    CHECK(json::findText(&answer, "status") == "Failure");
    CHECK(json::findText(&answer, "reason") == "BadRequest");
    CHECK(answer["code"].GetInt() == reply.status);
    return fmt::format("{} {}", reply.status, json::findText(&answer, "message"));
  }
  CHECK(json::findText(&answer, "apiVersion") == "admission.k8s.io/v1");
  CHECK(json::findText(&answer, "kind") == "AdmissionReview");
  const Value* response = json::find(&answer, "response");
  CHECK(json::findText(response, "uid") == uid);
  const Value* status = json::find(response, "status");
  std::string line;
  if (json::findBool(response, "allowed").value_or(false)) {
    CHECK(status == nullptr);
    line = "allowed";
  } else {
    REQUIRE(status != nullptr);
    CHECK(json::findText(status, "status") == "Failure");
    CHECK(json::find(response, "patch") == nullptr);
    line = fmt::format("denied {} {}: {}", (*status)["code"].GetInt(), json::findText(status, "reason"),
                       json::findText(status, "message"));
  }
  for (const std::string& warning : warningsOf(reply)) line += fmt::format(" [{}]", warning);
  return line;
}

std::string patchOf(const Reply& reply) {
  const json::Document answer = parsed(reply);
  const Value* response = json::find(&answer, "response");
  const std::string_view encoded = json::findText(response, "patch");
  // patchType and patch are both present or both absent
  CHECK((json::findText(response, "patchType") == "JSONPatch") == !encoded.empty());
  CHECK(encoded.size() % 4 == 0);
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned word = 0;
  int bits = 0;
  for (const char c : encoded) {
    if (c == '=') break;
    const std::size_t digit = kDigits.find(c);
    REQUIRE(digit != std::string_view::npos);
    word = (word << 6U) | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((word >> static_cast<unsigned>(bits)) & 0xFFU);
  }
  return bytes;
}

}  // namespace dynamo::webhook::test
