#pragma once
// Children of custom resources as pure functions: children = render(stored, facts).

#include <map>
#include <string>
#include <vector>

#include "common/json/value.h"
#include "common/render/component.h"
#include "common/render/context.h"

namespace dynamo::render {

struct Child {
  json::Value object;
  std::string service;  ///< the service it is made for; empty: the whole graph
};

/// Errors of one component do not stop the others.
struct Children {
  std::vector<Child> items;
  Errors errors;
};

/// What is read back from children that exist; empty offline and for a new object.
struct Observed {
  /// service -> nvidia.com/restartAt on its present child: kept while the service is not restarted.
  std::map<std::string, std::string, std::less<>> restartAt;
  /// service -> replicas of its new generation during a rolling update (rolling_update.h).
  std::map<std::string, long long, std::less<>> newReplicas;
};

/// Children of a DynamoGraphDeployment (its DynamoComponentDeployments, not what these make). `graph` has
/// schema defaults and a namespace.
Children renderGraph(const json::Value& graph, const Context& context, const Observed& observed,
                     json::Allocator& allocator);

/// Children of a DynamoComponentDeployment, standalone or of a graph.
Children renderComponentDeployment(const json::Value& deployment, const Context& context,
                                   json::Allocator& allocator);

/// The same; errors name paths below `path` ("spec.services[a]" when the deployment is made from a service).
Children renderComponentDeployment(const json::Value& deployment, const std::string& path,
                                   const Context& context, json::Allocator& allocator);

/// The Job of a DynamoCheckpoint.
Children renderCheckpoint(const json::Value& checkpoint, const Context& context, json::Allocator& allocator);

/// renderGraph, and the children of the DynamoComponentDeployments in it.
Children renderAll(const json::Value& graph, const Context& context, const Observed& observed,
                   json::Allocator& allocator);

/// Grove where its API is there, the configuration allows it and the annotation enable-grove is not "false";
/// otherwise the component pathway (Deployment; LeaderWorkerSet for its multinode components).
bool usesGrove(const json::Value& graph, const Context& context);
bool lwsEnabled(const Context& context);

}  // namespace dynamo::render
