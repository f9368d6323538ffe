#pragma once
// The origins of the fields of a component (common/model/origin.h). The origins of a pod are paths in the
// component. These origins map them to paths in the user's object.

#include <vector>

#include "common/render/component.h"

namespace dynamo::render {

/// The origins of `component`, which is a part of `object`. Values that the webhook wrote and recorded have
/// the source Default.
Origins componentOrigins(const model::Component& component, const json::Value& object);

/// The origin of `field`, a field of a component of `object`: User, or Default if the webhook wrote it.
Origin originOf(const json::Value& object, field::PathView field);

/// The pod templates of a child, in the order of Child::origins. A PodCliqueSet has no pod templates: the
/// metadata and pod spec of each clique are moved into a template in `made`.
std::vector<const json::Value*> podTemplates(json::Value& child, json::Value& made,
                                             json::Allocator& allocator);

}  // namespace dynamo::render
