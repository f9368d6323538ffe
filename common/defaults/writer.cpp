#include "common/defaults/writer.h"

#include "common/defaults/digest.h"
#include "common/defaults/record.h"
#include "common/defaults/units.h"
#include "common/schema/defaults.h"

namespace dynamo::defaults {
namespace {

using json::Allocator;
using json::Value;

constexpr std::size_t kParentSize = 6;                // "":{},
constexpr std::size_t kUnitSize = 7 + kDigestLength;  // "":"!",
constexpr std::size_t kReservedSize = 48;             // braces, "=", replicas

/// Length as a JSON string. Characters that need an escape count twice.
std::size_t lengthOf(std::string_view name) {
  std::size_t length = name.size();
  for (const char c : name) length += c == '"' || c == '\\' ? 1 : 0;
  return length;
}

}  // namespace

Writer::Writer(Value& component, const schema::Node* node, const Claim& claim, Allocator& allocator)
    : component_(component), node_(node), claim_(claim), allocator_(allocator), size_(kReservedSize) {}

bool Writer::isWritable(Path path, std::string_view list) const {
  const Value* at = &component_;
  for (const std::string_view name : path) {
    at = json::find(at, name);
    if (at == nullptr) return true;
    if (!at->IsObject()) return false;
  }
  const Value* last = list.empty() ? nullptr : json::find(at, list);
  return last == nullptr || last->IsArray();
}

void Writer::keepWithinLimit(Path path, std::string_view list, std::vector<Unit>& units) {
  std::size_t parents = 0;
  const Value* at = &trie_;
  const auto enter = [&](std::string_view name) {
    at = json::findObject(at, name);
    if (at == nullptr) parents += lengthOf(name) + 2 * kParentSize;
  };
  for (const std::string_view name : path) enter(name);
  if (!list.empty()) enter(list);
  std::erase_if(units, [&](const Unit& unit) {
    const std::size_t size = lengthOf(unit.name) + kUnitSize;
    if (size_ + parents + size > kMaxTrie) return true;
    size_ += parents + size;
    parents = 0;
    return false;
  });
}

Writer::Cursor Writer::below(const Cursor& parent, std::string_view name, rapidjson::Type type) {
  const schema::Node* node = parent.node == nullptr ? nullptr : parent.node->member(name);
  Value* value = json::find(*parent.value, name);
  const bool wasEmpty = value != nullptr && (value->IsArray() ? value->Empty() : value->ObjectEmpty());
  if (value == nullptr) {
    json::set(*parent.value, name, Value{type}, allocator_);
    value = json::find(*parent.value, name);
  }
  Value* trie = json::find(*parent.trie, name);
  if (trie == nullptr) {
    trie = &json::ensureObject(*parent.trie, name, allocator_);
    if (wasEmpty) json::set(*trie, kKeptParent, Value{1}, allocator_);
  }
  return {value, trie, node, parent.claim.member(name)};
}

void Writer::write(Path path, std::string_view list, std::vector<Unit>&& units) {
  if (units.empty() || !isWritable(path, list)) return;
  keepWithinLimit(path, list, units);
  if (units.empty()) return;
  Cursor cursor{&component_, &trie_, node_, claim_};
  for (const std::string_view name : path) cursor = below(cursor, name, rapidjson::kObjectType);
  if (!list.empty()) cursor = below(cursor, list, rapidjson::kArrayType);
  for (Unit& unit : units) {
    const schema::Node* node = nullptr;
    if (cursor.node != nullptr) node = list.empty() ? cursor.node->member(unit.name) : cursor.node->items;
    if (node != nullptr) schema::applySchemaDefaults(*node, unit.value, allocator_);
    std::string digest = digestOf(unit.value);
    const Claim claim =
        list.empty() ? cursor.claim.member(unit.name) : cursor.claim.item(itemKey(list), unit.name);
    if (claim.managed()) digest += kNamedWithNull;
    json::set(*cursor.trie, unit.name, json::string(digest, allocator_), allocator_);
    if (list.empty()) {
      json::set(*cursor.value, unit.name, std::move(unit.value), allocator_);
    } else {
      cursor.value->PushBack(unit.value, allocator_);
    }
  }
}

}  // namespace dynamo::defaults
