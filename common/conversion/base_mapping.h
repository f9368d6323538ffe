#pragma once
// The meaning of the fields that both versions of DynamoGraphDeploymentRequest know: the reference's mapping.
// What it loses is restored by the remainder (remainder.h).

#include <string_view>

#include "common/conversion/carried.h"
#include "common/conversion/remainder.h"
#include "common/json/value.h"

namespace dynamo::conversion {

/// Adds `spec` and `status` in v1beta1 to `target`, from the v1alpha1 object `alpha`; the schema's defaults
/// are written out, as they are in every object stored through v1beta1.
void mapToV1beta1(const json::Value& alpha, json::Value& target, json::Allocator& allocator);

/// Adds `spec` and `status` in v1alpha1 to `target`, from the v1beta1 object `beta` and what it carries.
void mapToV1alpha1(const json::Value& beta, const Carried& carried, json::Value& target,
                   json::Allocator& allocator);

/// What v1alpha1 shows of a deployment of which only the name is known.
json::Value minimalDeployment(std::string_view dgdName, json::Allocator& allocator);

/// Of a v1beta1 object whose `workload` gets fields back that v1alpha1 lacks: a workload has the schema's
/// defaults, too, even when v1alpha1 gives no token counts.
void defaultWorkload(json::Value& beta, json::Allocator& allocator);

/// Whether a saved `phase` reads as the live `state`, and a saved `state` as the live `phase`: several read
/// as one, so the mapped value alone does not tell.
bool readsAsState(std::string_view phase, std::string_view liveState);
bool readsAsPhase(std::string_view state, std::string_view livePhase);

/// Fields of v1beta1 that v1alpha1 speaks for, and the other way round.
extern const Represented kRepresentedInV1beta1;
extern const Represented kRepresentedInV1alpha1;

}  // namespace dynamo::conversion
