#pragma once
// The annotations that the operator owns.

#include <string_view>
#include <vector>

#include "common/defaults/record.h"
#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::defaults {

/// Rule id of the warning of carryAnnotations().
inline constexpr std::string_view kOriginVersionRemoved = "origin-version-removed";

/// Restores operator-owned annotations of `old` that `object` lacks (quirk adm-Q2). `kubectl replace` drops
/// all of them, which is no mistake; a request that drops only the origin version gets a warning.
void carryAnnotations(json::Value& object, const json::Value& old, std::vector<field::Warning>& warnings,
                      json::Allocator& allocator);

/// Sets the origin version unless the annotation exists, even if it is empty. Returns the digest of the
/// value, or "" if nothing was set.
std::string stampOrigin(json::Value& object, std::string_view operatorVersion, json::Allocator& allocator);

/// Sets the annotation to `record`, or removes it if `record` is empty. The text is kept if the content is
/// equal.
void setRecord(json::Value& object, const json::Value& record, const Record& before, const Record& now,
               json::Allocator& allocator);

/// Removes an annotation. Removes the map, too, if it becomes empty.
void dropAnnotation(json::Value& object, std::string_view key);

}  // namespace dynamo::defaults
