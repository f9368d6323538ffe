#pragma once
// The defaults of a component. Admission writes them into the custom resource and records them. Rendering
// applies them to pods, so an object that bypassed admission gets the same children.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/json/value.h"
#include "common/model/component_defaults.h"
#include "common/model/graph.h"
#include "common/model/origin.h"

namespace dynamo::model {

/// One default: a member of an object, or an item of a list.
struct Unit {
  enum class How {
    Absent,     ///< the component has no value
    Empty,      ///< the component has an empty value, which pods treat as absent
    Completed,  ///< the component has a part of the value; `value` is complete
  };
  std::string name;  ///< name of the member, or key of the item
  json::Value value;
  How how = How::Absent;
};

/// The default units by parent. A list that the component lacks is one unit of the parent. Items that an
/// existing list lacks are units of the list.
struct Completion {
  std::vector<Unit> sharedMemory;
  std::vector<Unit> podSpec;  ///< members of extraPodSpec
  std::vector<Unit> volumes;
  std::vector<Unit> mainContainer;
  std::vector<Unit> volumeMounts;
  std::vector<Unit> env;
  /// Members of mainContainer.lifecycle, and the variables that go with them. Only admission writes them
  /// (decision pod-Q42).
  std::vector<Unit> lifecycle;
  std::vector<Unit> lifecycleEnv;
};

/// The input of the defaults of a component besides its spec. An empty name is unknown.
struct CompletionInput {
  const ComponentDefaults& defaults;
  const config::OperatorConfig& config;
  std::string_view type;
  std::string_view graph;
  std::string_view namespaceName;
  std::string_view dynamoNamespace;
  std::string_view discovery;                  ///< "kubernetes" or "etcd"
  std::span<const std::string_view> graphEnv;  ///< names of the variables of the graph, sorted
};

CompletionInput completionInput(const Component& component, const ComponentDefaults& defaults,
                                const config::OperatorConfig& config);

/// The defaults of a component with the spec `spec`. Defaults that need an unknown name are left out.
Completion complete(const json::Value& spec, const CompletionInput& input, json::Allocator& allocator);

/// The default main container of a component type, without name and image.
json::Value defaultContainer(const CompletionInput& input, json::Allocator& allocator);

/// Where to record the origins of an object that is rendered; their fields are paths in the component's spec.
/// With `origins` nullptr nothing is recorded.
struct Recording {
  Origins* origins = nullptr;
  field::Path at = {};  ///< of the rendered object
};

/// extraPodSpec as pods get it: empty values count as none, defaults laid over. Without mainContainer and
/// containers.
json::Value completedPodSpec(const json::Value& spec, Completion& completion, json::Allocator& allocator,
                             const Recording& recording = {});

/// mainContainer of extraPodSpec with defaults. Its variables are merged with `envs`, the variables of the
/// component.
json::Value completedContainer(const json::Value& spec, const json::Value* envs, Completion& completion,
                               json::Allocator& allocator, const Recording& recording = {});

}  // namespace dynamo::model
