#pragma once
// The endpoint picker's ConfigMap and InferencePool (quirks child-Q8, child-Q15).

#include "common/render/children.h"

namespace dynamo::render {

/// For the first component of type epp, by service name; nothing without one.
void renderEndpointPicker(const json::Value& graph, const std::vector<Component>& components,
                          Children& children);

/// eppConfig.config as the picker reads it: apiVersion and kind set, members that its type always writes.
json::Value endpointPickerConfig(const json::Value& config, json::Allocator& allocator);

}  // namespace dynamo::render
