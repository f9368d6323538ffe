#include "common/observability/metrics.h"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/observability/process_stats.h"
#include "common/observability/webhook_metrics.h"

namespace dynamo::observability {
namespace {

/// Whether `text` has exactly this line.
bool hasLine(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

void checkLines(const std::string& text, std::initializer_list<std::string> lines) {
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(hasLine(text, line));
  }
}

const std::string kCreate = R"(operation="CREATE",resource_type="DynamoGraphDeployment")";
const std::string kToBeta = R"(resource_type="DynamoGraphDeploymentRequest",to="v1beta1")";
const std::string kUpdate = R"(operation="UPDATE",resource_type="DynamoModel")";

}  // namespace

TEST_CASE("series render as Prometheus text") {
  Registry registry;
  constexpr double kBuckets[] = {0.1, 1};
  Counter counter = registry.counter("c_total", "A counter.", {{"a", "x\"y\\z\n"}});
  Gauge gauge = registry.gauge("g", "A gauge.");
  Histogram histogram = registry.histogram("h", "A histogram.", kBuckets);
  counter.increment();
  counter.increment(2);
  gauge.set(5);
  gauge.add(-1.5);
  histogram.observe(0.1);
  histogram.observe(0.5);
  histogram.observe(7);
  checkLines(registry.render(),
             {"# HELP c_total A counter.", "# TYPE c_total counter", R"(c_total{a="x\"y\\z\n"} 3)", "g 3.5",
              "# TYPE h histogram", R"(h_bucket{le="0.1"} 1)", R"(h_bucket{le="1"} 2)",
              R"(h_bucket{le="+Inf"} 3)", "h_count 3", "h_sum 7.6"});
}

TEST_CASE("the same name and labels are the same series") {
  Registry registry;
  registry.counter("c_total", "", {{"a", "1"}}).increment();
  registry.counter("c_total", "", {{"a", "1"}}).increment();
  registry.counter("c_total", "", {{"a", "2"}}).increment();
  checkLines(registry.render(), {R"(c_total{a="1"} 2)", R"(c_total{a="2"} 1)"});
}

TEST_CASE("the series of a gauge can be removed and made again") {
  Registry registry;
  Gauge one = registry.gauge("g", "A gauge.", {{"a", "1"}});
  Gauge two = registry.gauge("g", "A gauge.", {{"a", "2"}});
  one.set(1);
  two.set(2);
  registry.removeGauge("g", one);
  one.set(5);
  CHECK_FALSE(hasLine(registry.render(), R"(g{a="1"} 5)"));
  CHECK_FALSE(hasLine(registry.render(), R"(g{a="1"} 1)"));
  checkLines(registry.render(), {"# HELP g A gauge.", R"(g{a="2"} 2)"});
  registry.removeGauge("g", one);
  registry.gauge("g", "A gauge.", {{"a", "1"}}).set(7);
  checkLines(registry.render(), {R"(g{a="1"} 7)", R"(g{a="2"} 2)"});
}

TEST_CASE("counters and histograms with a label are removed") {
  Registry registry;
  constexpr double kBuckets[] = {1, 2};
  for (const char* a : {"1", "2"}) {
    for (const char* b : {"1", "3"}) {
      registry.counter("c", "A counter.", {{"a", a}, {"b", b}}).increment();
      registry.histogram("h", "A histogram.", kBuckets, {{"a", a}, {"b", b}}).observe(1);
    }
  }
  registry.removeCounters("c", {{"a", "1"}});
  registry.removeHistograms("h", {{"a", "1"}, {"b", "3"}});
  registry.removeCounters("c", {{"b", "2"}});
  const std::string text = registry.render();
  CHECK(text.find(R"(c{a="1")") == std::string::npos);
  CHECK(text.find(R"(h_count{a="1",b="3"})") == std::string::npos);
  checkLines(text,
             {R"(c{a="2",b="1"} 1)", R"(c{a="2",b="3"} 1)", R"(h_count{a="1",b="1"} 1)",
              R"(h_count{a="2",b="1"} 1)", R"(h_count{a="2",b="3"} 1)", R"(h_bucket{a="2",b="1",le="2"} 1)"});
  // A new series begins with 0.
  registry.counter("c", "A counter.", {{"a", "1"}, {"b", "1"}}).increment();
  checkLines(registry.render(), {R"(c{a="1",b="1"} 1)"});
}

TEST_CASE("invalid names are programming errors") {
  Registry registry;
  CHECK_THROWS_AS(registry.counter("a-b", ""), std::invalid_argument);
  CHECK_THROWS_AS(registry.gauge("g", "", {{"a-b", "x"}}), std::invalid_argument);
}

TEST_CASE("handles without a registry do nothing") {
  Counter counter;
  Gauge gauge;
  Histogram histogram;
  counter.increment();
  gauge.set(1);
  gauge.add(1);
  histogram.observe(1);
  CHECK(Registry{}.render().find("process_") != std::string::npos);
}

TEST_CASE("process metrics describe this process") {
  const ProcessStats stats = readProcessStats();
  CHECK(stats.residentBytes > 1e6);
  CHECK(stats.virtualBytes > stats.residentBytes);
  CHECK(stats.startTimeSeconds > 1.7e9);
  CHECK(stats.threads >= 1);
  CHECK(stats.openFds >= 3);
  CHECK(stats.maxFds >= stats.openFds);
  const std::string text = Registry{}.render();
  for (const char* name :
       {"process_cpu_seconds_total", "process_max_fds", "process_open_fds", "process_resident_memory_bytes",
        "process_start_time_seconds", "process_threads", "process_virtual_memory_bytes"}) {
    CAPTURE(name);
    CHECK_THAT(text, Catch::Contains(std::string{"# TYPE "} + name));
  }
}

