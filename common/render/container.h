#pragma once
// The main container of a component, and the frontend sidecar.

#include "common/json/value.h"
#include "common/model/completion.h"
#include "common/render/component.h"

namespace dynamo::render {

/// The defaults of a component for its pods: the model's, and the suffix of its workers' namespace.
model::Completion complete(const Component& component, const Context& context, json::Allocator& allocator);

/// In this order: defaults, mainContainer, envs, probes, resources, envFrom. Presence wins: a given 0 or
/// false replaces a default, empty texts, lists and maps do not (pod-Q6).
json::Value mainContainer(const Component& component, model::Completion& completion, Errors& errors,
                          json::Allocator& allocator);

/// The container of `frontendSidecar`.
json::Value frontendSidecar(const Component& component, const json::Value& sidecar, const Context& context,
                            json::Allocator& allocator);

}  // namespace dynamo::render
