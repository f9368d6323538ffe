#pragma once
// Components of a graph: services with the settings that they inherit from the graph.

#include <span>
#include <vector>

#include "common/render/children.h"

namespace dynamo::render {

/// The services of `graph` as components, sorted by name. Null services and commands that contradict
/// backendFramework are errors.
std::vector<Component> graphComponents(const json::Value& graph, const Context& context,
                                       const LifecycleInputs& inputs, Errors& errors,
                                       json::Allocator& allocator);

/// Sets the worker hash of a component from its labels, and its checkpoint from the facts.
void resolveForPods(Component& component, const FactsView& facts);

/// Adds the error of `component.framework`, if any, at the field of the command.
void reportFrameworkConflict(const Component& component, Errors& errors);

/// The DynamoComponentDeployment of `component`. `hash` is the worker hash of the graph. If the component has
/// origins, `origins` receives the origins of the spec of the deployment.
json::Value componentDeployment(const json::Value& graph, const Component& component, std::string_view hash,
                                const Context& context, const LifecycleInputs& inputs, Origins* origins,
                                json::Allocator& allocator);

/// Adds the children of a DynamoComponentDeployment. The field paths of errors start with `path`, for example
/// "spec.services[a]" if the deployment is rendered from a service. `origins` are those of the spec of a
/// deployment that a graph made; else nullptr. `setNumbers`: see renderComponentDeployment.
void renderComponent(const json::Value& deployment, const field::Path& path, const Context& context,
                     const Origins* origins, std::span<const long long> setNumbers, Children& children);

}  // namespace dynamo::render
