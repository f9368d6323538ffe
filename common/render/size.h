#pragma once
// How large a graph may be: what its services share is multiplied by them.

#include "common/render/component.h"

namespace dynamo::render {

/// Errors of a graph that is not to be rendered, nor judged service by service: a manifest that fits etcd
/// could otherwise cost minutes and many GiB. Real graphs stay a hundred times below.
Errors tooLarge(const json::Value& graph);

}  // namespace dynamo::render
