#pragma once
#include <string>

#include "common/render/children.h"

namespace dynamo::controller {

/// Owners and what they own, one object a line, with what a reader looks for first.
std::string toTree(const json::Value& root, const render::Children& children);

}  // namespace dynamo::controller
