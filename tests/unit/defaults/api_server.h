#pragma once
// What the API server and kubectl do to an object around admission.

#include <string_view>

#include "common/json/value.h"
#include "common/schema/node.h"

namespace dynamo::test {

/// Gives `object` the managedFields of a manager who wrote `written`: nulls are named too, atomic lists
/// whole.
void setManagedFields(json::Value& object, const json::Value& written, json::Allocator& allocator);

/// Writes `written` into the annotation of client-side apply.
void setLastApplied(json::Value& object, const json::Value& written, json::Allocator& allocator);

/// Server-side apply of `manifest` over `stored`: lists with keys are merged, nulls arrive as such.
json::Value serverSideApply(const json::Value& stored, const json::Value& manifest,
                            json::Allocator& allocator);

/// Client-side apply: a JSON merge patch, which replaces lists whole.
json::Value clientSideApply(const json::Value& stored, const json::Value& manifest,
                            json::Allocator& allocator);

/// `manifest` as it is put in place of `stored`, with nulls removed and the system's metadata kept.
json::Value replace(const json::Value& stored, const json::Value& manifest, json::Allocator& allocator);

}  // namespace dynamo::test
