#pragma once
// One component on its way to pods: an entry of a DGD's spec.services, or a DCD's spec, with everything that
// its surroundings add.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/model/graph.h"
#include "common/render/context.h"
#include "common/render/multinode.h"

namespace dynamo::render {

/// A checkpoint as a component uses it.
struct CheckpointUse {
  bool enabled = false;
  bool ready = false;
  std::string name;  ///< of the DynamoCheckpoint; empty: none known yet
  std::string hash;
};

/// A component of the model, with what its graph hands down and what the cluster knows of it.
struct Component : model::Component {
  explicit Component(model::Component&& resolved) : model::Component(std::move(resolved)) {}

  const json::Value* annotations = nullptr;  ///< its own, with those that its graph hands down and a restart
  const json::Value* labels = nullptr;       ///< its own; of a component deployment the object's over them
  const json::Value* envs = nullptr;         ///< the graph's variables under its own
  std::string workerHash;                    ///< value of the label; empty: none
  Hosts hosts;
  CheckpointUse checkpoint;
};

using Errors = std::vector<field::FieldError>;

/// GPUs of one pod with the container `main`: limits.gpu; where only requests.gpu is given, the limit that
/// `main` has of its own, else that (quirk pod-Q1). 0 when absent or no whole number.
long long gpusOf(const json::Value& component, const json::Value& main);

/// A number of GPUs, and the field that gives it.
struct GpuCount {
  long long number = 0;
  field::Path field;  ///< "resources.limits.gpu"; empty: nothing gives one
};

/// What mpirun counts with on each node: requests.gpu, else limits.gpu, else limits.custom[<gpu type>]
/// (quirks pod-Q1, pod-Q40). What is no whole quantity does not count; zero and less do, and validation
/// refuses them.
GpuCount countedGpus(const json::Value& component);

}  // namespace dynamo::render
