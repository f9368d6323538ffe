#pragma once
// The main container of a component, and the frontend sidecar.

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

/// In this order: type defaults, mainContainer, envs, probes, resources, envFrom, standard environment.
/// Presence wins: a given 0 or false replaces a default, empty texts, lists and maps do not (quirk pod-Q6).
json::Value mainContainer(const Component& component, const Context& context, Errors& errors,
                          json::Allocator& allocator);

/// The container of `frontendSidecar`.
json::Value frontendSidecar(const Component& component, const json::Value& sidecar, const Context& context,
                            json::Allocator& allocator);

}  // namespace dynamo::render
