#pragma once
// Children of custom resources as pure functions: children = render(stored, facts).

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/render/child_kinds.h"
#include "common/render/component.h"
#include "common/render/context.h"

namespace dynamo::render {

struct Child {
  k8s::ObjectKey key;
  Policy policy = Policy::Applied;
  Stage stage = Stage::Access;
  json::Value object;
  std::string service;  ///< the service it is made for; empty: the whole graph
};

/// The result of a rendering. It owns the memory of its children: nothing in them refers to the object, the
/// configuration or the facts that they are made of. Errors of one component do not stop the others; what is
/// missing because of an error must not be taken for a child that is no longer wanted.
struct Children {
  std::vector<Child> items;  ///< as they are printed; creationOrder() says how they are created
  Errors errors;

  json::Allocator& memory() { return *memory_; }
  /// Adds an object of memory(), which is complete: its key is read here.
  void add(json::Value&& object, std::string_view service = {});

 private:
  std::unique_ptr<json::Allocator> memory_ = std::make_unique<json::Allocator>();
};

/// Indexes of `items` in the order in which to create them: by stage, within one as rendered.
std::vector<std::size_t> creationOrder(const Children& children);

/// What is read back from children that exist; empty offline and for a new object.
struct Observed {
  /// service -> nvidia.com/restartAt on its present child: kept while the service is not restarted.
  std::map<std::string, std::string, std::less<>> restartAt;
  /// service -> replicas of its new generation during a rolling update (rolling_update.h).
  std::map<std::string, long long, std::less<>> newReplicas;
  /// The hash of the workers where it is known already, or kept (quirk ctl-Q31); empty: it is computed.
  std::string workerHash = {};
};

/// Children of a DynamoGraphDeployment (its DynamoComponentDeployments, not what these make). `graph` has
/// schema defaults and a namespace.
Children renderGraph(const json::Value& graph, const Context& context, const Observed& observed);

/// Children of a DynamoComponentDeployment, standalone or of a graph.
Children renderComponentDeployment(const json::Value& deployment, const Context& context);

/// The Job of a DynamoCheckpoint.
Children renderCheckpoint(const json::Value& checkpoint, const Context& context);

/// renderGraph, and the children of the DynamoComponentDeployments in it: offline, where these need no uid.
Children renderAll(const json::Value& graph, const Context& context, const Observed& observed);

/// Grove where its API is there, the configuration allows it and the annotation enable-grove is not "false";
/// otherwise the component pathway (Deployment; LeaderWorkerSet for its multinode components).
bool usesGrove(const json::Value& graph, const Context& context);
bool lwsEnabled(const Context& context);

}  // namespace dynamo::render
