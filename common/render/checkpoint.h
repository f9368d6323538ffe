#pragma once
// Checkpoint and restore.

#include <string>

#include "common/json/value.h"
#include "common/render/backend.h"
#include "common/render/component.h"

namespace dynamo::render {

/// What is known of the checkpoint that `spec`, of a component, names in `checkpoint`. A reference to none
/// that exists is not ready.
CheckpointUse resolveCheckpoint(const json::Value& spec, std::string_view namespaceName,
                                const FactsView& facts);

/// Makes of the pod one that can be checkpointed, or that waits to be restored when the checkpoint is ready.
/// Errors: storage that is not configured.
void injectCheckpoint(const Component& component, const Context& context, PodDraft& pod, Errors& errors,
                      json::Allocator& allocator);

/// The volume that tells a pod about itself, and its mount.
json::Value podInfoVolume(json::Allocator& allocator);
json::Value podInfoMount(json::Allocator& allocator);

/// Adds `mount` unless one of that name is there.
void mountOnce(json::Value& container, json::Value&& mount, json::Allocator& allocator);

/// "<basePath>/<hash>", "<uri>/<hash>.tar" or "<uri>:<hash>".
std::string checkpointLocation(const config::CheckpointConfig& storage, std::string_view hash);

/// The annotations that the podinfo volume reads (quirk pod-Q24), from the environment of `main`.
void addPodInfoAnnotations(const json::Value& main, json::Value& annotations, json::Allocator& allocator);

void setSeccompProfile(json::Value& podSpec, json::Allocator& allocator);

}  // namespace dynamo::render
