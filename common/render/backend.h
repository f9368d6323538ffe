#pragma once
// What an inference engine changes in the pods of a component. One file an engine.

#include <initializer_list>

#include "common/json/value.h"
#include "common/render/component.h"
#include "common/render/context.h"

namespace dynamo::render {

/// A pod on its way: `main` is the main container until it is appended to spec.containers.
struct PodDraft {
  json::Value spec;
  json::Value main;
  json::Value volumes{rapidjson::kArrayType};  ///< appended behind the user's
};

void updateForVllm(const Component& component, Role role, PodDraft& pod, json::Allocator& allocator);
void updateForSglang(const Component& component, Role role, PodDraft& pod, json::Allocator& allocator);
void updateForTrtllm(const Component& component, Role role, const Context& context, PodDraft& pod,
                     Errors& errors, json::Allocator& allocator);

/// Annotations of the component, then of its graph: the first that has a key decides.
using AnnotationLayers = std::initializer_list<const json::Value*>;

/// Whether vLLM in `main` works over several nodes only by flags of the operator's; Ray does without.
bool vllmNeedsFlags(const json::Value& main, const json::Value& component, AnnotationLayers layers);

/// multinode workers have no probes: the leader answers for them.
void removeProbes(json::Value& container);

}  // namespace dynamo::render
