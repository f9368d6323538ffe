#pragma once
// Services whose children have the same key, such as "Worker" and "worker". Admission refuses them, but it
// may have been off. Each reconcile would replace the child of one service by that of the other.

#include "common/json/value.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

/// Removes all children with a key that another child has, too, and a PodCliqueSet with two cliques of one
/// name. Adds an error for each that names the services. Decision ctl-Q69.
void withholdDuplicates(const json::Value& graph, render::Children& children);

}  // namespace dynamo::lifecycle
