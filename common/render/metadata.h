#pragma once
// Labels and annotations of pods and of their workloads (quirks pod-Q20, pod-Q22, pod-Q24, child-Q17,
// child-Q18). Keys that the operator sets take precedence over those of the user, except
// nvidia.com/metrics-enabled.

#include "common/json/value.h"
#include "common/render/component.h"
#include "common/render/pod.h"

namespace dynamo::render {

/// Labels of the DynamoComponentDeployment, Deployment and Service: those of the user, and those that
/// identify the component.
json::Value componentLabels(const Component& component, json::Allocator& allocator);

/// Which labels of the user take precedence if both maps have a key.
enum class UserLabels {
  OfPods,       ///< extraPodMetadata.labels
  OfComponent,  ///< labels
};

/// Labels of the pods. `selector` is the value of nvidia.com/selector; empty: no such label. `origins` are
/// those of the pod template.
json::Value podLabels(const Component& component, std::string_view selector, Origins* origins,
                      json::Allocator& allocator, UserLabels stronger = UserLabels::OfPods);

/// Annotations of the Deployment and the Service of a DynamoComponentDeployment.
json::Value componentAnnotations(const Component& component, json::Allocator& allocator);

enum class BaseAnnotations { None, OfComponent };

/// extraPodMetadata.annotations and what the podinfo volume reads, on top of `base`.
json::Value podAnnotations(const Component& component, const Pod& pod, BaseAnnotations base, Origins* origins,
                           json::Allocator& allocator);

}  // namespace dynamo::render
