// Lists of the user, to which rendering adds what admission does not.
#include <algorithm>
#include <array>
#include <optional>

#include "common/defaults/derive.h"
#include "common/defaults/digest.h"
#include "common/defaults/units.h"
#include "common/model/completion.h"
#include "common/schema/defaults.h"

namespace dynamo::defaults {
namespace {

using json::Allocator;
using json::Value;
using model::Completion;
using model::Unit;

/// A list with default items.
struct ItemList {
  std::array<std::string_view, 2> parents;  ///< below the component; the second may be empty
  std::string_view name;
  std::vector<Unit> Completion::*units;
  bool sorted;  ///< whether pods sort the items
};

constexpr std::array<ItemList, 3> kLists = {{
    {{"extraPodSpec", {}}, "volumes", &Completion::volumes, false},
    {{"extraPodSpec", "mainContainer"}, "volumeMounts", &Completion::volumeMounts, false},
    {{"extraPodSpec", "mainContainer"}, "env", &Completion::env, true},
}};

const Value* parentOf(const Value& component, const ItemList& list) {
  const Value* parent = &component;
  for (const std::string_view name : list.parents) {
    if (!name.empty()) parent = json::findObject(parent, name);
  }
  return parent;
}

const Value* listOf(const Value& component, const ItemList& list) {
  const Value* found = json::find(parentOf(component, list), list.name);
  return found != nullptr && found->IsArray() ? found : nullptr;
}

const schema::Node* itemNode(const schema::Node* component, const ItemList& list) {
  const schema::Node* node = component;
  for (const std::string_view name : list.parents) {
    if (node != nullptr && !name.empty()) node = node->member(name);
  }
  if (node != nullptr) node = node->member(list.name);
  return node == nullptr ? nullptr : node->items;
}

bool hasItem(const Value& items, std::string_view key, std::string_view name) {
  return std::any_of(items.Begin(), items.End(),
                     [&](const Value& item) { return json::findText(&item, key) == name; });
}

/// The webhook's items of a list in the stored object, in its order.
std::vector<const Value*> webhookItems(const Value& stored, const Value& users, std::string_view key,
                                       const Value& record) {
  std::vector<const Value*> items;
  for (const Value& item : stored.GetArray()) {
    const std::string_view name = json::findText(&item, key);
    if (json::find(record, name) != nullptr && !hasItem(users, key, name)) items.push_back(&item);
  }
  return items;
}

/// Whether pods keep their list if the stored object loses `items`. Pods get the user's items first.
bool podsGetTheSame(const std::vector<const Value*>& items, std::vector<Unit>& units, const ItemList& list,
                    const schema::Node* node, Allocator& allocator) {
  const std::string_view key = itemKey(list.name);
  auto next = units.begin();
  return std::all_of(items.begin(), items.end(), [&](const Value* item) {
    const std::string_view name = json::findText(item, key);
    const auto found = std::find_if(next, units.end(), [&](const Unit& unit) { return unit.name == name; });
    if (found == units.end() || (!list.sorted && found != next)) return false;
    if (node != nullptr) schema::applySchemaDefaults(*node, found->value, allocator);
    next = found + 1;
    return json::equal(found->value, *item);
  });
}

/// Removes the record of a list and of parents of which nothing else is recorded.
void forget(Value& trie, const ItemList& list) {
  Value* outer = json::find(trie, list.parents[0]);
  Value* inner = list.parents[1].empty() ? nullptr : json::find(*outer, list.parents[1]);
  json::remove(inner == nullptr ? *outer : *inner, list.name);
  if (inner != nullptr && inner->ObjectEmpty()) json::remove(*outer, list.parents[1]);
  if (outer->ObjectEmpty()) json::remove(trie, list.parents[0]);
}

}  // namespace

ListSet listsWithDroppedItems(const Value& trie, const Value& request, const Value& before) {
  ListSet lists;
  for (std::size_t i = 0; i < kLists.size(); ++i) {
    const Value* record = json::findObject(parentOf(trie, kLists[i]), kLists[i].name);
    const Value* requested = listOf(request, kLists[i]);
    const Value* stored = listOf(before, kLists[i]);
    if (record == nullptr || requested == nullptr || stored == nullptr) continue;
    const std::string_view key = itemKey(kLists[i].name);
    lists[i] = std::any_of(stored->Begin(), stored->End(), [&](const Value& item) {
      const std::string_view name = json::findText(&item, key);
      return json::find(*record, name) != nullptr && !hasItem(*requested, key, name);
    });
  }
  return lists;
}

void letGoOfItems(Value& trie, ListSet lists, const Value& intent, const Value& before,
                  const Derivation& from, Allocator& allocator) {
  if (lists.none() || from.components.completesUserLists()) return;
  std::optional<Completion> made;
  for (std::size_t i = 0; i < kLists.size(); ++i) {
    const ItemList& list = kLists[i];
    const Value* users = lists[i] ? listOf(intent, list) : nullptr;
    if (users == nullptr) continue;
    const Value& record = *json::find(parentOf(trie, list), list.name);
    if (!made) made = complete(intent, from, allocator);
    if (podsGetTheSame(webhookItems(*listOf(before, list), *users, itemKey(list.name), record),
                       (*made).*list.units, list, itemNode(from.node, list), allocator)) {
      forget(trie, list);
    }
  }
  const bool onlySource = trie.MemberCount() == 1 && json::find(trie, kDerivedFrom) != nullptr;
  if (onlySource) trie.RemoveAllMembers();
}

void addDefaultsOfPods(Value& component, const Derivation& from, Allocator& allocator) {
  Completion made = complete(component, from, allocator);
  const auto members = [&](Value& parent, std::vector<Unit>& units) {
    for (Unit& unit : units) json::set(parent, unit.name, std::move(unit.value), allocator);
  };
  const auto object = [&](Value& parent, std::string_view name, bool needed) -> Value* {
    Value* found = json::find(parent, name);
    if (found == nullptr && needed) found = &json::ensureObject(parent, name, allocator);
    return found != nullptr && found->IsObject() ? found : nullptr;
  };
  if (Value* memory = object(component, "sharedMemory", !made.sharedMemory.empty())) {
    members(*memory, made.sharedMemory);
  }
  Value* pod = object(component, "extraPodSpec", true);
  if (pod == nullptr) return;
  members(*pod, made.podSpec);
  Value* main = object(*pod, "mainContainer", true);
  if (main != nullptr) members(*main, made.mainContainer);
  for (const ItemList& list : kLists) {
    Value* parent = list.parents[1].empty() ? pod : main;
    std::vector<Unit>& units = made.*list.units;
    if (parent == nullptr || units.empty()) continue;
    Value* items = json::find(*parent, list.name);
    if (items == nullptr) {
      json::set(*parent, list.name, Value{rapidjson::kArrayType}, allocator);
      items = json::find(*parent, list.name);
    }
    if (!items->IsArray()) continue;
    for (Unit& unit : units) items->PushBack(unit.value, allocator);
  }
}

}  // namespace dynamo::defaults
