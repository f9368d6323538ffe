#pragma once
// What a graph takes for granted and the cluster does not have (quirks child-Q25, dec-7).

#include <span>
#include <vector>

#include "common/lifecycle/outcome.h"
#include "common/render/context.h"

namespace dynamo::lifecycle {

/// `claims`: PersistentVolumeClaims of the namespace, or those with the names of spec.pvcs.
std::vector<Failure> missingReferences(const json::Value& graph, std::span<const json::Value* const> claims,
                                       const render::FactsView& facts);

}  // namespace dynamo::lifecycle
