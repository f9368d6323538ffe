#pragma once
// Maps the fields that both versions of DynamoGraphDeploymentRequest represent, as the reference does. The
// remainder (remainder.h) restores what this mapping loses.

#include <string_view>

#include "common/conversion/carried.h"
#include "common/conversion/draft.h"

namespace dynamo::conversion {

/// Maps the v1alpha1 object `alpha` to v1beta1 `spec` and `status`. The result has the schema defaults, as
/// every object that is stored through v1beta1.
Draft mapToV1beta1(View alpha, json::Allocator& allocator);

/// Maps the v1beta1 object `beta` and the data in its annotations to v1alpha1 `spec` and `status`.
Draft mapToV1alpha1(View beta, const Carried& carried, json::Allocator& allocator);

/// The v1alpha1 status of a deployment of which only the name is known.
View minimalDeployment(std::string_view dgdName, json::Allocator& allocator);

/// Adds `workload` with the schema defaults to a v1beta1 object. Needed when fields of `workload` are
/// restored that v1alpha1 lacks.
void defaultWorkload(Draft& beta, json::Allocator& allocator);

/// Whether a saved `phase` maps to the live `state`, and a saved `state` to the live `phase`. Several values
/// map to the same one, so the saved value is more precise than the mapped one.
bool readsAsState(std::string_view phase, std::string_view liveState);
bool readsAsPhase(std::string_view state, std::string_view livePhase);

}  // namespace dynamo::conversion
