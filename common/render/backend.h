#pragma once
// The changes of each inference engine to the pods of a component. Each engine has a file.

#include <initializer_list>

#include "common/json/value.h"
#include "common/render/component.h"
#include "common/render/context.h"

namespace dynamo::render {

/// A pod under construction. `main` is the main container until it is appended to spec.containers.
struct PodDraft {
  json::Value spec;
  json::Value main;
  json::Value volumes{rapidjson::kArrayType};  ///< appended behind the user's
  Origins* origins = nullptr;  ///< of the pod template; nullptr unless the context asks for origins
  field::Path mainAt = {};     ///< path of `main` in the template; set with `origins`

  /// Where the next of `volumes` will stand in the template.
  field::Path nextVolume() const;
  /// Where the next item of the list `name` of `main` will stand.
  field::Path nextOfMain(std::string_view name) const;

  // These set values of the operator's own. Items go to the end of their list.

  void addVolume(json::Value&& volume, json::Allocator& allocator);
  void addMount(json::Value&& mount, json::Allocator& allocator);
  /// Unless the name is there.
  void addEnv(json::Value&& variable, json::Allocator& allocator);
  /// Replaces a member of `main`.
  void setOfMain(std::string_view name, json::Value&& value, json::Allocator& allocator);
};

void updateForVllm(const Component& component, Role role, PodDraft& pod, json::Allocator& allocator);
void updateForSglang(const Component& component, Role role, PodDraft& pod, json::Allocator& allocator);
void updateForTrtllm(const Component& component, Role role, const Context& context, PodDraft& pod,
                     Errors& errors, json::Allocator& allocator);

/// Annotations of the component, then of its graph. The first layer with a key takes precedence.
using AnnotationLayers = std::initializer_list<const json::Value*>;

/// Whether multinode vLLM in `main` needs flags of the operator. With Ray it does not.
bool vllmNeedsFlags(const json::Value& main, const json::Value& component, AnnotationLayers layers);

/// Whether no number of GPUs, or 0, is known from which the flags that join the nodes of vLLM follow, and the
/// command of `main` does not join them (quirk pod-Q41).
bool vllmLacksGpus(const json::Value& main, const json::Value& component);

/// Removes all probes. Multinode workers have none, because only the leader serves requests.
void removeProbes(json::Value& container);

}  // namespace dynamo::render
