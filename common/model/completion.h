#pragma once
// What the operator adds to a component where the user has nothing. Admission writes it into the custom
// resource and records it; rendering lays it into the pod, so that an object without admission gets the same
// children.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/json/value.h"
#include "common/model/component_defaults.h"
#include "common/model/graph.h"

namespace dynamo::model {

/// One default: a member of an object, or an item of a list.
struct Unit {
  enum class How {
    Absent,     ///< the component has nothing there
    Empty,      ///< the component has an empty value, which counts as none in pods
    Completed,  ///< the component has a part; the value is the whole
  };
  std::string name;  ///< of the member; of an item the key that tells it apart
  json::Value value;
  How how = How::Absent;
};

/// Defaults by place. A list that the component has not is one unit of its object; items that a list of the
/// component lacks are units of the list.
struct Completion {
  std::vector<Unit> sharedMemory;
  std::vector<Unit> podSpec;  ///< of extraPodSpec
  std::vector<Unit> volumes;
  std::vector<Unit> mainContainer;
  std::vector<Unit> volumeMounts;
  std::vector<Unit> env;
};

/// What the defaults of a component depend on besides its spec. Names may be empty: unknown.
struct CompletionInput {
  const ComponentDefaults& defaults;
  const config::OperatorConfig& config;
  std::string_view type;
  std::string_view graph;
  std::string_view namespaceName;
  std::string_view dynamoNamespace;
  std::string_view discovery;                  ///< "kubernetes" or "etcd"
  std::span<const std::string_view> graphEnv;  ///< names of the graph's variables, sorted
};

CompletionInput completionInput(const Component& component, const ComponentDefaults& defaults,
                                const config::OperatorConfig& config);

/// The defaults of a component with the given spec. A default that needs an unknown name is left out.
Completion complete(const json::Value& spec, const CompletionInput& input, json::Allocator& allocator);

/// The main container that a component of this type gets when its spec says nothing about it, without its own
/// name and image.
json::Value defaultContainer(const CompletionInput& input, json::Allocator& allocator);

/// extraPodSpec as pods get it: empty values count as none, defaults laid over. Without mainContainer and
/// containers.
json::Value completedPodSpec(const json::Value& spec, Completion& completion, json::Allocator& allocator);

/// mainContainer of extraPodSpec as pods get it, its variables merged with `envs`, the component's own.
json::Value completedContainer(const json::Value& spec, const json::Value* envs, Completion& completion,
                               json::Allocator& allocator);

}  // namespace dynamo::model
