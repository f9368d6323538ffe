#pragma once
// What a graph adds to a service, before it becomes a pod or a DynamoComponentDeployment.

#include <vector>

#include "common/render/children.h"

namespace dynamo::render {

/// Every service of `graph` as a component, sorted by name. Errors: null services, commands that disagree
/// with backendFramework.
std::vector<Component> graphComponents(const json::Value& graph, const Context& context,
                                       const Observed& observed, Errors& errors, json::Allocator& allocator);

/// Settles what labels and the cluster say of a component: the hash of its workers, its checkpoint.
void resolveForPods(Component& component, const FactsView& facts);

/// The error of `component.framework`, if it has one, at the command that is in doubt.
void tellFramework(const Component& component, Errors& errors);

/// The services that carry the restart's id now; what they carry.
std::map<std::string, std::string> restartAnnotations(const json::Value& graph, const Observed& observed);

/// The DynamoComponentDeployment of `component`. `hash` is the graph's worker hash.
json::Value componentDeployment(const json::Value& graph, const Component& component, std::string_view hash,
                                const Context& context, const Observed& observed, json::Allocator& allocator);

/// Adds the children of a DynamoComponentDeployment; errors name paths below `path` ("spec.services[a]" when
/// the deployment is made from a service).
void renderComponent(const json::Value& deployment, const field::Path& path, const Context& context,
                     Children& children);

}  // namespace dynamo::render
