#pragma once
// Builds JSON values in one expression: make.object("name", "http", "port", 8000).

#include <concepts>
#include <string_view>
#include <utility>

#include "common/json/value.h"

namespace dynamo::json {

/// Makes values in one allocator. Strings and values are copied; rvalue Values are moved.
class Maker {
 public:
  explicit Maker(Allocator& allocator) : allocator_(allocator) {}

  Allocator& allocator() const { return allocator_; }

  Value value(std::string_view text) const { return string(text, allocator_); }
  Value value(const char* text) const { return string(text, allocator_); }
  Value value(std::same_as<bool> auto b) const { return Value{b}; }
  Value value(std::integral auto n) const
    requires(!std::same_as<decltype(n), bool>)
  {
    return Value{static_cast<std::int64_t>(n)};
  }
  Value value(Value&& v) const { return std::move(v); }
  Value value(const Value& v) const { return copy(v, allocator_); }

  /// Takes alternating keys and values.
  template <typename... Members>
  Value object(Members&&... members) const {
    Value made{rapidjson::kObjectType};
    fill(made, std::forward<Members>(members)...);
    return made;
  }

  template <typename... Items>
  Value list(Items&&... items) const {
    Value made{rapidjson::kArrayType};
    (made.PushBack(value(std::forward<Items>(items)), allocator_), ...);
    return made;
  }

  template <typename V>
  void set(Value& target, std::string_view key, V&& v) const {
    json::set(target, key, value(std::forward<V>(v)), allocator_);
  }

  template <typename V>
  void push(Value& list, V&& v) const {
    list.PushBack(value(std::forward<V>(v)), allocator_);
  }

 private:
  void fill(Value&) const {}
  template <typename V, typename... Rest>
  void fill(Value& target, std::string_view key, V&& v, Rest&&... rest) const {
    target.AddMember(string(key, allocator_), value(std::forward<V>(v)), allocator_);
    fill(target, std::forward<Rest>(rest)...);
  }

  Allocator& allocator_;
};

/// The list member `key`; created as [] if it is absent or not a list.
inline Value& ensureList(Value& object, std::string_view key, Allocator& allocator) {
  Value* list = findRaw(object, key);
  if (list == nullptr || !list->IsArray()) {
    set(object, key, Value{rapidjson::kArrayType}, allocator);
    list = findRaw(object, key);
  }
  return *list;
}

/// The item of `list` whose `name` is `name`; nullptr if there is none or `list` is not a list.
inline const Value* findNamed(const Value* list, std::string_view name) {
  if (list == nullptr || !list->IsArray()) return nullptr;
  for (const Value& item : list->GetArray()) {
    if (findText(&item, "name") == name) return &item;
  }
  return nullptr;
}
inline Value* findNamed(Value* list, std::string_view name) {
  return const_cast<Value*>(findNamed(static_cast<const Value*>(list), name));
}

/// Whether the value is "", [], {} or null, which Go types with omitempty do not write.
inline bool isEmpty(const Value& v) {
  return v.IsNull() || (v.IsString() && v.GetStringLength() == 0) || (v.IsArray() && v.Empty()) ||
         (v.IsObject() && v.ObjectEmpty());
}

}  // namespace dynamo::json
