#pragma once
// The workloads that run a component's pods; one file each.

#include "common/render/children.h"

namespace dynamo::render {

/// The pod's account, where nobody named one: the labelled one of the namespace, else "default".
void ensureServiceAccount(const Component& component, const FactsView& facts, json::Value& podSpec,
                          json::Allocator& allocator);

/// Deployment of the DynamoComponentDeployment `owner`.
void renderDeployment(const json::Value& owner, const Component& component, const Context& context,
                      Children& children);

/// One LeaderWorkerSet and one PodGroup a replica.
void renderLeaderWorkerSets(const json::Value& owner, const Component& component, const Context& context,
                            Children& children);

/// The PodCliqueSet of a graph; components whose pods cannot be rendered are errors and none is made.
void renderPodCliqueSet(const json::Value& graph, const std::vector<Component>& components,
                        const Context& context, Children& children);

}  // namespace dynamo::render
