#pragma once
// Checkpoint and restore of pods.

#include <string>

#include "common/json/value.h"
#include "common/render/backend.h"
#include "common/render/component.h"

namespace dynamo::render {

/// Resolves the field `checkpoint` of a component with the spec `spec`. A checkpoint that does not exist is
/// not ready.
CheckpointUse resolveCheckpoint(const json::Value& spec, std::string_view namespaceName,
                                const FactsView& facts);

/// Changes the pod so that it can be checkpointed or, if the checkpoint is ready, waits to be restored.
/// Missing storage configuration is an error.
void injectCheckpoint(const Component& component, const Context& context, PodDraft& pod, Errors& errors,
                      json::Allocator& allocator);

/// The downward API volume with the metadata of the pod, and its mount.
json::Value podInfoVolume(json::Allocator& allocator);
json::Value podInfoMount(json::Allocator& allocator);

/// Adds `mount` unless one of that name is there. False: it is.
bool mountOnce(json::Value& container, json::Value&& mount, json::Allocator& allocator);

/// "<basePath>/<hash>", "<uri>/<hash>.tar" or "<uri>:<hash>".
std::string checkpointLocation(const config::CheckpointConfig& storage, std::string_view hash);

/// The annotations that the podinfo volume reads (quirk pod-Q24), from the environment of `main`.
/// `mainAt`: where `main` stands in the pod template.
void addPodInfoAnnotations(const json::Value& main, const field::Path& mainAt, json::Value& annotations,
                           Origins* origins, json::Allocator& allocator);

void setSeccompProfile(json::Value& podSpec, json::Allocator& allocator);
/// Where it stands in a pod template.
inline const field::Path kSeccompField{"spec.securityContext.seccompProfile"};

}  // namespace dynamo::render
