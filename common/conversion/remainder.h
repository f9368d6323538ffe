#pragma once
// The remainder: the data that a version cannot represent, saved in an annotation as a list of fields
// (conv-Q14). A guarded field is restored only if the live object still has the value that was seen when the
// field was saved, so changes to the live object take precedence. Users can change the annotation.

#include <string>
#include <string_view>
#include <vector>

#include "common/conversion/draft.h"
#include "common/conversion/represented.h"
#include "common/json/value.h"

namespace dynamo::conversion {

/// The only list whose items are compared one by one. Other lists are compared as one value.
inline constexpr std::string_view kContainersPointer =
    "/spec/overrides/profilingJob/template/spec/containers";

/// One field to restore.
struct Field {
  std::string pointer;       ///< RFC 6901, into the object
  View value;                ///< empty: the field is absent
  bool guarded = false;      ///< restore only if the live value equals `seen`
  View seen;                 ///< empty: the live value is absent
  std::string guardPointer;  ///< pointer of `seen`; empty: the same as `pointer`
  bool inside = false;       ///< restore only if the live object has the parent
  bool skipped = false;      ///< do not restore
};

/// Appends the fields that turn member `name` ("spec" or "status") of `live` into that of `wanted`. Either
/// member may be absent. The fields have views of both objects.
void difference(View live, View wanted, std::string_view name, const RepresentedFields& represented,
                std::vector<Field>& fields);

/// Restores `fields` in `object`, an owned object. All guards are evaluated before the object is changed.
void restore(const std::vector<Field>& fields, Draft& object, json::Allocator& allocator);

/// The text of the annotation, with fields in pointer order.
std::string encode(std::vector<const Field*> fields);

/// Decodes an annotation with fields below `prefix` ("/spec" or "/status"). Ignores malformed text, other
/// format versions and fields that conversion never writes. The values live in `allocator`.
std::vector<Field> decode(std::string_view text, std::string_view prefix, json::Allocator& allocator);

}  // namespace dynamo::conversion
