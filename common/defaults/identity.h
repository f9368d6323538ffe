#pragma once
// What around a component its defaults depend on: names, discovery, variables of the graph.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::defaults {

/// Of one DynamoGraphDeployment, or of one DynamoComponentDeployment on its own. The names point into
/// spec.envs.
struct Surroundings {
  std::string graph;                       ///< name of the graph; empty while only generateName is known
  std::string namespaceName;               ///< of Kubernetes; empty: unknown
  std::string discovery;                   ///< the graph's annotation as written
  std::vector<std::string_view> envNames;  ///< of spec.envs of a graph, sorted

  bool operator==(const Surroundings&) const = default;
};

/// `fallbackNamespace` stands for a metadata.namespace that is absent.
Surroundings surroundingsOf(const json::Value& object, std::string_view fallbackNamespace);

/// The owner reference to the graph that made a component deployment; nullptr when there is none.
const json::Value* graphOwner(const json::Value& object);

/// The namespace in Dynamo's own discovery: "dynamo" when global, else "<namespace>-<graph, '.' as '-'>";
/// empty while one of the two is unknown.
std::string dynamoNamespace(bool global, std::string_view namespaceName, std::string_view graph);

/// "etcd" or "kubernetes": the first of component, graph and configuration that is not empty decides; every
/// value but "etcd" means kubernetes (quirks pod-Q21, pod-Q26).
std::string_view discoveryBackend(std::string_view component, std::string_view graph,
                                  std::string_view configured);

}  // namespace dynamo::defaults
