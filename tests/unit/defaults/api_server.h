#pragma once
// The changes that the API server and kubectl make to an object around admission.

#include <string_view>

#include "common/json/value.h"
#include "common/schema/node.h"

namespace dynamo::test {

/// Sets the managedFields of a manager that wrote `written`. Nulls are included. An atomic list is one field.
void setManagedFields(json::Value& object, const json::Value& written, json::Allocator& allocator);

/// Writes `written` into the annotation of client-side apply.
void setLastApplied(json::Value& object, const json::Value& written, json::Allocator& allocator);

/// Server-side apply of `manifest` over `stored`. Lists with keys are merged, and nulls are kept.
json::Value serverSideApply(const json::Value& stored, const json::Value& manifest,
                            json::Allocator& allocator);

/// Client-side apply: a JSON merge patch, which replaces whole lists.
json::Value clientSideApply(const json::Value& stored, const json::Value& manifest,
                            json::Allocator& allocator);

/// Replaces `stored` by `manifest`. Nulls are removed and system metadata is kept.
json::Value replace(const json::Value& stored, const json::Value& manifest, json::Allocator& allocator);

}  // namespace dynamo::test
