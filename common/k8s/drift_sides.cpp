#include "common/k8s/drift_sides.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/json/build.h"
#include "common/k8s/managed_fields.h"

namespace dynamo::k8s {
namespace {

using json::Value;
using Index = rapidjson::SizeType;

class Reducer {
 public:
  explicit Reducer(json::Allocator& allocator) : make_(allocator) {}

  DriftSides values(const Value& applied, const Value& live, const Value* owned, FieldNames field) const {
    if (applied.IsObject() && live.IsObject()) return objects(applied, live, owned, field.name);
    if (applied.IsArray() && live.IsArray()) return lists(applied, live, owned, field);
    return {make_.value(sameValue(applied, live, field) ? applied : live), make_.value(applied)};
  }

  DriftSides objects(const Value& applied, const Value& live, const Value* owned,
                     std::string_view above) const {
    DriftSides sides{make_.object(), make_.object()};
    for (const auto& member : applied.GetObject()) {
      if (member.value.IsNull()) continue;
      const std::string_view name = json::text(member.name);
      const Value* other = json::find(live, name);
      if (other == nullptr) {
        if (!isOmitted(member.value)) make_.set(sides.applied, name, member.value);
        continue;
      }
      DriftSides below = values(member.value, *other, managed::member(owned, name), {name, above});
      make_.set(sides.live, name, std::move(below.live));
      make_.set(sides.applied, name, std::move(below.applied));
    }
    addSurplus(applied, live, owned, sides.live);
    return sides;
  }

 private:
  /// Adds the owned members of `live` that are no longer applied.
  void addSurplus(const Value& applied, const Value& live, const Value* owned, Value& to) const {
    if (owned == nullptr || !owned->IsObject()) return;
    for (const auto& each : owned->GetObject()) {
      std::string_view name = json::text(each.name);
      if (!name.starts_with(managed::kField)) continue;
      name.remove_prefix(managed::kField.size());
      const Value* value = json::find(live, name);
      if (value != nullptr && json::find(applied, name) == nullptr)
        make_.set(to, name, ownedPart(*value, each.value));
    }
  }

  /// The owned fields of a value that is not applied.
  Value ownedPart(const Value& live, const Value& owned) const {
    const bool below =
        owned.IsObject() && std::any_of(owned.MemberBegin(), owned.MemberEnd(), [](const auto& m) {
          return json::text(m.name).starts_with(managed::kField);
        });
    if (!below || !live.IsObject()) return make_.value(live);
    return objects(make_.object(), live, &owned, {}).live;
  }

  DriftSides lists(const Value& applied, const Value& live, const Value* owned, FieldNames field) const {
    switch (managed::listType(owned)) {
      case managed::ListType::Map:
        return listMaps(applied, live, managed::items(*owned), field);
      case managed::ListType::Set:
        return sets(applied, live, *owned);
      case managed::ListType::Atomic:
        break;
    }
    // Ownership is not known below the field managers' lists, and before the first apply.
    if (owned == nullptr && haveNames(applied) && haveNames(live))
      return listMaps(applied, live, byName(), field);
    DriftSides sides{make_.list(), make_.list()};
    for (Index i = 0; i < std::max(applied.Size(), live.Size()); ++i) {
      if (i >= applied.Size()) {
        make_.push(sides.live, live[i]);
      } else if (i >= live.Size()) {
        make_.push(sides.applied, applied[i]);
      } else {
        DriftSides items = values(applied[i], live[i], nullptr, field);
        make_.push(sides.live, std::move(items.live));
        make_.push(sides.applied, std::move(items.applied));
      }
    }
    return sides;
  }

  static bool haveNames(const Value& list) {
    std::set<std::string_view> names;
    return std::all_of(list.Begin(), list.End(), [&](const Value& item) {
      const std::string_view name = json::findText(&item, "name");
      return !name.empty() && names.insert(name).second;
    });
  }

  static std::vector<managed::Item> byName() {
    std::vector<managed::Item> items(1);
    items[0].keys.SetObject();
    items[0].keys.AddMember("name", "", items[0].keys.GetAllocator());
    return items;
  }

  /// `items`: the owned ones; all have the same key names.
  DriftSides listMaps(const Value& applied, const Value& live, const std::vector<managed::Item>& items,
                      FieldNames field) const {
    DriftSides sides{make_.list(), make_.list()};
    if (items.empty()) return {make_.value(live), make_.value(applied)};
    std::vector<std::optional<Value>> reduced(live.Size());
    for (const Value& item : applied.GetArray()) {
      Index at = 0;
      while (at < live.Size() && (reduced[at] || !managed::sameKeys(item, live[at], items.front().keys)))
        ++at;
      if (at == live.Size()) {
        make_.push(sides.applied, item);
        continue;
      }
      DriftSides below = values(item, live[at], fieldsOf(items, live[at]), field);
      reduced[at] = std::move(below.live);
      make_.push(sides.applied, std::move(below.applied));
    }
    for (Index i = 0; i < live.Size(); ++i) {
      if (reduced[i]) {
        make_.push(sides.live, std::move(*reduced[i]));
      } else if (fieldsOf(items, live[i]) != nullptr) {
        make_.push(sides.live, live[i]);
      }
    }
    return sides;
  }

  static const Value* fieldsOf(const std::vector<managed::Item>& items, const Value& item) {
    const auto found = std::find_if(items.begin(), items.end(), [&](const managed::Item& each) {
      return managed::hasKeys(item, each.keys);
    });
    return found == items.end() ? nullptr : found->fields;
  }

  /// The order of the items of a set does not count.
  DriftSides sets(const Value& applied, const Value& live, const Value& owned) const {
    DriftSides sides{make_.list(), make_.value(applied)};
    const auto contains = [](const Value& list, const Value& item) {
      return std::find_if(list.Begin(), list.End(),
                          [&](const Value& each) { return json::equal(each, item); }) != list.End();
    };
    for (const Value& item : applied.GetArray()) {
      if (contains(live, item)) make_.push(sides.live, item);
    }
    for (const json::Document& item : managed::values(owned)) {
      if (contains(live, item) && !contains(applied, item))
        make_.push(sides.live, static_cast<const Value&>(item));
    }
    return sides;
  }

  json::Maker make_;
};

}  // namespace

DriftSides driftSides(const Value& applied, const Value& live, const Value* owned,
                      json::Allocator& allocator) {
  DriftSides sides = Reducer{allocator}.objects(applied, live, owned, {});
  for (Value* side : {&sides.live, &sides.applied}) {
    json::remove(*side, "apiVersion");
    json::remove(*side, "kind");
    Value* metadata = json::find(*side, "metadata");
    if (metadata == nullptr) continue;
    json::remove(*metadata, "name");
    json::remove(*metadata, "namespace");
    if (metadata->ObjectEmpty()) json::remove(*side, "metadata");
  }
  return sides;
}

}  // namespace dynamo::k8s
