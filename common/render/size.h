#pragma once
// Limits of the size of a graph. Fields that all services share count once per service.

#include "common/render/component.h"

namespace dynamo::render {

/// The errors of a graph that is too large to be rendered. Without limits, a manifest that etcd accepts could
/// take minutes and many GiB. Real graphs are a hundred times smaller.
Errors tooLarge(const json::Value& graph);

/// Whether the size that an error of tooLarge() at `field` reports has grown since `old`.
bool grown(const field::Path& field, const json::Value& graph, const json::Value& old);

/// Whether a graph is small enough to validate each service, even if it is too large to be rendered.
bool judgeable(const json::Value& graph);

}  // namespace dynamo::render
