#pragma once
// Converts the resources of a component to those of a container.

#include <string_view>

#include "common/json/value.h"
#include "common/model/completion.h"
#include "common/render/component.h"

namespace dynamo::render {

/// The resource name of the GPUs of a component: limits.gpuType; if that and limits.gpu are empty,
/// requests.gpuType (quirk pod-Q1); otherwise nvidia.com/gpu.
std::string_view gpuResource(const json::Value* resources);

/// Merges the resources of the component over those of `container` key by key, and appends claims. An invalid
/// quantity is an error at its field path.
void applyResources(const Component& component, json::Value& container, Errors& errors,
                    const model::Recording& recording, json::Allocator& allocator);

}  // namespace dynamo::render
