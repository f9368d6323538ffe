// The gauges about graphs.
#include "controller/reconcile/graph_figures.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "common/json/parse.h"

namespace dynamo::controller::test {
namespace {

using Figures = std::map<std::string, double>;

/// "metric/label/label" without the common prefix -> value.
Figures figuresOf(const std::string& spec, const std::string& status) {
  json::Document graph;
  REQUIRE_FALSE(
      json::parse(R"({"metadata":{"name":"g","namespace":"n","creationTimestamp":"1970-01-01T00:01:00Z"},)"
                  R"("spec":{"services":)" +
                      spec + R"(},"status":)" + status + "}",
                  graph));
  Figures figures;
  addGraphFigures(
      graph, [&](const ObjectGauge& gauge, std::string_view first, std::string_view second, double value) {
        constexpr std::string_view kPrefix = "dynamo_operator_graph_";
        REQUIRE(gauge.name.starts_with(kPrefix));
        CHECK(gauge.labels[0].empty() == first.empty());
        std::string key{gauge.name.substr(kPrefix.size())};
        for (const std::string_view label : {first, second}) {
          if (!label.empty()) key += "/" + std::string{label};
        }
        figures[key] = value;
      });
  return figures;
}

constexpr const char* kReady =
    R"({"conditions":[{"type":"Ready","status":"True","reason":"all_resources_are_ready"}]})";

}  // namespace

TEST_CASE("a ready graph has only its replicas") {
  CHECK(figuresOf("{}", kReady) == Figures{{"desired_replicas", 0}, {"missing_replicas", 0}});
}

TEST_CASE("a graph that is not ready has the time and the reason of its condition") {
  const Figures found =
      figuresOf("{}", R"({"conditions":[{"type":"Ready","status":"False","reason":"insufficient_capacity",
    "lastTransitionTime":"1970-01-01T01:00:00Z"}]})");
  CHECK(found.at("not_ready_since_timestamp_seconds/g/insufficient_capacity") == 3600);
}

TEST_CASE("a graph without a status is not ready since its creation") {
  CHECK(figuresOf("{}", "{}").at("not_ready_since_timestamp_seconds/g/no_status") == 60);
}

TEST_CASE("a rolling update has its start until it has completed") {
  const auto found = [](const std::string& phase) {
    return figuresOf("{}",
                     R"({"rollingUpdate":{"startTime":"1970-01-01T00:00:10Z","phase":")" + phase + "\"}}");
  };
  for (const char* phase : {"Pending", "InProgress"})
    CHECK(found(phase).at(std::string{"rolling_update_start_timestamp_seconds/g/"} + phase) == 10);
  CHECK(found("Completed") == figuresOf("{}", "{}"));
}

TEST_CASE("missing replicas are those of each service that are not ready") {
  struct Row {
    const char* spec;
    const char* services;
    double desired;
    double missing;
  };
  for (const Row& row : {
           Row{R"({"a":{"replicas":3}})", R"({"a":{"replicas":3,"readyReplicas":1}})", 3, 2},
           Row{R"({"a":{}})", R"({"a":{"readyReplicas":1}})", 1, 0},
           // No status yet.
           Row{R"({"a":{"replicas":2}})", "{}", 2, 2},
           Row{R"({"a":{"replicas":0}})", "{}", 0, 0},
           // Too many replicas of a service do not make up for those of another.
           Row{R"({"a":{"replicas":1},"b":{"replicas":2}})",
               R"({"a":{"readyReplicas":2},"b":{"readyReplicas":0}})", 3, 2},
           // A PodCliqueScalingGroup has availableReplicas only.
           Row{R"({"a":{"replicas":3}})", R"({"a":{"replicas":3,"availableReplicas":2}})", 3, 1},
       }) {
    CAPTURE(row.spec, row.services);
    const Figures found = figuresOf(row.spec, R"({"services":)" + std::string{row.services} + "}");
    CHECK(found.at("desired_replicas") == row.desired);
    CHECK(found.at("missing_replicas") == row.missing);
  }
}

}  // namespace dynamo::controller::test