TEST_CASE("the webhook's names and labels") {
  Registry registry;
  RouteMetrics route{registry, "/convert"};
  AdmissionMetrics admission{registry, "DynamoGraphDeployment", "CREATE"};
  ConversionMetrics conversion{registry, "DynamoGraphDeploymentRequest", "v1beta1"};
  ServerMetrics server{registry};
  RuleMetrics rules{registry};
  addBuildInfo(registry, "webhook", "0.1.0", "1.0.0");
  checkLines(registry.render(),  // initialised, so rates of rare events are correct from the first event
             {R"(controller_runtime_webhook_requests_total{code="200",webhook="/convert"} 0)",
              R"(controller_runtime_webhook_requests_total{code="500",webhook="/convert"} 0)",
              "controller_runtime_webhook_panics_total 0",
              "controller_runtime_conversion_webhook_panics_total 0", "certwatcher_read_certificate_total 0",
              "certwatcher_read_certificate_errors_total 0", "dynamo_webhook_draining 0"});

  route.started();
  checkLines(registry.render(), {R"(controller_runtime_webhook_requests_in_flight{webhook="/convert"} 1)"});
  route.finished(200, 0.002);
  route.started();
  route.finished(413, 0.002);
  admission.allowed(0.004);
  admission.denied(0.2, DenialReason::Immutable);
  conversion.objects.increment(3);
  conversion.bytes.increment(900);
  conversion.seconds.observe(0.03);
  server.certificateExpiry.set(1'798'761'600);
  rules.denied("dgd-name-length");
  const std::string text = registry.render();
  checkLines(
      text,
      {R"(controller_runtime_webhook_requests_in_flight{webhook="/convert"} 0)",
       R"(controller_runtime_webhook_requests_total{code="200",webhook="/convert"} 1)",
       R"(controller_runtime_webhook_requests_total{code="413",webhook="/convert"} 1)",
       R"(controller_runtime_webhook_latency_seconds_bucket{webhook="/convert",le="1e-08"} 0)",
       R"(controller_runtime_webhook_latency_seconds_bucket{webhook="/convert",le="0.01"} 2)",
       R"(controller_runtime_webhook_latency_seconds_bucket{webhook="/convert",le="1000"} 2)",
       "dynamo_operator_webhook_requests_total{" + kCreate + R"(,result="allowed"} 1)",
       "dynamo_operator_webhook_requests_total{" + kCreate + R"(,result="denied"} 1)",
       R"(dynamo_operator_webhook_denials_total{operation="CREATE",reason="immutable",)"
       R"(resource_type="DynamoGraphDeployment"} 1)",
       "dynamo_operator_webhook_duration_seconds_bucket{" + kCreate + R"(,le="0.005"} 1)",
       "dynamo_operator_webhook_duration_seconds_bucket{" + kCreate + R"(,le="0.25"} 2)",
       "dynamo_webhook_conversion_objects_total{" + kToBeta + "} 3",
       "dynamo_webhook_conversion_bytes_total{" + kToBeta + "} 900",
       R"(dynamo_webhook_certificate_expiration_timestamp_seconds 1798761600)",
       R"(dynamo_webhook_rule_denials_total{rule="dgd-name-length"} 1)",
       R"(dynamo_operator_build_info{component="webhook",operator_version="1.0.0",version="0.1.0"} 1)"});
}

TEST_CASE("denials count from 0") {
  Registry registry;
  const AdmissionMetrics admission{registry, "DynamoGraphDeployment", "CREATE"};
  RuleMetrics rules{registry};
  rules.add("dgd-name-length");
  for (const std::string_view reason : {"required", "invalid", "wrong_type", "not_supported", "forbidden",
                                        "immutable", "duplicate", "not_found", "size"}) {
    checkLines(registry.render(), {R"(dynamo_operator_webhook_denials_total{operation="CREATE",reason=")" +
                                   std::string{reason} + R"(",resource_type="DynamoGraphDeployment"} 0)"});
  }
  checkLines(registry.render(), {R"(dynamo_webhook_rule_denials_total{rule="dgd-name-length"} 0)"});
  rules.denied("dgd-name-length");
  rules.add("dgd-name-length");
  checkLines(registry.render(), {R"(dynamo_webhook_rule_denials_total{rule="dgd-name-length"} 1)"});
}

TEST_CASE("the number of rule ids is bounded") {
  Registry registry;
  RuleMetrics rules{registry};
  for (std::size_t i = 0; i < RuleMetrics::kMaxRules + 100; ++i) rules.denied("r" + std::to_string(i));
  rules.denied("r0");
  const std::string text = registry.render();
  checkLines(text, {R"(dynamo_webhook_rule_denials_total{rule="other"} 100)",
                    R"(dynamo_webhook_rule_denials_total{rule="r0"} 2)"});
}

TEST_CASE("handles count from many threads") {
  Registry registry;
  AdmissionMetrics admission{registry, "DynamoModel", "UPDATE"};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        admission.allowed(0.001);
        admission.denied(0.001, DenialReason::Required);
      }
    });
  }
  for (int i = 0; i < 10; ++i) CHECK_FALSE(registry.render().empty());
  threads.clear();
  checkLines(registry.render(),
             {"dynamo_operator_webhook_requests_total{" + kUpdate + R"(,result="allowed"} 4000)",
              R"(dynamo_operator_webhook_denials_total{operation="UPDATE",reason="required",)"
              R"(resource_type="DynamoModel"} 4000)",
              "dynamo_operator_webhook_duration_seconds_count{" + kUpdate + R"(} 8000)"});
}

}  // namespace dynamo::observability
