#pragma once
// A component for rendering: a service of a graph or the spec of a component deployment, with inherited
// settings and facts of the cluster.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/model/graph.h"
#include "common/model/origin.h"
#include "common/render/context.h"
#include "common/render/multinode.h"

namespace dynamo::render {

using model::Origin;
using model::Origins;

/// A checkpoint as a component uses it.
struct CheckpointUse {
  bool enabled = false;
  bool ready = false;
  std::string name;  ///< of the DynamoCheckpoint; empty if it does not exist
  std::string hash;
};

/// A component of the model with settings of its graph and facts of the cluster.
struct Component : model::Component {
  explicit Component(model::Component&& resolved) : model::Component(std::move(resolved)) {}

  const json::Value* annotations = nullptr;  ///< its own, those of its graph and restartAt
  const json::Value* labels = nullptr;  ///< its own; for a component deployment overridden by metadata.labels
  const json::Value* envs = nullptr;    ///< variables of the graph, overridden by its own
  std::string workerHash;               ///< value of the worker hash label; empty if absent
  Hosts hosts;
  CheckpointUse checkpoint;
  /// Of its spec, labels, annotations and envs, by their paths in the spec (origin.h). nullptr unless the
  /// context asks for origins.
  std::shared_ptr<const Origins> origins;
};

using Errors = std::vector<field::FieldError>;

/// Which part of a component has the number of its GPUs.
enum class GpuPlace {
  Service,    ///< limits.gpu or requests.gpu
  Container,  ///< the resources of the main container, or custom resources, by the name of the GPU resource
  Nowhere,
};

GpuPlace gpuPlace(const json::Value& component, const json::Value& main);

/// GPUs of one pod with the container `main`: limits.gpu; if only requests.gpu is set, the GPU limit of
/// `main` or else requests.gpu (quirk pod-Q1); if neither is set, the limit of the GPU resource in custom
/// limits or `main`, else its request (quirk pod-Q41). 0 if absent or not a whole number.
long long gpusOf(const json::Value& component, const json::Value& main);

/// Whether gpusOf() is 0 because no number is given, or because a quantity is 0 or no whole number.
bool lacksGpus(const json::Value& component, const json::Value& main);

/// A number of GPUs and its field.
struct GpuCount {
  long long number = 0;
  field::Path field;  ///< for example "resources.limits.gpu"; empty if no field is set
};

/// The GPUs per node in the process count of mpirun: requests.gpu, else limits.gpu, else limits.custom[<gpu
/// type>] (quirks pod-Q1, pod-Q40). Values that are not whole numbers are ignored. Numbers below 1 are not:
/// validation rejects them.
GpuCount countedGpus(const json::Value& component);

}  // namespace dynamo::render
