#pragma once
// Helpers for all children: apiVersion, kind, metadata and owner references.

#include <string>
#include <string_view>

#include "common/json/build.h"
#include "common/json/value.h"
#include "common/k8s/object.h"
#include "common/render/component.h"

namespace dynamo::render {

using k8s::annotationsOf;
using k8s::specOf;

/// {"apiVersion", "kind", "metadata": {"name", "namespace"}}
json::Value makeObject(std::string_view apiVersion, std::string_view kind, std::string_view name,
                       std::string_view namespaceName, json::Allocator& allocator);

/// Sets the owner reference of `object` to `owner`, as controller unless `controller` is false. An owner
/// without a uid (offline) gets a uid of zeros.
void setOwner(json::Value& object, const json::Value& owner, json::Allocator& allocator,
              bool controller = true);

/// Whether `owner` can own children. If the children will be created, an owner without a uid is an error at
/// `field`.
bool canOwn(const json::Value& owner, const Context& context, const field::Path& field, Errors& errors);
inline const field::Path kUidField{"metadata.uid"};

/// Copies the members of `from` to `to`. `from` may be nullptr.
void layOver(json::Value& to, const json::Value* from, json::Allocator& allocator);

/// Moves `value` into `allocator`. The result lives as long as the allocator.
const json::Value* keep(json::Value&& value, json::Allocator& allocator);

json::Value& metadata(json::Value& object, json::Allocator& allocator);
/// Sets metadata.<field> unless `map` is empty.
void setMetadata(json::Value& object, std::string_view field, json::Value&& map, json::Allocator& allocator);

std::string_view nameOf(const json::Value& object);
/// All zeros without one, which nothing offline has.
std::string_view uidOf(const json::Value& object);
std::string_view namespaceOf(const json::Value& object);
const json::Value* labelsOf(const json::Value& object);

}  // namespace dynamo::render
