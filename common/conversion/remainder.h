#pragma once
// What one version cannot hold of the other travels in an annotation as a list of fields. Each says what to
// restore. Where the live object has a say, it also names the live value that must still be there: a live
// object that was changed wins. The text is sparse and deterministic, and may have been tampered with
// (conv-Q14).

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
  View value;                ///< nothing: the field was absent
  bool guarded = false;      ///< restore only while the live value is `seen`
  View seen;                 ///< nothing: absent
  std::string guardPointer;  ///< where `seen` is looked for; empty: at `pointer`
  bool inside = false;       ///< restore only while the object that lacks it is there
  bool skipped = false;      ///< not to be restored
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
