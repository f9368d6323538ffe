#pragma once
// How large a graph may be: what its services share is multiplied by them.

#include "common/render/component.h"

namespace dynamo::render {

/// Errors of a graph that is not to be rendered: a manifest that fits etcd could otherwise cost minutes and
/// many GiB. Real graphs stay a hundred times below.
Errors tooLarge(const json::Value& graph);

/// Whether what one of these errors at `field` is about has grown since `old`.
bool grown(const field::Path& field, const json::Value& graph, const json::Value& old);

/// Whether a graph may be judged service by service though it is too large to be rendered. Real graphs
/// may, by far.
bool judgeable(const json::Value& graph);

}  // namespace dynamo::render
