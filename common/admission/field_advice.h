#pragma once
// What is probably meant by a field that the schema does not know: a field of pods or containers at a
// service, a field of another release, or another word for a field of today.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/field/path.h"
#include "common/json/value.h"

namespace dynamo::admission {

struct Advice {
  std::string text;  ///< the detail of the error
  /// The field that takes the value as it is; empty if there is none.
  field::Path place;
};

/// `kind`, `version`: of the schema, for example DynamoGraphDeployment and "v1alpha1". `unknown`: the path of
/// a field of `object` that this schema does not know. nullopt if nothing is known beyond a similar name.
std::optional<Advice> adviceFor(std::string_view kind, std::string_view version, const json::Value& object,
                                field::PathView unknown);

/// Adds advice to the errors about unknown fields.
void explainUnknownFields(std::string_view kind, std::string_view version, const json::Value& object,
                          std::vector<field::FieldError>& errors);

/// The unknown fields of a graph, component deployment or scaling adapter of v1beta1, each told once with its
/// place in v1alpha1.
std::vector<field::FieldError> laterFields(std::string_view kind, const json::Value& object);

/// Adds to the error about the type of spec.services what was probably meant.
void explainServices(std::vector<field::FieldError>& errors);

}  // namespace dynamo::admission
