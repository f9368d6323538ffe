#pragma once
// What all children have: a head, an owner, labels.

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

/// Makes `owner` the controller of `object` (or, `controller` false, one owner of several). Without a uid,
/// which nothing offline has, the uid is all zeros.
void setOwner(json::Value& object, const json::Value& owner, json::Allocator& allocator,
              bool controller = true);

/// Whether `owner` may own children: where they will be created, it must have a uid. Otherwise an error at
/// `field`.
bool canOwn(const json::Value& owner, const Context& context, const field::Path& field, Errors& errors);
inline const field::Path kUidField{"metadata.uid"};

/// Copies the members of `from` (nullptr: none) over those of `to`.
void layOver(json::Value& to, const json::Value* from, json::Allocator& allocator);

/// Moves `value` into `allocator`, which keeps it.
const json::Value* keep(json::Value&& value, json::Allocator& allocator);

json::Value& metadata(json::Value& object, json::Allocator& allocator);
/// Sets metadata.<field> unless `map` is empty.
void setMetadata(json::Value& object, std::string_view field, json::Value&& map, json::Allocator& allocator);

std::string_view nameOf(const json::Value& object);
std::string_view namespaceOf(const json::Value& object);
const json::Value* labelsOf(const json::Value& object);

}  // namespace dynamo::render
