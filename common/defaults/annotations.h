#pragma once
// Annotations that belong to the operator: kept from request to request, stamped, recorded.

#include <string_view>
#include <vector>

#include "common/defaults/record.h"
#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::defaults {

/// The rule of the warning of carryAnnotations().
inline constexpr std::string_view kOriginVersionRemoved = "origin-version-removed";

/// Puts back what `object` dropped of operator-owned annotations that `old` has (`kubectl replace` drops all
/// of them; quirk adm-Q2). Dropping the origin version alone is worth a warning.
void carryAnnotations(json::Value& object, const json::Value& old, std::vector<field::Warning>& warnings,
                      json::Allocator& allocator);

/// Sets the origin version where there is none, not even an empty one; its digest, or empty when it stayed.
std::string stampOrigin(json::Value& object, std::string_view operatorVersion, json::Allocator& allocator);

/// Sets the record, or takes it away when `record` is empty. A record that says the same keeps its text.
void setRecord(json::Value& object, const json::Value& record, const Record& before, const Record& now,
               json::Allocator& allocator);

/// Takes an annotation away, and the map when that was the last one.
void dropAnnotation(json::Value& object, std::string_view key);

}  // namespace dynamo::defaults
