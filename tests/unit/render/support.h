#pragma once
// Graphs from JSON text, and their children.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/parse.h"
#include "common/render/children.h"

namespace dynamo::render::test {

/// The document of `text`; fails the test when it does not parse.
json::Document parsed(std::string_view text);

/// The workload that runs the components of a graph.
enum class Pathway { Deployment, LeaderWorkerSet, Grove };

struct Setup {
  config::OperatorConfig config = config::defaultConfig();
  model::ComponentDefaults defaults{};
  Facts facts;

  explicit Setup(Pathway pathway = Pathway::Grove);
  Context context() const { return {config, defaults, facts}; }
};

/// A graph "g" in namespace "ns" with one service "Svc" whose JSON is `service`.
json::Document graphOf(
    std::string_view service,
    std::string_view annotations = R"({"nvidia.com/dynamo-operator-origin-version":"1.0.0"})");

/// The pod spec of a role of the rendered graph: "main", "leader" or "worker". Null when there is none.
const json::Value* podSpecOf(const Children& children, std::string_view role);

/// Everything rendered from `graph`.
Children rendered(const Setup& setup, json::Document& graph);

/// The objects of tests/golden as a cluster stores them: defaulted, with a namespace, and with `uid` unless
/// it is empty.
std::vector<json::Document> goldenObjects(std::string_view uid = {});

/// The children of a DynamoGraphDeployment with those of its DynamoComponentDeployments, of a
/// DynamoComponentDeployment, of a DynamoCheckpoint, or of a DynamoGraphDeploymentRequest of v1beta1.
Children childrenOf(const json::Value& object, const Context& context);

/// The errors of `children`, one per line.
std::string errorsOf(const Children& children);

const json::Value& mainContainerOf(const json::Value& podSpec);
/// "NAME=value NAME=(fieldPath)", in order.
std::string envOf(const json::Value& container);
/// Command and args, joined by "|".
std::string commandOf(const json::Value& container);

}  // namespace dynamo::render::test
