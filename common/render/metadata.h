#pragma once
// Labels and annotations of pods and of what makes them (quirks pod-Q20, pod-Q22, pod-Q24, child-Q17,
// child-Q18). Operator-set keys win over the user's, nvidia.com/metrics-enabled excepted.

#include "common/json/value.h"
#include "common/render/component.h"
#include "common/render/pod.h"

namespace dynamo::render {

/// Labels of the DynamoComponentDeployment, Deployment, Service: the user's and what says which component it
/// is.
json::Value componentLabels(const Component& component, json::Allocator& allocator);

/// Which of the user's labels hold where both maps have a key.
enum class UserLabels {
  OfPods,       ///< extraPodMetadata.labels
  OfComponent,  ///< labels
};

/// Labels of the pods. `selector` is the value of nvidia.com/selector; empty: no such label.
json::Value podLabels(const Component& component, std::string_view selector, json::Allocator& allocator,
                      UserLabels stronger = UserLabels::OfPods);

/// Annotations of the Deployment and the Service of a DynamoComponentDeployment.
json::Value componentAnnotations(const Component& component, json::Allocator& allocator);

/// extraPodMetadata.annotations and what the podinfo volume reads, on top of `base`.
json::Value podAnnotations(const Component& component, const Pod& pod, const json::Value* base,
                           json::Allocator& allocator);

}  // namespace dynamo::render
