#include "common/k8s/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/json/parse.h"
#include "common/k8s/managed_fields.h"
#include "common/k8s/object.h"

namespace dynamo::k8s {
namespace {

using json::Value;
using Index = rapidjson::SizeType;

std::optional<Drift> changed() {
  return Drift{DriftKind::Changed, {}};
}

std::optional<Drift> under(std::string_view name, std::optional<Drift> drift) {
  if (!drift) return drift;
  const bool follows = !drift->path.empty() && drift->path.front() != '[';
  // A name with dots is a map key, for example of a label.
  const bool key = name.find('.') != std::string_view::npos;
  drift->path = fmt::format("{}{}{}", key ? fmt::format("[{}]", name) : std::string{name}, follows ? "." : "",
                            drift->path);
  return drift;
}

std::optional<Drift> under(Index index, std::optional<Drift> drift) {
  if (!drift) return drift;
  const bool follows = !drift->path.empty() && drift->path.front() != '[';
  drift->path = fmt::format("[{}]{}{}", index, follows ? "." : "", drift->path);
  return drift;
}

/// How much of the live value the applied one describes.
enum class Extent : bool {
  Applied,  ///< the API server and other managers may add members
  Whole     ///< a part of an atomic object, which one manager sets as a whole
};

std::optional<Drift> compare(const Value& applied, const Value& live, const Value* owned, FieldNames field,
                             Extent extent = Extent::Applied);

std::optional<Drift> compareListMap(const Value& applied, const Value& live, const Value& owned,
                                    FieldNames field) {
  const std::vector<managed::Item> items = managed::items(owned);
  if (items.empty()) return changed();
  Index next = 0;  // the live list keeps the order of the applied items
  for (Index i = 0; i < applied.Size(); ++i) {
    // All items of a list have the same key names.
    while (next < live.Size() && !managed::sameKeys(applied[i], live[next], items.front().keys)) ++next;
    if (next == live.Size()) return under(i, changed());
    const auto item = std::find_if(items.begin(), items.end(), [&](const managed::Item& each) {
      return managed::hasKeys(live[next], each.keys);
    });
    const Value* fields = item == items.end() ? nullptr : item->fields;
    if (auto drift = compare(applied[i], live[next], fields, field)) return under(i, std::move(drift));
    ++next;
  }
  return std::nullopt;
}

std::optional<Drift> compareSet(const Value& applied, const Value& live) {
  for (Index i = 0; i < applied.Size(); ++i) {
    const bool found = std::any_of(live.Begin(), live.End(),
                                   [&](const Value& item) { return json::equal(item, applied[i]); });
    if (!found) return under(i, changed());
  }
  return std::nullopt;
}

std::optional<Drift> compareLists(const Value& applied, const Value& live, const Value* owned,
                                  FieldNames field, Extent extent) {
  const managed::ListType type = managed::listType(owned);
  if (type == managed::ListType::Map) return compareListMap(applied, live, *owned, field);
  if (type == managed::ListType::Set) return compareSet(applied, live);
  if (applied.Size() != live.Size()) return changed();
  for (Index i = 0; i < applied.Size(); ++i) {
    if (auto drift = compare(applied[i], live[i], nullptr, field, extent)) return under(i, std::move(drift));
  }
  return std::nullopt;
}

/// Whether managedFields name the object but none of its members.
bool isAtomic(const Value& applied, const Value* owned) {
  return owned != nullptr && owned->IsObject() && owned->ObjectEmpty() && !applied.ObjectEmpty();
}

/// Whether the API server adds the member to an atomic object that lacks it.
bool isDefaulted(std::string_view object, std::string_view member) {
  return (object == "fieldRef" && member == "apiVersion") ||
         (object == "resourceFieldRef" && member == "divisor");
}

std::optional<Drift> compareObjects(const Value& applied, const Value& live, const Value* owned,
                                    std::string_view above, Extent extent) {
  if (isAtomic(applied, owned)) extent = Extent::Whole;
  if (extent == Extent::Whole) {
    for (const auto& member : live.GetObject()) {
      const std::string_view name = json::text(member.name);
      if (json::find(applied, name) == nullptr && !isOmitted(member.value) && !isDefaulted(above, name))
        return under(name, changed());
    }
  }
  for (const auto& member : applied.GetObject()) {
    const std::string_view name = json::text(member.name);
    const Value* other = json::find(live, name);
    if (other == nullptr) {
      if (!isOmitted(member.value)) return under(name, changed());
      continue;
    }
    if (auto drift = compare(member.value, *other, managed::member(owned, name), {name, above}, extent)) {
      return under(name, std::move(drift));
    }
  }
  return std::nullopt;
}

std::optional<Drift> compare(const Value& applied, const Value& live, const Value* owned, FieldNames field,
                             Extent extent) {
  if (applied.IsNull()) return std::nullopt;
  if (applied.IsObject() && live.IsObject()) return compareObjects(applied, live, owned, field.name, extent);
  if (applied.IsArray() && live.IsArray()) return compareLists(applied, live, owned, field, extent);
  return sameValue(applied, live, field) ? std::nullopt : changed();
}

/// The first field of `owned` that `applied` lacks.
std::optional<Drift> findSurplus(const Value& owned, const Value& applied) {
  const Drift surplus{DriftKind::Surplus, {}};
  for (const auto& member : owned.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (name.starts_with(managed::kField)) {
      const std::string_view field = name.substr(managed::kField.size());
      const Value* value = json::find(applied, field);
      if (value == nullptr) return under(field, surplus);
      if (auto below = findSurplus(member.value, *value)) return under(field, std::move(below));
    } else if (name.starts_with(managed::kKeys) && applied.IsArray()) {
      json::Document keys;
      if (json::parse(name.substr(managed::kKeys.size()), keys) || !keys.IsObject()) continue;
      const auto item = std::find_if(applied.Begin(), applied.End(),
                                     [&](const Value& each) { return managed::hasKeys(each, keys); });
      if (item == applied.End())
        return Drift{DriftKind::Surplus, fmt::format("[{}]", name.substr(managed::kKeys.size()))};
      if (auto below = findSurplus(member.value, *item)) {
        return under(static_cast<Index>(item - applied.Begin()), std::move(below));
      }
    } else if (name.starts_with(managed::kItem) && applied.IsArray()) {
      json::Document value;
      if (json::parse(name.substr(managed::kItem.size()), value)) continue;
      const bool found = std::any_of(applied.Begin(), applied.End(),
                                     [&](const Value& each) { return json::equal(each, value); });
      if (!found) return Drift{DriftKind::Surplus, fmt::format("[{}]", name.substr(managed::kItem.size()))};
    }
  }
  return std::nullopt;
}

/// The entries of metadata.managedFields.
const Value* managedFields(const Value& object) {
  const Value* entries = json::find(json::find(object, "metadata"), "managedFields");
  return entries != nullptr && entries->IsArray() ? entries : nullptr;
}

bool isApplyOf(const Value& entry, std::string_view manager) {
  return json::findText(&entry, "manager") == manager && json::findText(&entry, "operation") == "Apply" &&
         json::findText(&entry, "subresource").empty();
}

/// Compares all fields but those that identify the object.
std::optional<Drift> compareTop(const Value& applied, const Value& live, const Value& owned) {
  for (const auto& member : applied.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (name == "apiVersion" || name == "kind") continue;
    const Value* other = json::find(live, name);
    const Value* ownedHere = managed::member(&owned, name);
    std::optional<Drift> drift;
    if (name == "metadata") {
      for (const auto& each : member.value.GetObject()) {
        const std::string_view field = json::text(each.name);
        if (field == "name" || field == "namespace") continue;
        const Value* value = json::find(other, field);
        if (value == nullptr) {
          drift = isOmitted(each.value) ? std::nullopt : changed();
        } else {
          drift = compare(each.value, *value, managed::member(ownedHere, field), {field, name});
        }
        if (drift) return under(name, under(field, std::move(drift)));
      }
      continue;
    }
    if (other == nullptr) {
      drift = isOmitted(member.value) ? std::nullopt : changed();
    } else {
      drift = compare(member.value, *other, ownedHere, {name, {}});
    }
    if (drift) return under(name, std::move(drift));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Drift> findDrift(const Value& applied, const Value& live, const Value* owned) {
  if (owned == nullptr || !owned->IsObject()) return changed();
  if (auto drift = compareTop(applied, live, *owned)) return drift;
  return findSurplus(*owned, applied);
}

const Value* ownedFields(const Value& object, std::string_view manager) {
  const Value* entries = managedFields(object);
  if (entries == nullptr) return nullptr;
  for (const Value& entry : entries->GetArray()) {
    if (isApplyOf(entry, manager)) return json::findObject(&entry, "fieldsV1");
  }
  return nullptr;
}

std::string_view replicasOwner(const Value& object, std::string_view manager) {
  const Value* entries = managedFields(object);
  if (entries == nullptr) return {};
  std::string_view owner;
  bool owned = false;
  for (const Value& entry : entries->GetArray()) {
    const Value* spec = managed::member(json::findObject(&entry, "fieldsV1"), "spec");
    if (managed::member(spec, "replicas") == nullptr) continue;
    owned = true;
    if (isApplyOf(entry, manager)) return {};
    const std::string_view other = json::findText(&entry, "manager");
    if (json::findText(&entry, "subresource") == "scale" && other != manager) owner = other;
  }
  // The API server records no owner of a 0 that was set through the scale subresource: a Scale of 0 replicas
  // has no field. Whoever else writes a 0 owns it.
  if (!owned && replicasOf(object) == 0 && !entries->Empty()) return kUnknownManager;
  return owner;
}

}  // namespace dynamo::k8s
