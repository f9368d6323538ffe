#pragma once
// A DynamoGraphDeployment or a DynamoComponentDeployment, resolved once: names, discovery, framework, nodes.
// Admission, rules and rendering all read this model.

#include <string>
#include <string_view>
#include <vector>

#include "common/field/path.h"
#include "common/json/value.h"
#include "common/model/framework.h"

namespace dynamo::model {

/// A service of a graph, or what a DynamoComponentDeployment describes. It views the object it was resolved
/// from.
struct Component {
  const json::Value& spec;  ///< as the object has it
  field::Path path;         ///< "spec.services[a]" or "spec"
  std::string key;          ///< the service key; of a component deployment, its serviceName, else its name
  std::string_view type;    ///< componentType, may be empty
  std::string_view graph;   ///< name of the DynamoGraphDeployment; empty while only generateName is known
  std::string_view namespaceName;  ///< of Kubernetes; empty: unknown
  std::string_view discovery;      ///< "kubernetes" or "etcd"
  std::string dynamoNamespace;     ///< of Dynamo's discovery; empty while it is unknown
  Framework framework;
  long long nodes = 1;

  field::At at(field::Members members) const { return {path, members}; }
  const json::Value* member(std::string_view field) const { return json::find(spec, field); }
  const json::Value* podSpec() const { return json::findObject(&spec, "extraPodSpec"); }
  const json::Value* mainContainer() const { return json::findObject(podSpec(), "mainContainer"); }
  bool multinode() const { return nodes > 1; }
};

/// The object and its components. Services that are null, or no objects, are left out.
struct Graph {
  const json::Value& object;
  const json::Value* metadata;
  const json::Value* spec;
  const json::Value* annotations;  ///< of the object
  bool isGraph;                    ///< a DynamoGraphDeployment, with spec.services
  std::string_view name;
  std::string_view namespaceName;
  /// Name of the DynamoGraphDeployment: of a component deployment its owner's, else its label's, else its own
  /// (pod-Q27).
  std::string_view graphName;
  const json::Value* graphOwner;  ///< first owner that is a DynamoGraphDeployment; nullptr of graphs
};

/// What stands around the components. `fallbackNamespace` replaces a metadata.namespace that is absent.
Graph resolveGraph(const json::Value& object, std::string_view fallbackNamespace = {});
/// The same for an object that is taken for a graph, or a component deployment, whatever its kind says.
Graph resolveGraphAs(const json::Value& object, bool isGraph, std::string_view fallbackNamespace = {});

/// The components of `graph`, sorted by key. `configuredDiscovery` is the configuration's discovery backend.
/// `graph` and its object must outlive them.
std::vector<Component> resolveComponents(const Graph& graph, std::string_view configuredDiscovery);

/// One component that stands at `path`; `key` as Component::key.
Component resolveComponent(const Graph& graph, const json::Value& spec, field::Path path,
                           std::string_view key, std::string_view configuredDiscovery);

/// The owner reference to the graph that made a component deployment; nullptr when there is none.
const json::Value* graphOwner(const json::Value& object);

/// The namespace in Dynamo's own discovery: "dynamo" when global, else "<namespace>-<graph, '.' as '-'>";
/// empty while one of the two is unknown.
std::string dynamoNamespace(bool global, std::string_view namespaceName, std::string_view graph);

/// "etcd" or "kubernetes": the first of component, graph and configuration that is not empty decides; every
/// value but "etcd" means kubernetes (pod-Q21, pod-Q26).
std::string_view discoveryBackend(std::string_view component, std::string_view graph,
                                  std::string_view configured);

/// multinode.nodeCount, 1 when absent; not clamped.
long long nodeCount(const json::Value& component);

}  // namespace dynamo::model
