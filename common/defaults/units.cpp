#include "common/defaults/units.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/api/contains.h"
#include "common/defaults/digest.h"

namespace dynamo::defaults {
namespace {

using api::contains;
using json::Allocator;
using json::Value;

bool isUnit(std::string_view name) {
  return name != kKeptParent && name != kDerivedFrom;
}

/// The item of `list` with the key `name`; nullptr if absent. `listName` is the member name of the list.
const Value* findItem(const Value& list, std::string_view listName, std::string_view name) {
  const std::string_view key = itemKey(listName);
  for (const Value& item : list.GetArray()) {
    const Value* text = json::find(item, key);
    if (text != nullptr && text->IsString() && json::text(*text) == name) return &item;
  }
  return nullptr;
}
Value* findItem(Value& list, std::string_view listName, std::string_view name) {
  return const_cast<Value*>(findItem(std::as_const(list), listName, name));
}

/// Member or item `name` of `parent`. `parentName` is the member name of the parent.
Value* childOf(Value& parent, std::string_view parentName, std::string_view name) {
  return parent.IsArray() ? findItem(parent, parentName, name) : json::find(parent, name);
}
const Value* childOf(const Value* parent, std::string_view parentName, std::string_view name) {
  if (parent == nullptr) return nullptr;
  return parent->IsArray() ? findItem(*parent, parentName, name) : json::find(*parent, name);
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

bool isWebhookUnit(std::string_view digest, const Value& value, const Claim& claim, OwnedUnits owned,
                   const Value* other) {
  if (!matches(digest, value)) return false;
  if (owned == OwnedUnits::Differing) return other == nullptr || !json::equal(value, *other);
  if (digest.ends_with(kNamedWithNull) || !claim.named()) return true;
  return owned == OwnedUnits::UnclaimedOrMissing && other == nullptr;
}

constexpr std::array<std::string_view, 3> kProbes = {"livenessProbe", "readinessProbe", "startupProbe"};
/// Members in which a value of the user may conflict with a unit of the webhook.
constexpr std::array<std::string_view, 7> kMayConflict = {
    "env", "livenessProbe", "ports", "preStop", "readinessProbe", "startupProbe", "volumes"};
constexpr std::array<std::string_view, 4> kPreStopHandlers = {"exec", "httpGet", "sleep", "tcpSocket"};
constexpr std::array<std::string_view, 4> kHandlers = {"exec", "grpc", "httpGet", "tcpSocket"};

bool mayConflict(const Value::Member& entry, std::string_view place) {
  return isUnit(json::text(entry.name)) && (!entry.value.IsString() || contains(kMayConflict, place));
}

/// Whether `member` is one of several alternatives of which `place` may have only one. The place of an item
/// is the name of its list.
bool isExclusiveMember(std::string_view place, std::string_view member) {
  if (place == "env") return member == "value" || member == "valueFrom";
  if (place == "volumes") return member != "name";
  if (place == "preStop") return contains(kPreStopHandlers, member);
  return place == "valueFrom" || (contains(kProbes, place) && contains(kHandlers, member));
}

/// If `value` has more than one alternative, removes those that are unchanged since `before` and not claimed.
void dropReplacedAlternative(Value& value, const Value& before, const Claim& claim, std::string_view place) {
  if (!value.IsObject() || !before.IsObject()) return;
  const auto alternatives =
      std::count_if(value.MemberBegin(), value.MemberEnd(), [&](const Value::Member& member) {
        return !member.value.IsNull() && isExclusiveMember(place, json::text(member.name));
      });
  for (const auto& member : before.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (alternatives < 2 || !isExclusiveMember(place, name) || claim.member(name).named()) continue;
    if (json::equal(json::find(&value, name), &member.value)) json::remove(value, name);
  }
  Value* source = place == "env" ? json::find(value, "valueFrom") : nullptr;
  const Value* sourceBefore = json::find(before, "valueFrom");
  if (source == nullptr || sourceBefore == nullptr) return;
  dropReplacedAlternative(*source, *sourceBefore, claim.member("valueFrom"), "valueFrom");
}

/// If several ports have the same name, removes those that are unchanged since `before` and not claimed.
/// Field managers identify ports by number, so a request may add a port with the name of a default port.
void dropReplacedPorts(Value& ports, const Value& before, const Claim& claim) {
  for (const Value& port : before.GetArray()) {
    const std::string_view name = json::findText(&port, "name");
    const auto hasName = [&](const Value& other) { return json::findText(&other, "name") == name; };
    if (name.empty() || std::count_if(ports.Begin(), ports.End(), hasName) < 2 || claim.port(port).named()) {
      continue;
    }
    Value* same =
        std::find_if(ports.Begin(), ports.End(), [&](Value& item) { return json::equal(item, port); });
    if (same != ports.End()) ports.Erase(same);
  }
}

/// Maximum length of a list of defaults. A longer list is not of the webhook, even if a record has it.
constexpr rapidjson::SizeType kMaxItems = 64;

/// Removes the parts of a unit of the webhook that conflict with the request.
void dropReplacedParts(Value& value, const Value& before, const Claim& claim, std::string_view place) {
  if (before.IsArray() && before.Size() > kMaxItems) return;
  if (!value.IsArray() || !before.IsArray()) {
    dropReplacedAlternative(value, before, claim, place);
  } else if (place == "ports") {
    dropReplacedPorts(value, before, claim);
  } else if (place == "volumes") {
    for (const Value& item : before.GetArray()) {
      const std::string_view name = json::findText(&item, itemKey(place));
      Value* now = findItem(value, place, name);
      if (now != nullptr) dropReplacedAlternative(*now, item, claim.item(itemKey(place), name), place);
    }
  }
}

}  // namespace

std::string_view itemKey(std::string_view list) {
  return list == "volumeMounts" ? "mountPath" : "name";
}

bool matches(std::string_view digest, const Value& value) {
  return digest.substr(0, kDigestLength) == digestOf(value);
}

bool takeUnits(Value& value, const Value& trie, const Claim& claim, OwnedUnits owned, const Value* other,
               std::string_view name) {
  if (!trie.IsObject()) return false;
  bool taken = false;
  for (const auto& entry : trie.GetObject()) {
    const std::string_view key = json::text(entry.name);
    Value* child = isUnit(key) ? childOf(value, name, key) : nullptr;
    if (child == nullptr) continue;
    const Claim below = claimOf(claim, value, name, key);
    const Value* otherChild = childOf(other, name, key);
    bool remove = false;
    if (entry.value.IsString()) {
      remove = isWebhookUnit(json::text(entry.value), *child, below, owned, otherChild);
      taken = taken || remove;
    } else if (takeUnits(*child, entry.value, below, owned, otherChild, key)) {
      taken = true;
      remove = isEmptyParent(*child) && json::find(entry.value, kKeptParent) == nullptr;
    }
    if (remove) removeChild(value, key, child);
  }
  return taken;
}

void dropConflictingUnits(Value& value, const Value& trie, const Value& before, const Claim& claim,
                          const Claim& claimBefore, std::string_view name) {
  if (!trie.IsObject()) return;
  for (const auto& entry : trie.GetObject()) {
    const std::string_view key = json::text(entry.name);
    const std::string_view place = before.IsArray() ? name : key;
    if (!mayConflict(entry, place)) continue;
    Value* child = childOf(value, name, key);
    const Value* childBefore = childOf(&before, name, key);
    if (child == nullptr || childBefore == nullptr) continue;
    const Claim below = claimOf(claim, value, name, key);
    const Claim belowBefore = claimOf(claimBefore, before, name, key);
    if (!entry.value.IsString()) {
      dropConflictingUnits(*child, entry.value, *childBefore, below, belowBefore, key);
    } else if (isWebhookUnit(json::text(entry.value), *childBefore, belowBefore, OwnedUnits::Unclaimed,
                             nullptr)) {
      dropReplacedParts(*child, *childBefore, below, place);
    }
  }
}

bool mayHaveConflictingUnits(const Value& value, const Value& trie, const Value& before) {
  if (!trie.IsObject()) return false;
  return std::any_of(trie.MemberBegin(), trie.MemberEnd(), [&](const Value::Member& entry) {
    const std::string_view key = json::text(entry.name);
    if (!mayConflict(entry, key)) return false;
    const Value* child = json::find(value, key);
    const Value* childBefore = json::find(before, key);
    if (child == nullptr || childBefore == nullptr) return false;
    if (entry.value.IsObject() && childBefore->IsObject())
      return mayHaveConflictingUnits(*child, entry.value, *childBefore);
    return !json::equal(*child, *childBefore);
  });
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
