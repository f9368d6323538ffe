#include "common/render/takeover.h"

#include <algorithm>
#include <array>

#include "common/json/build.h"
#include "common/k8s/managed_fields.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kHash = "nvidia.com/last-applied-hash";
constexpr std::string_view kReferenceManager = "manager";
constexpr std::array kMarks = {kHash, std::string_view{"nvidia.com/last-applied-generation"}};

bool hasSpec(const Value& object) {
  return json::find(object, "spec") != nullptr;
}

bool isMarked(const Value& object) {
  const Value* annotations = json::find(json::find(object, "metadata"), "annotations");
  return json::find(annotations, kHash) != nullptr;
}

bool isMain(const Value& entry, std::string_view operation) {
  return json::findText(&entry, "operation") == operation && json::findText(&entry, "subresource").empty();
}

bool ownsMark(const Value& entry, std::string_view mark) {
  using k8s::managed::member;
  const Value* metadata = member(json::findObject(&entry, "fieldsV1"), "metadata");
  return member(member(metadata, "annotations"), mark) != nullptr;
}

/// Whether the entry of managedFields belongs to the manager that wrote the annotation.
bool isOfReference(const Value& entry) {
  return isMain(entry, "Update") && ownsMark(entry, kHash);
}

std::string field(std::string_view name) {
  return std::string{k8s::managed::kField}.append(name);
}

void removeAt(Value& fields, std::initializer_list<std::string_view> parents, std::string_view name) {
  Value* parent = &fields;
  for (const std::string_view each : parents) {
    parent = json::find(*parent, field(each));
    if (parent == nullptr) return;
  }
  json::remove(*parent, field(name));
}

/// An entry that owns only the marks. Without an owner they would go with the annotations that an apply
/// request removes.
Value withMarksOnly(const Value& entry, const json::Maker& make) {
  Value annotations = make.object();
  for (const std::string_view mark : kMarks) make.set(annotations, field(mark), make.object());
  Value left = make.value(entry);
  make.set(left, "fieldsV1", make.object("f:metadata", make.object("f:annotations", std::move(annotations))));
  return left;
}

/// The marks that do not go with the next apply, because `mine` does not own them, or somebody else does,
/// too: each with null, as a merge patch removes it.
Value foreignMarks(const Value& others, const Value& mine, const json::Maker& make) {
  Value found = make.object();
  for (const std::string_view mark : kMarks) {
    const bool shared =
        std::any_of(others.Begin(), others.End(), [&](const Value& entry) { return ownsMark(entry, mark); });
    if (shared || !ownsMark(mine, mark)) make.set(found, mark, Value{});
  }
  return found;
}

/// Adds the fields of `more` to `fields`.
void unite(Value& fields, const Value& more, Allocator& allocator) {
  for (const auto& member : more.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (Value* present = json::find(fields, name)) {
      if (present->IsObject() && member.value.IsObject()) unite(*present, member.value, allocator);
    } else {
      json::set(fields, name, json::copy(member.value, allocator), allocator);
    }
  }
}

}  // namespace

bool isReferenceMark(std::string_view annotation) {
  return std::find(kMarks.begin(), kMarks.end(), annotation) != kMarks.end();
}

bool isReferenceManager(std::string_view manager) {
  return manager == kReferenceManager;
}

bool isReferenceObject(const Value& live) {
  const Value* entries = json::find(json::find(live, "metadata"), "managedFields");
  return entries != nullptr && entries->IsArray() &&
         std::any_of(entries->Begin(), entries->End(), [](const Value& entry) {
           return isMain(entry, "Update") && json::findText(&entry, "manager") == kReferenceManager;
         });
}

bool needsTakeover(const Value& live, bool applied) {
  return isMarked(live) && (hasSpec(live) || !applied);
}

Value takeoverPatch(const Value& live, const Value& wanted, std::string_view manager, Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* metadata = json::find(live, "metadata");
  const Value* entries = json::find(metadata, "managedFields");
  const bool removesMarks = hasSpec(live);
  Value others = make.list();
  Value mine = make.object();
  if (entries != nullptr && entries->IsArray()) {
    for (const Value& entry : entries->GetArray()) {
      const bool own = json::findText(&entry, "manager") == manager;
      const bool applied = own && isMain(entry, "Apply");
      const bool reference = isOfReference(entry);
      const Value* written = json::findObject(&entry, "fieldsV1");
      if (written == nullptr || !(applied || reference || (own && isMain(entry, "Update")))) {
        make.push(others, entry);
        continue;
      }
      Value fields = make.value(*written);
      if (!applied) {
        if (!removesMarks) {
          if (reference) make.push(others, withMarksOnly(entry, make));
          for (const std::string_view mark : kMarks) removeAt(fields, {"metadata", "annotations"}, mark);
        }
        if (json::find(json::find(wanted, "spec"), "replicas") == nullptr)
          removeAt(fields, {"spec"}, "replicas");
      }
      if (mine.ObjectEmpty()) {
        mine = make.value(entry);
        make.set(mine, "manager", manager);
        make.set(mine, "operation", "Apply");
        make.set(mine, "fieldsV1", std::move(fields));
      } else {
        unite(*json::find(mine, "fieldsV1"), fields, allocator);
      }
    }
  }
  const Value annotations = removesMarks ? foreignMarks(others, mine, make) : make.object();
  if (!mine.ObjectEmpty()) make.push(others, std::move(mine));
  Value changes = make.object("resourceVersion", json::findText(metadata, "resourceVersion"));
  if (!others.Empty()) make.set(changes, "managedFields", std::move(others));
  if (!annotations.ObjectEmpty()) make.set(changes, "annotations", annotations);
  return make.object("metadata", std::move(changes));
}

}  // namespace dynamo::render
