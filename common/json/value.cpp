#include "common/json/value.h"

#include <array>
#include <cstddef>
#include <utility>

#include "common/json/text_writer.h"

namespace dynamo::json {

void set(Value& object, std::string_view key, Value&& value, Allocator& allocator) {
  if (Value* present = findRaw(object, key)) {
    *present = std::move(value);
    return;
  }
  object.AddMember(string(key, allocator), std::move(value), allocator);
}

bool remove(Value& object, std::string_view key) {
  if (!object.IsObject()) return false;
  for (auto member = object.MemberBegin(); member != object.MemberEnd(); ++member) {
    if (text(member->name) == key) {
      object.EraseMember(member);  // keeps the order, unlike RemoveMember
      return true;
    }
  }
  return false;
}

Value& ensureObject(Value& object, std::string_view key, Allocator& allocator) {
  Value* member = findRaw(object, key);
  if (member == nullptr) {
    object.AddMember(string(key, allocator), Value{rapidjson::kObjectType}, allocator);
    return (object.MemberEnd() - 1)->value;
  }
  if (!member->IsObject()) member->SetObject();
  return *member;
}

namespace {

// RapidJSON stores short strings inside the Value, where they move with the Value. Strings longer than this
// are always stored outside, so they can be shared.
constexpr std::size_t kAlwaysOutside = sizeof(Value);

/// Passes a value to a document as events, like a parser. Objects and lists then get exactly the memory that
/// they need, while AddMember() would reserve sixteen members per object.
template <bool kShare>
struct EventSource {
  const Value& whole;

  template <typename Handler>
  bool operator()(Handler& handler) const {
    emit(whole, handler);
    return true;
  }

 private:
  static bool copied(const Value& text) { return !kShare || text.GetStringLength() <= kAlwaysOutside; }

  template <typename Handler>
  static void emit(const Value& value, Handler& handler) {
    switch (value.GetType()) {
      case rapidjson::kStringType:
        handler.String(value.GetString(), value.GetStringLength(), copied(value));
        break;
      case rapidjson::kArrayType:
        handler.StartArray();
        for (const Value& item : value.GetArray()) emit(item, handler);
        handler.EndArray(value.Size());
        break;
      case rapidjson::kObjectType:
        handler.StartObject();
        for (const auto& [name, member] : value.GetObject()) {
          handler.Key(name.GetString(), name.GetStringLength(), copied(name));
          emit(member, handler);
        }
        handler.EndObject(value.MemberCount());
        break;
      default:
        value.Accept(handler);
    }
  }
};

template <bool kShare>
Value rebuild(const Value& value, Allocator& allocator) {
  using Rebuilt = rapidjson::GenericDocument<rapidjson::UTF8<>, Allocator, Allocator>;
  constexpr std::size_t kStack = 4096;  // enough for a service; larger values use the heap in addition
  alignas(std::max_align_t) std::array<char, kStack> room;
  Allocator stack{room.data(), room.size()};
  Rebuilt document{&allocator, kStack / 4, &stack};
  EventSource<kShare> source{value};
  document.Populate(source);
  return std::move(static_cast<Value&>(document));
}

}  // namespace

Value copy(const Value& value, Allocator& allocator) {
  return rebuild<false>(value, allocator);
}

Value share(const Value& value, Allocator& allocator) {
  return rebuild<true>(value, allocator);
}

std::string dump(const Value& value) {
  TextWriter writer;
  value.Accept(writer);
  return writer.take();
}

namespace {

bool equalNumbers(const Value& a, const Value& b) {
  if (a.IsInt64() && b.IsInt64()) return a.GetInt64() == b.GetInt64();
  if (a.IsUint64() && b.IsUint64()) return a.GetUint64() == b.GetUint64();
  return a.GetDouble() == b.GetDouble();
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return equalNumbers(a, b);
  if (a.GetType() != b.GetType()) return false;
  if (a.IsString()) return text(a) == text(b);
  if (a.IsArray()) {
    if (a.Size() != b.Size()) return false;
    for (rapidjson::SizeType i = 0; i < a.Size(); ++i) {
      if (!equal(a[i], b[i])) return false;
    }
    return true;
  }
  if (!a.IsObject()) return true;  // null, true and false are separate types
  if (a.MemberCount() != b.MemberCount()) return false;
  // The API server sorts names, so equal members usually have the same index.
  auto other = b.MemberBegin();
  for (auto member = a.MemberBegin(); member != a.MemberEnd(); ++member, ++other) {
    const Value* match =
        text(other->name) == text(member->name) ? &other->value : findRaw(b, text(member->name));
    if (match == nullptr || !equal(member->value, *match)) return false;
  }
  return true;
}

}  // namespace dynamo::json
