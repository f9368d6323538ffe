#pragma once
// The model of a DynamoGraphDeployment or DynamoComponentDeployment with resolved names, discovery backend,
// framework and node counts. Defaults, rules and rendering use it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/field/path.h"
#include "common/json/value.h"
#include "common/model/framework.h"

namespace dynamo::model {

/// A service of a graph, or the component of a DynamoComponentDeployment. It refers to the object that it was
/// resolved from.
struct Component {
  const json::Value& spec;  ///< as in the object
  field::Path path;         ///< "spec.services[a]" or "spec"
  std::string key;          ///< name of the service; for a component deployment serviceName or its name
  std::string_view type;    ///< componentType; may be empty
  std::string_view graph;   ///< name of the DynamoGraphDeployment; empty while only generateName is known
  std::string_view namespaceName;  ///< Kubernetes namespace; empty if unknown
  std::string_view discovery;      ///< "kubernetes" or "etcd"
  std::string dynamoNamespace;     ///< namespace in Dynamo's discovery; empty if unknown
  Framework framework;
  long long nodes = 1;

  field::At at(field::Members members) const { return {path, members}; }
  const json::Value* member(std::string_view field) const { return json::find(spec, field); }
  const json::Value* podSpec() const { return json::findObject(&spec, "extraPodSpec"); }
  const json::Value* mainContainer() const { return json::findObject(podSpec(), "mainContainer"); }
  bool multinode() const { return nodes > 1; }
};

/// A DynamoGraphDeployment or DynamoComponentDeployment. resolveComponents() returns its components.
struct ResolvedGraph {
  const json::Value& object;
  const json::Value* metadata;
  const json::Value* spec;
  const json::Value* annotations;  ///< metadata.annotations
  bool isGraph;                    ///< whether the object is a DynamoGraphDeployment
  std::string_view name;
  std::string_view namespaceName;
  /// Name of the DynamoGraphDeployment. For a component deployment this is the name of the owner, else the
  /// label, else its own name (pod-Q27).
  std::string_view graphName;
  const json::Value* graphOwner;  ///< owner reference to a DynamoGraphDeployment; nullptr for graphs
};

/// Resolves an object. `fallbackNamespace` is used if metadata.namespace is absent.
ResolvedGraph resolveGraph(const json::Value& object, std::string_view fallbackNamespace = {});
/// The same, but `isGraph` decides instead of the kind of the object.
ResolvedGraph resolveGraphAs(const json::Value& object, bool isGraph,
                             std::string_view fallbackNamespace = {});

/// The components of `graph`, sorted by key. Services that are not objects are left out.
/// `configuredDiscovery` is the discovery backend of the configuration. `graph` and its object must outlive
/// the result.
std::vector<Component> resolveComponents(const ResolvedGraph& graph, std::string_view configuredDiscovery);

/// Resolves one component at the field path `path`. `key` is Component::key.
Component resolveComponent(const ResolvedGraph& graph, const json::Value& spec, field::Path path,
                           std::string_view key, std::string_view configuredDiscovery);

/// The service "a" of "spec.services[a]" and of what is in it; nullopt where a path names no service.
std::optional<std::string_view> serviceIn(field::PathView path);

/// The owner reference to the graph that made a component deployment; nullptr when there is none.
const json::Value* graphOwner(const json::Value& object);

/// The namespace in Dynamo's discovery: "dynamo" if `global`, otherwise "<namespace>-<graph>" with "-" for
/// each "." of the graph. Empty if `namespaceName` or `graph` is unknown.
std::string dynamoNamespace(bool global, std::string_view namespaceName, std::string_view graph);

/// "etcd" or "kubernetes", from the first non-empty value of component, graph and configuration. Every value
/// except "etcd" means "kubernetes" (pod-Q21, pod-Q26).
std::string_view discoveryBackend(std::string_view component, std::string_view graph,
                                  std::string_view configured);

/// multinode.nodeCount, or 1 if absent. Not clamped.
long long nodeCount(const json::Value& component);

}  // namespace dynamo::model
