#pragma once
// The main container of a component, and the frontend sidecar (spec/pod-defaults.md sections 3, 4, 12, 15,
// 18).

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

/// Steps 2 to 9 of section 3: type defaults, mainContainer, envs, probes, resources, envFrom, standard
/// environment. Presence wins: a given 0 or false replaces a default, empty texts, lists and maps do not
/// (quirk pod-Q6).
json::Value mainContainer(const Component& component, const Context& context, Errors& errors,
                          json::Allocator& allocator);

/// The container of `frontendSidecar`.
json::Value frontendSidecar(const Component& component, const json::Value& sidecar, const Context& context,
                            json::Allocator& allocator);

}  // namespace dynamo::render
