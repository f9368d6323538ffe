#pragma once
// Renders the children of custom resources. Rendering is a pure function of the stored object, the
// configuration and the facts of the cluster.

#include <map>
#include <memory>
#include <optional>
#include <span>
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
  /// Of each pod template (podTemplates()); of a DynamoComponentDeployment, of its spec. Empty unless the
  /// context asks for origins.
  std::vector<Origins> origins = {};
};

/// The result of rendering. It owns the memory of the children, which do not refer to the input. An error of
/// one component does not affect the others. If there are errors, children may be missing, and the controller
/// must not delete them.
struct Children {
  std::vector<Child> items;  ///< in print order; see creationOrder()
  Errors errors;
  /// minReadySeconds of the component if it runs as LeaderWorkerSets, which have no such field.
  std::int32_t minReadySeconds = 0;

  json::Allocator& memory() { return *memory_; }
  /// Adds an object that was allocated from memory(). It must be complete, because its key is read here.
  void add(json::Value&& object, std::string_view service = {});

 private:
  std::unique_ptr<json::Allocator> memory_ = std::make_unique<json::Allocator>();
};

/// Indexes of `items` in creation order: by stage, then in print order.
std::vector<std::size_t> creationOrder(const Children& children);

/// What common/lifecycle decides about the children of a graph. The default is for a graph without restarts
/// and rolling updates.
struct LifecycleInputs {
  /// service -> value of the annotation nvidia.com/restartAt on its child.
  std::map<std::string, std::string, std::less<>> restartAnnotations = {};
  /// service -> replicas of its new worker generation while a rolling update is in progress.
  std::map<std::string, long long, std::less<>> workerReplicas = {};
  /// Names the worker generation (quirk ctl-Q31); empty: the hash of the graph's intent.
  std::string workerHash = {};
  /// The PodCliqueSet that exists, whose immutable fields are kept (decision child-Q35); nullptr: a new one.
  const json::Value* podCliqueSet = nullptr;

  /// The worker generation that endpoint pickers name (picker_namespace.h). nullopt: workerHash; empty: none.
  std::optional<std::string> pickerHash = {};

  bool operator==(const LifecycleInputs&) const = default;
};

/// The children of a DynamoGraphDeployment. The children of its DynamoComponentDeployments are not included.
/// `graph` must have schema defaults and a namespace.
Children renderGraph(const json::Value& graph, const Context& context, const LifecycleInputs& inputs);

/// The children of a DynamoComponentDeployment, standalone or of a graph. `setNumbers` are the numbers in the
/// names of its LeaderWorkerSets, if it has any; empty: from 0 on.
Children renderComponentDeployment(const json::Value& deployment, const Context& context,
                                   std::span<const long long> setNumbers = {});

/// The Job of a DynamoCheckpoint.
Children renderCheckpoint(const json::Value& checkpoint, const Context& context);

/// The children of a stored (v1beta1) DynamoGraphDeploymentRequest in its profiling phase: a Job, its service
/// account and its role binding.
Children renderProfiling(const json::Value& request, const Context& context);

/// The children of a DynamoGraphDeployment, including those of its DynamoComponentDeployments. For offline
/// use, where owners need no uid.
Children renderAll(const json::Value& graph, const Context& context, const LifecycleInputs& inputs);

/// Whether Grove runs the graph: its API is present, the configuration allows it and the annotation
/// enable-grove is not "false". Otherwise the component pathway is used (Deployments, and LeaderWorkerSets
/// for multinode components).
bool usesGrove(const json::Value& graph, const Context& context);
bool lwsEnabled(const Context& context);

}  // namespace dynamo::render
