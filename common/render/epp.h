#pragma once
// Renders the ConfigMap and InferencePool of the endpoint picker (quirks child-Q8, child-Q15).

#include "common/render/children.h"

namespace dynamo::render {

/// Renders the children for the first component of type epp, by service name.
void renderEndpointPicker(const json::Value& graph, const std::vector<Component>& components,
                          Children& children);

/// eppConfig.config in the format of the endpoint picker: with apiVersion and kind, and with the members that
/// the Go type always writes.
json::Value endpointPickerConfig(const json::Value& config, json::Allocator& allocator);

}  // namespace dynamo::render
