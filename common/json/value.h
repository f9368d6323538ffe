#pragma once
// JSON values, and accessors that distinguish absent, null, empty and zero.
// Objects stay RapidJSON documents from the request to the answer, so unknown and future fields survive.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "common/json/rapidjson.h"

namespace dynamo::json {

using Allocator = rapidjson::MemoryPoolAllocator<>;
using Value = rapidjson::Value;
using Document = rapidjson::Document;

/// The text of a string value; empty for every other type.
inline std::string_view text(const Value& value) {
  return value.IsString() ? std::string_view{value.GetString(), value.GetStringLength()} : std::string_view{};
}
inline std::string_view text(const Value* value) {
  return value == nullptr ? std::string_view{} : text(*value);
}

/// A string reference for member names and lookups; `s` must outlive the value that uses it.
inline rapidjson::GenericStringRef<char> ref(std::string_view s) {
  return {s.data() == nullptr ? "" : s.data(), static_cast<rapidjson::SizeType>(s.size())};
}

/// A string value that owns a copy of `s` in `allocator`.
inline Value string(std::string_view s, Allocator& allocator) {
  return Value{s.data() == nullptr ? "" : s.data(), static_cast<rapidjson::SizeType>(s.size()), allocator};
}

/// Whether the name equals `key`. Most names that differ do so in length, or in the first or last byte.
inline bool isNamed(const Value& name, std::string_view key) {
  const std::size_t length = name.GetStringLength();
  if (length != key.size()) return false;
  const char* start = name.GetString();
  return length == 0 || (start[0] == key.front() && start[length - 1] == key.back() &&
                         std::memcmp(start, key.data(), length) == 0);
}

/// The member named `key`, which may be null; nullptr if absent or if `object` is not an object.
inline const Value* findRaw(const Value& object, std::string_view key) {
  if (!object.IsObject()) return nullptr;
  for (const auto& member : object.GetObject()) {
    if (isNamed(member.name, key)) return &member.value;
  }
  return nullptr;
}
inline Value* findRaw(Value& object, std::string_view key) {
  return const_cast<Value*>(findRaw(static_cast<const Value&>(object), key));
}

/// The member named `key`; null counts as absent (server-side apply passes nulls to webhooks).
inline const Value* find(const Value& object, std::string_view key) {
  const Value* value = findRaw(object, key);
  return value != nullptr && !value->IsNull() ? value : nullptr;
}
inline Value* find(Value& object, std::string_view key) {
  return const_cast<Value*>(find(static_cast<const Value&>(object), key));
}
/// find() for an optional parent.
inline const Value* find(const Value* object, std::string_view key) {
  return object == nullptr ? nullptr : find(*object, key);
}

/// The member named `key` when it is an object; nullptr otherwise.
inline const Value* findObject(const Value* object, std::string_view key) {
  const Value* value = find(object, key);
  return value != nullptr && value->IsObject() ? value : nullptr;
}

/// The text of member `key`; empty when absent or not a string.
inline std::string_view findText(const Value* object, std::string_view key) {
  return text(find(object, key));
}

/// The boolean member `key`; nullopt when absent or not a boolean.
inline std::optional<bool> findBool(const Value* object, std::string_view key) {
  const Value* value = find(object, key);
  return value != nullptr && value->IsBool() ? std::optional{value->GetBool()} : std::nullopt;
}

/// Sets member `key` (added at the end when absent). The name is copied into `allocator`.
void set(Value& object, std::string_view key, Value&& value, Allocator& allocator);

/// Removes member `key` and keeps the order of the others. Returns whether it existed.
bool remove(Value& object, std::string_view key);

/// The object member `key`; created as {} if it is absent or not an object.
Value& ensureObject(Value& object, std::string_view key, Allocator& allocator);

/// A deep copy, strings included, in `allocator`.
Value copy(const Value& value, Allocator& allocator);

/// A copy that refers to the strings of `value`. The owner of these strings (the allocator of `value`, or the
/// buffer it was parsed in) must outlive the copy.
Value share(const Value& value, Allocator& allocator);

/// Compact JSON text; members keep their order.
std::string dump(const Value& value);

/// Equal as JSON values: member order does not matter, 30 and 30.0 are equal. Assumes no duplicate names.
bool equal(const Value& a, const Value& b);

/// equal() for optional values: absent (nullptr) only equals absent.
inline bool equal(const Value* a, const Value* b) {
  return a == nullptr || b == nullptr ? a == b : equal(*a, *b);
}

}  // namespace dynamo::json
