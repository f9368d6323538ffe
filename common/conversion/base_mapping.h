#pragma once
// The meaning of the fields that both versions of DynamoGraphDeploymentRequest know: the reference's mapping
// (spec/dgdr-conversion.md sections 6-8). What it loses is restored by the remainder (remainder.h).

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

/// Fields of v1beta1 that v1alpha1 speaks for, and the other way round.
extern const Represented kRepresentedInV1beta1;
extern const Represented kRepresentedInV1alpha1;

}  // namespace dynamo::conversion
