#pragma once
// spec.resources of a component as a container's resources.

#include <string_view>

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

/// The resource that a component's GPUs are: limits.gpuType, without limits.gpu else requests.gpuType (quirk
/// pod-Q1), else NVIDIA's.
std::string_view gpuResource(const json::Value* resources);

/// Lays the component's resources over those of `container`, key by key; claims are appended. What is no
/// quantity is an error at its path.
void applyResources(const Component& component, json::Value& container, Errors& errors,
                    json::Allocator& allocator);

}  // namespace dynamo::render
