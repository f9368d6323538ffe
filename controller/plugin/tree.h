#pragma once
#include <string>

#include "common/render/children.h"

namespace dynamo::plugin {

/// Returns the tree of owners and their children, one object per line, with the replicas if set.
std::string toTree(const json::Value& root, const render::Children& children);

}  // namespace dynamo::plugin
