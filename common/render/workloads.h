#pragma once
// Renders the workloads of components. Each kind of workload has a file.

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/render/children.h"
#include "common/render/pod.h"

namespace dynamo::render {

/// How long a pod must be ready before others end for it (decision child-Q44). `annotations` are those of the
/// workload. A wrong annotation of an object that bypassed admission is ignored.
std::int32_t minReadySeconds(const Component& component, const Context& context,
                             const json::Value& annotations);

/// The pod's account, where nobody named one: the labelled one of the namespace, else "default".
void ensureServiceAccount(const Component& component, const FactsView& facts, Pod& pod,
                          json::Allocator& allocator);

/// The Deployment of the DynamoComponentDeployment `owner`.
void renderDeployment(const json::Value& owner, const Component& component, const Context& context,
                      Children& children);

/// Each replica is a LeaderWorkerSet, so the number is limited. Real components have far fewer.
inline constexpr std::size_t kMaxLeaderWorkerSets = 1000;

/// One LeaderWorkerSet and one PodGroup per replica. `numbers` are those in their names; empty: from 0 on.
void renderLeaderWorkerSets(const json::Value& owner, const Component& component, const Context& context,
                            std::span<const long long> numbers, Children& children);

/// The PodCliqueSet of a graph. If a pod cannot be rendered, or Grove would certainly refuse the set, there
/// is an error and no PodCliqueSet. `liveSet` is the one that exists; nullptr: none.
void renderPodCliqueSet(const json::Value& graph, const std::vector<Component>& components,
                        const json::Value* liveSet, const Context& context, Children& children);

}  // namespace dynamo::render
