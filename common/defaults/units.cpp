#include "common/defaults/units.h"

#include "common/defaults/digest.h"

namespace dynamo::defaults {
namespace {

using json::Allocator;
using json::Value;

bool isUnit(std::string_view name) {
  return name != kKeptParent && name != kDerivedFrom;
}

/// The item of `list` (named `listName`) with that key; nullptr when there is none.
Value* findItem(Value& list, std::string_view listName, std::string_view name) {
  const std::string_view key = itemKey(listName);
  for (Value& item : list.GetArray()) {
    const Value* text = json::find(item, key);
    if (text != nullptr && text->IsString() && json::text(*text) == name) return &item;
  }
  return nullptr;
}

/// Member or item `name` of `parent`, which is the place `parentName`.
Value* childOf(Value& parent, std::string_view parentName, std::string_view name) {
  return parent.IsArray() ? findItem(parent, parentName, name) : json::find(parent, name);
}
const Value* childOf(const Value* parent, std::string_view parentName, std::string_view name) {
  return parent == nullptr ? nullptr : childOf(const_cast<Value&>(*parent), parentName, name);
}

Claim claimOf(const Claim& claim, const Value& parent, std::string_view parentName, std::string_view name) {
  return parent.IsArray() ? claim.item(itemKey(parentName), name) : claim.member(name);
}

void removeChild(Value& parent, std::string_view name, Value* child) {
  if (parent.IsArray()) {
    parent.Erase(child);
  } else {
    json::remove(parent, name);
  }
}

bool isEmptyParent(const Value& value) {
  return value.IsArray() ? value.Empty() : value.IsObject() && value.ObjectEmpty();
}

bool isOurs(std::string_view digest, const Value& value, const Claim& claim, Ours ours, const Value* other) {
  if (!matches(digest, value)) return false;
  if (ours == Ours::Differing) return other == nullptr || !json::equal(value, *other);
  if (digest.ends_with(kNamedWithNull) || !claim.named()) return true;
  return ours == Ours::UnclaimedOrMissing && other == nullptr;
}

}  // namespace

std::string_view itemKey(std::string_view list) {
  return list == "volumeMounts" ? "mountPath" : "name";
}

bool matches(std::string_view digest, const Value& value) {
  return digest.substr(0, kDigestLength) == digestOf(value);
}

bool takeUnits(Value& value, const Value& trie, const Claim& claim, Ours ours, const Value* other,
               std::string_view name) {
  if (!trie.IsObject()) return false;
  bool taken = false;
  for (const auto& entry : trie.GetObject()) {
    const std::string_view key = json::text(entry.name);
    Value* child = isUnit(key) ? childOf(value, name, key) : nullptr;
    if (child == nullptr) continue;
    const Claim below = claimOf(claim, value, name, key);
    const Value* otherChild = childOf(other, name, key);
    bool gone = false;
    if (entry.value.IsString()) {
      gone = isOurs(json::text(entry.value), *child, below, ours, otherChild);
      taken = taken || gone;
    } else if (takeUnits(*child, entry.value, below, ours, otherChild, key)) {
      taken = true;
      gone = isEmptyParent(*child) && json::find(entry.value, kKeptParent) == nullptr;
    }
    if (gone) removeChild(value, key, child);
  }
  return taken;
}

void putUnits(Value& value, const Value& trie, const Value& full, const Value* taken, Allocator& allocator,
              std::string_view name) {
  if (!trie.IsObject() || value.GetType() != full.GetType()) return;
  for (const auto& entry : trie.GetObject()) {
    const std::string_view key = json::text(entry.name);
    const Value* source = isUnit(key) ? childOf(&full, name, key) : nullptr;
    if (source == nullptr) continue;
    const Value* left = childOf(taken, name, key);
    Value* present = childOf(value, name, key);
    Value made;
    if (entry.value.IsString()) {
      if (left != nullptr || present != nullptr) continue;
      made = json::copy(*source, allocator);
    } else if (present != nullptr) {
      putUnits(*present, entry.value, *source, left, allocator, key);
      continue;
    } else {
      made = Value{source->IsArray() ? rapidjson::kArrayType : rapidjson::kObjectType};
      putUnits(made, entry.value, *source, left, allocator, key);
      if (isEmptyParent(made)) continue;
    }
    if (value.IsArray()) {
      value.PushBack(made, allocator);
    } else {
      json::set(value, key, std::move(made), allocator);
    }
  }
}

bool hasUnits(const Value& value, const Value& trie, std::string_view name) {
  if (!trie.IsObject()) return true;
  for (const auto& entry : trie.GetObject()) {
    const std::string_view key = json::text(entry.name);
    if (!isUnit(key)) continue;
    const Value* child = childOf(&value, name, key);
    if (child == nullptr) return false;
    if (entry.value.IsObject() && !hasUnits(*child, entry.value, key)) return false;
  }
  return true;
}

}  // namespace dynamo::defaults
