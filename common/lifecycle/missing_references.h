#pragma once
// Objects that a graph refers to and that the cluster does not have (quirks child-Q25, dec-1, dec-7).

#include <span>
#include <string_view>
#include <vector>

#include "common/lifecycle/outcome.h"
#include "common/render/context.h"

namespace dynamo::lifecycle {

/// The names of the claims of a DynamoGraphDeployment, each once: those of spec.pvcs, then others that its
/// services mount.
std::vector<std::string_view> claimsOf(const json::Value& graph);

/// `claims`: the PersistentVolumeClaims of the namespace, or those that claimsOf names.
std::vector<Ending> missingReferences(const json::Value& graph, std::span<const json::Value* const> claims,
                                      const render::FactsView& facts);

}  // namespace dynamo::lifecycle
