#pragma once
// Objects that a graph refers to and that the cluster does not have (quirks child-Q25, dec-7).

#include <span>
#include <vector>

#include "common/lifecycle/outcome.h"
#include "common/render/context.h"

namespace dynamo::lifecycle {

/// `claims`: the PersistentVolumeClaims of the namespace, or those that spec.pvcs names.
std::vector<Failure> missingReferences(const json::Value& graph, std::span<const json::Value* const> claims,
                                       const render::FactsView& facts);

}  // namespace dynamo::lifecycle
