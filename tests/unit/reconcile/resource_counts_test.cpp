// The gauge dynamo_operator_resources_total, and how those of graphs follow changes.
#include "controller/reconcile/resource_counts.h"
#include "controller/reconcile/kinds.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/api/kinds.h"
#include "common/json/parse.h"

namespace dynamo::controller::test {
namespace {

json::Document objectOf(std::string_view kind, const std::string& status) {
  json::Document object;
  REQUIRE_FALSE(json::parse(R"({"kind":")" + std::string{kind} + R"(","status":)" + status + "}", object));
  return object;
}

struct Scene {
  void change(const char* name, const json::Document* before, const json::Document* now,
              const char* namespaceName = "n") {
    kube::Change change;
    change.key = {std::string{api::kGroup}, "v1alpha1",
                  std::string{json::findText(now != nullptr ? now : before, "kind")}, namespaceName, name};
    change.before = before;
    change.now = now;
    counts.changed(change);
  }
  /// The published series.
  std::vector<std::string> published() {
    counts.publish([this](std::string_view name) { return name != excluded; });
    std::vector<std::string> lines;
    const std::string text = metrics.render();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.starts_with("dynamo_operator_resources_total{")) lines.push_back(line.substr(line.find('{')));
      at = end + 1;
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  observability::Registry metrics;
  ResourceCounts counts{metrics};
  std::string excluded = "excluded";
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("each kind is counted by its own status") {
  struct Row {
    std::string_view kind;
    const char* status;
    std::string_view counted;
  };
  constexpr auto kAdapter = api::kDynamoGraphDeploymentScalingAdapter;
  for (const Row& row : {
           Row{api::kDynamoGraphDeployment, R"({"state":"pending"})", "pending"},
           Row{api::kDynamoGraphDeployment, "{}", ""},
           Row{api::kDynamoComponentDeployment, R"({"conditions":[{"type":"Available","status":"True"}]})",
               "ready"},
           Row{api::kDynamoComponentDeployment, R"({"conditions":[{"type":"Available","status":"False"}]})",
               "not_ready"},
           Row{api::kDynamoComponentDeployment, "{}", "not_ready"},
           Row{kAdapter, R"({"selector":"a=b","replicas":1})", "ready"},
           Row{kAdapter, R"({"selector":"a=b","replicas":0})", "not_ready"},
           Row{kAdapter, R"({"replicas":1})", "not_ready"},
           Row{api::kDynamoModel, R"({"conditions":[{"type":"EndpointsReady","status":"True"}]})", "ready"},
           Row{api::kDynamoModel, R"({"conditions":[{"type":"EndpointsReady","status":"False"}]})",
               "not_ready"},
           Row{api::kDynamoCheckpoint, R"({"phase":"Creating"})", "Creating"},
           Row{api::kDynamoCheckpoint, "{}", ""},
           Row{api::kDynamoGraphDeploymentRequest, R"({"phase":"Profiling"})", "Profiling"},
           Row{api::kDynamoGraphDeploymentRequest, "{}", ""},
       }) {
    CAPTURE(row.kind, row.status);
    const WatchedKind* kind = findWatchedKind({std::string{api::kGroup}, "", std::string{row.kind}, "", ""});
    REQUIRE(kind != nullptr);
    REQUIRE(kind->countedStatus != nullptr);
    CHECK(kind->countedStatus(objectOf(row.kind, row.status)) == row.counted);
  }
}

TEST_CASE("a series follows the changes of objects, and goes with its last object") {
  Scene scene;
  const auto pending = objectOf(api::kDynamoGraphDeployment, R"({"state":"pending"})");
  const auto successful = objectOf(api::kDynamoGraphDeployment, R"({"state":"successful"})");
  const std::string pendingLine =
      R"({namespace="n",resource_type="DynamoGraphDeployment",status="pending"} )";
  const std::string successfulLine =
      R"({namespace="n",resource_type="DynamoGraphDeployment",status="successful"} )";
  scene.change("a", nullptr, &pending);
  scene.change("b", nullptr, &pending);
  CHECK(scene.published() == Lines{pendingLine + "2"});
  scene.change("a", &pending, &successful);
  CHECK(scene.published() == Lines{pendingLine + "1", successfulLine + "1"});
  scene.change("b", &pending, &successful);
  CHECK(scene.published() == Lines{successfulLine + "2"});
  scene.change("a", &successful, nullptr);
  scene.change("b", &successful, nullptr);
  CHECK(scene.published().empty());
}

TEST_CASE("namespaces that another operator manages have no series until they return") {
  Scene scene;
  const auto graph = objectOf(api::kDynamoGraphDeployment, R"({"state":"failed"})");
  scene.change("a", nullptr, &graph, "excluded");
  CHECK(scene.published().empty());
  scene.excluded = "";
  CHECK(scene.published().size() == 1);
  scene.excluded = "excluded";
  CHECK(scene.published().empty());
}

TEST_CASE("the figures of graphs follow their changes") {
  Scene scene;
  const auto waits = objectOf(api::kDynamoGraphDeployment, R"({"conditions":[{"type":"Ready","status":"False",
    "reason":"insufficient_capacity","lastTransitionTime":"1970-01-01T00:01:00Z"}]},"metadata":{"name":"a"},
    "spec":{"services":{"s":{"replicas":2}}})");
  const auto ready =
      objectOf(api::kDynamoGraphDeployment, R"({"conditions":[{"type":"Ready","status":"True"}],
    "services":{"s":{"readyReplicas":2}}},"metadata":{"name":"a"},"spec":{"services":{"s":{"replicas":2}}})");
  const auto has = [&](const std::string& line) {
    scene.published();
    return scene.metrics.render().find("\ndynamo_operator_graph_" + line + "\n") != std::string::npos;
  };
  const std::string since =
      R"(not_ready_since_timestamp_seconds{name="a",namespace="n",reason="insufficient_capacity"} 60)";
  scene.change("a", nullptr, &waits);
  CHECK(has(since));
  CHECK(has(R"(desired_replicas{namespace="n"} 2)"));
  CHECK(has(R"(missing_replicas{namespace="n"} 2)"));
  scene.change("b", nullptr, &ready);
  CHECK(has(R"(desired_replicas{namespace="n"} 4)"));
  CHECK(has(R"(missing_replicas{namespace="n"} 2)"));
  scene.change("a", &waits, &ready);
  CHECK_FALSE(has(since));
  CHECK(has(R"(missing_replicas{namespace="n"} 0)"));
  scene.change("a", &ready, nullptr);
  scene.change("b", &ready, nullptr);
  scene.published();
  CHECK(scene.metrics.render().find("dynamo_operator_graph_desired_replicas{") == std::string::npos);
}

TEST_CASE("children are not counted") {
  Scene scene;
  const auto pod = objectOf("Pod", R"({"phase":"Running"})");
  scene.change("a", nullptr, &pod);
  CHECK(scene.published().empty());
}

}  // namespace dynamo::controller::test
