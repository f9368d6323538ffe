#include "common/render/object.h"

#include <new>
#include <utility>

namespace dynamo::render {

using json::Allocator;
using json::Value;

Value makeObject(std::string_view apiVersion, std::string_view kind, std::string_view name,
                 std::string_view namespaceName, Allocator& allocator) {
  const json::Maker make{allocator};
  return make.object("apiVersion", apiVersion, "kind", kind, "metadata",
                     make.object("name", name, "namespace", namespaceName));
}

void setOwner(Value& object, const Value& owner, Allocator& allocator, bool controller) {
  const json::Maker make{allocator};
  Value reference = make.object("apiVersion", json::findText(&owner, "apiVersion"), "kind",
                                json::findText(&owner, "kind"), "name", nameOf(owner), "uid", uidOf(owner));
  if (controller) {
    make.set(reference, "controller", true);
    make.set(reference, "blockOwnerDeletion", true);
  }
  make.set(metadata(object, allocator), "ownerReferences", make.list(std::move(reference)));
}

bool canOwn(const Value& owner, const Context& context, const field::Path& field, Errors& errors) {
  if (!context.online || !json::findText(json::find(owner, "metadata"), "uid").empty()) return true;
  errors.push_back({field::ErrorType::Required, field, "",
                    "the owner must have a uid, because children are created only for stored objects",
                    "render.owner-uid"});
  return false;
}

void layOver(Value& to, const Value* from, Allocator& allocator) {
  if (from == nullptr || !from->IsObject()) return;
  const bool fresh = to.ObjectEmpty();  // then names need no lookup, which is slow for thousands of labels
  for (const auto& member : from->GetObject()) {
    if (member.value.IsNull()) continue;
    Value value = json::copy(member.value, allocator);
    if (fresh) {
      to.AddMember(json::string(json::text(member.name), allocator), std::move(value), allocator);
    } else {
      json::set(to, json::text(member.name), std::move(value), allocator);
    }
  }
}

const Value* keep(Value&& value, Allocator& allocator) {
  return new (allocator.Malloc(sizeof(Value))) Value{std::move(value)};
}

Value& metadata(Value& object, Allocator& allocator) {
  return json::ensureObject(object, "metadata", allocator);
}

void setMetadata(Value& object, std::string_view field, Value&& map, Allocator& allocator) {
  if (!json::isEmpty(map)) json::set(metadata(object, allocator), field, std::move(map), allocator);
}

std::string_view nameOf(const Value& object) {
  return json::findText(json::find(object, "metadata"), "name");
}
std::string_view uidOf(const Value& object) {
  const std::string_view uid = json::findText(json::find(object, "metadata"), "uid");
  return uid.empty() ? "00000000-0000-0000-0000-000000000000" : uid;
}
std::string_view namespaceOf(const Value& object) {
  return json::findText(json::find(object, "metadata"), "namespace");
}
const Value* labelsOf(const Value& object) {
  return json::findObject(json::find(object, "metadata"), "labels");
}

}  // namespace dynamo::render
