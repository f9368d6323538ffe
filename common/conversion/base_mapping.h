#pragma once
// Maps the fields that both versions of DynamoGraphDeploymentRequest know, as the reference does. What this
// mapping loses is restored by the remainder (remainder.h).

#include <string_view>

#include "common/conversion/carried.h"
#include "common/conversion/draft.h"

namespace dynamo::conversion {

/// `spec` and `status` in v1beta1 of the v1alpha1 object `alpha`. The schema's defaults are written out, as
/// they are in every object stored through v1beta1.
Draft mapToV1beta1(View alpha, json::Allocator& allocator);

/// `spec` and `status` in v1alpha1 of the v1beta1 object `beta` and what it carries.
Draft mapToV1alpha1(View beta, const Carried& carried, json::Allocator& allocator);

/// What v1alpha1 shows of a deployment of which only the name is known.
View minimalDeployment(std::string_view dgdName, json::Allocator& allocator);

/// For a v1beta1 object whose `workload` gets fields back that v1alpha1 lacks: a workload has the schema's
/// defaults even when v1alpha1 gives no token counts.
void defaultWorkload(Draft& beta, json::Allocator& allocator);

/// Whether a saved `phase` reads as the live `state`, and a saved `state` as the live `phase`. Several read
/// as one, so the mapped value alone does not tell.
bool readsAsState(std::string_view phase, std::string_view liveState);
bool readsAsPhase(std::string_view state, std::string_view livePhase);

}  // namespace dynamo::conversion
