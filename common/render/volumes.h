#pragma once
// Adds the volumes and mounts of the fields of a component (quirk pod-Q11a).

#include "common/json/value.h"
#include "common/model/completion.h"
#include "common/render/backend.h"
#include "common/render/component.h"

namespace dynamo::render {

/// Adds the volumes of `volumeMounts` and `sharedMemory` to pod.volumes and their mounts to pod.main.
void addVolumes(const Component& component, const model::Completion& completion, PodDraft& pod,
                Errors& errors, json::Allocator& allocator);

}  // namespace dynamo::render
