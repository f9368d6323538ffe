#pragma once
// What one version cannot hold of the other is saved in an annotation as a list of fields (conv-Q14). Each
// field says what to restore. A guarded field also says which live value must still be there: when the live
// object was changed, it wins. Anyone may change the annotation.

#include <string>
#include <string_view>
#include <vector>

#include "common/conversion/draft.h"
#include "common/conversion/represented.h"
#include "common/json/value.h"

namespace dynamo::conversion {

/// The list whose items are compared one by one; every other list is one value.
inline constexpr std::string_view kContainersPointer =
    "/spec/overrides/profilingJob/template/spec/containers";

/// One field to restore.
struct Field {
  std::string pointer;       ///< RFC 6901, into the object
  View value;                ///< empty: the field was absent
  bool guarded = false;      ///< restore only while the live value is `seen`
  View seen;                 ///< empty: it was absent
  std::string guardPointer;  ///< where `seen` must be; empty: at `pointer`
  bool inside = false;       ///< restore only while the object around it is there
  bool skipped = false;      ///< do not restore
};

/// Appends the fields that turn the member `name` ("spec" or "status") of `live` into that of `wanted`; both
/// may be absent. The fields hold views of both.
void difference(View live, View wanted, std::string_view name, const Represented& represented,
                std::vector<Field>& fields);

/// Restores `fields` in `object`, an object of its own. All guards are read before anything is changed.
void restore(const std::vector<Field>& fields, Draft& object, json::Allocator& allocator);

/// The annotation's text; fields in pointer order.
std::string encode(std::vector<const Field*> fields);

/// Reads an annotation about `prefix` ("/spec" or "/status"). What is malformed, of another format version or
/// nothing that conversion writes is left out. The values live in `allocator`.
std::vector<Field> decode(std::string_view text, std::string_view prefix, json::Allocator& allocator);

}  // namespace dynamo::conversion
