// Metrics about requests.

#include "webhook/commands/telemetry.h"

#include <catch2/catch.hpp>
#include <string>

#include "common/admission/rules.h"
#include "common/observability/webhook_metrics.h"
#include "support.h"

namespace dynamo::webhook::test {
namespace {

std::string conversion(std::string_view uid, std::string_view objects) {
  return R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":")" +
         std::string{uid} + R"(","desiredAPIVersion":"nvidia.com/v1alpha1","objects":)" +
         std::string{objects} + "}}";
}

TEST_CASE("the page counts every request once, without those of the self check") {
  Telemetry telemetry{"1.0.0"};
  const Routes routes{current(), telemetry.observers()};
  const auto post = [&](std::string_view path, std::string body) {
    HttpRequest request{std::move(body)};
    return routes.find(path)->handle(request).status;
  };
  const std::string list = "[" + goodDgdr() + "," + goodDgdr() + "]";
  CHECK(post(kValidate, review("CREATE", goodDgdr())) == 200);
  CHECK(post(kValidate, review("CREATE", dgdr("{}"))) == 200);
  CHECK(post(kValidate, review("CREATE", R"({"metadata":{"name":"r"}})")) == 200);  // denied: no apiVersion
  CHECK(post(kValidate, "{}") == 400);
  CHECK(post(kConvert, conversion("u", list)) == 200);
  CHECK(post(kConvert, conversion("u", "[7]")) == 200);
  CHECK(post(kConvert, "[]") == 400);
  CHECK(post(kConvert, conversion(kSelfCheckUid, list)) == 200);

  const std::string page = telemetry.page({}).body;
  const auto bytes = conversion("u", list).size() + conversion("u", "[7]").size();
  const std::string validate = R"(webhook=")" + std::string{kValidate} + "\"}";
  const std::string created = R"(operation="CREATE",resource_type="DynamoGraphDeploymentRequest")";
  const std::string lines[] = {
      "controller_runtime_webhook_requests_total{code=\"200\"," + validate + " 3",
      "controller_runtime_webhook_requests_total{code=\"400\"," + validate + " 1",
      "controller_runtime_webhook_requests_in_flight{" + validate + " 0",
      R"(controller_runtime_webhook_requests_total{code="200",webhook="/convert"} 2)",
      R"(controller_runtime_webhook_requests_total{code="400",webhook="/convert"} 1)",
      R"(controller_runtime_webhook_requests_total{code="500",webhook="/convert"} 0)",
      R"(controller_runtime_webhook_requests_in_flight{webhook="/convert"} 0)",
      R"(controller_runtime_webhook_latency_seconds_count{webhook="/convert"} 3)",
      R"(dynamo_webhook_conversion_objects_total{resource_type="DynamoGraphDeploymentRequest",to="any"} 2)",
      R"(dynamo_webhook_conversion_failures_total{resource_type="DynamoGraphDeploymentRequest",to="any"} 1)",
      R"(dynamo_webhook_conversion_bytes_total{resource_type="DynamoGraphDeploymentRequest",to="any"} )" +
          std::to_string(bytes),
      "controller_runtime_webhook_panics_total 0",
      "dynamo_operator_webhook_requests_total{" + created + ",result=\"allowed\"} 1",
      "dynamo_operator_webhook_requests_total{" + created + ",result=\"denied\"} 1",
      "dynamo_operator_webhook_duration_seconds_count{" + created + "} 2",
  };
  for (const std::string& line : lines) {
    INFO(line);
    CHECK(page.find("\n" + line + "\n") != std::string::npos);
  }
  // A review that cannot be read does not count as a denial.
  CHECK(page.find("reason=\"bad_request\"") == std::string::npos);
}

TEST_CASE("every rule that denies has a series from the start") {
  const std::string page = Telemetry{"1.0.0"}.page({}).body;
  std::size_t denying = 0;
  for (const admission::RuleGroup& group : admission::ruleGroups()) {
    for (const field::Rule& rule : group.rules) {
      const std::string line =
          R"(dynamo_webhook_rule_denials_total{rule=")" + std::string{rule.id} + "\"} 0\n";
      CAPTURE(rule.id);
      CHECK((page.find(line) != std::string::npos) == (rule.severity != field::Severity::Warning));
      denying += rule.severity != field::Severity::Warning;
    }
  }
  CHECK(denying < observability::RuleMetrics::kMaxRules);
  CHECK(page.find(R"(rule="other")") == std::string::npos);
}

TEST_CASE("the page has the server's totals and current values") {
  Telemetry telemetry{"1.0.0"};
  telemetry.page({9, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9});
  const std::string page = telemetry.page({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).body;
  const std::string lines[] = {
      "dynamo_webhook_connections 1",
      "dynamo_webhook_connections_accepted_total 2",
      "dynamo_webhook_connections_refused_total 3",
      "dynamo_webhook_connections_evicted_total 4",
      "dynamo_webhook_tls_handshake_failures_total 5",
      "dynamo_webhook_requests_refused_total 6",
      "dynamo_webhook_request_timeouts_total 7",
      "dynamo_webhook_connections_failed_total 8",
      "dynamo_webhook_bytes_in_flight 9",
      "dynamo_webhook_reply_bytes_in_flight 10",
      "dynamo_webhook_requests_queued 11",
  };
  for (const std::string& line : lines) {
    INFO(line);
    CHECK(page.find("\n" + line + "\n") != std::string::npos);
  }
}

TEST_CASE("an exception counts as status 500") {
  Telemetry telemetry{"1.0.0"};
  const Observers observers = telemetry.observers();
  observers.started(kConvert);
  observers.finished(kConvert, {500, true, false, 0.001});
  observers.started(kValidate);
  observers.finished(kValidate, {500, true, false, 0.001});
  const std::string page = telemetry.page({}).body;
  CHECK(page.find("\ncontroller_runtime_conversion_webhook_panics_total 1\n") != std::string::npos);
  CHECK(page.find("\ncontroller_runtime_webhook_panics_total 1\n") != std::string::npos);
  CHECK(page.find(R"(requests_total{code="500",webhook="/convert"} 1)") != std::string::npos);
}

}  // namespace
}  // namespace dynamo::webhook::test
