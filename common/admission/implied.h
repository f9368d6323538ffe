#pragma once
// Finds errors of rendering that repeat an error of a rule about the object, with another message or at
// another field, and errors that only follow from others.

#include <span>
#include <string_view>

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// An error of `rule` implies an error of `rendered`, which is a rule of rendering or of pods. Admission then
/// omits the error of `rendered`. `where` limits the fields at which it does so.
struct Implication {
  enum class Where {
    Object,     ///< anywhere in the object
    Component,  ///< in the same component
    Resources,  ///< in `resources` or `extraPodSpec.mainContainer.resources` of the same component
    SameValue,  ///< in the same component and with the same bad value
    Operator,   ///< at a value that the user did not write
  };
  std::string_view rule;
  std::string_view rendered;
  Where where;
};
std::span<const Implication> implications();

/// Whether `rendered`, an error of rendering `object`, is at the field of `known`, or `known` implies it.
bool isImplied(const field::FieldError& rendered, const field::FieldError& known, const json::Value& object);

/// Removes what only follows from another error: errors about missing values, and warnings, where the value
/// or an object around it has a wrong type, and errors about missing values in an object that is missing
/// itself.
void dropFollowing(field::Findings& findings);

}  // namespace dynamo::admission
