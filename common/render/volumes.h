#pragma once
// Volumes and mounts that a component's own fields ask for (quirk pod-Q11a).

#include "common/json/value.h"
#include "common/model/completion.h"
#include "common/render/backend.h"
#include "common/render/component.h"

namespace dynamo::render {

/// `volumeMounts` and `sharedMemory` of the component: volumes into pod.volumes, mounts onto pod.main.
void addVolumes(const Component& component, const model::Completion& completion, PodDraft& pod,
                Errors& errors, json::Allocator& allocator);

}  // namespace dynamo::render
