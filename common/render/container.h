#pragma once
// Renders the main container of a component and the frontend sidecar.

#include "common/json/value.h"
#include "common/model/completion.h"
#include "common/render/component.h"

namespace dynamo::render {

/// The defaults of a component for its pods: those of the model, and the namespace suffix of workers.
model::Completion complete(const Component& component, const Context& context, json::Allocator& allocator);

/// Merges in this order: defaults, mainContainer, envs, probes, resources, envFrom. An explicit 0 or false
/// replaces a default. Empty strings, lists and maps do not (pod-Q6).
json::Value mainContainer(const Component& component, model::Completion& completion, Errors& errors,
                          json::Allocator& allocator, const model::Recording& recording);

/// The container of `frontendSidecar`.
json::Value frontendSidecar(const Component& component, const json::Value& sidecar, const Context& context,
                            const model::Recording& recording, json::Allocator& allocator);

}  // namespace dynamo::render
