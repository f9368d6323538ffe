#pragma once
// Converts between the v1alpha1 profiler configuration (`spec.profilingConfig.config`, free JSON) and the
// typed v1beta1 fields for sla, workload, model cache and planner (quirks conv-Q8, conv-Q12, conv-Q16).

#include "common/conversion/draft.h"
#include "common/json/value.h"

namespace dynamo::conversion {

/// Sets sla, workload, modelCache and features.planner of a v1beta1 `spec` from `config` (an object).
void profilerConfigToSpec(View config, Draft& spec, json::Allocator& allocator);

/// Whether v1beta1 can represent the number of tokens, which is an int32 there. Other numbers, such as 3000.7
/// or 3e10, stay in the configuration (conv-Q16).
bool isTokenCount(const json::Value& value);

/// The v1alpha1 configuration: `saved` (the last known configuration, may be empty), with the fields that
/// v1beta1 represents replaced by those of `spec`. Empty if there is no configuration.
View profilerConfigFromSpec(View spec, View saved, json::Allocator& allocator);

}  // namespace dynamo::conversion
