#include "common/conversion/draft.h"

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

namespace dynamo::conversion {

using json::Allocator;
using json::Value;

namespace {

/// Like json::isNamed(). Most names that differ do so in length, or in the first or last byte.
bool isNamed(std::string_view name, std::string_view key) {
  return name.size() == key.size() &&
         (key.empty() || (name.front() == key.front() && name.back() == key.back() && name == key));
}

}  // namespace

/// A member of an object, or an item of a list, which has no name.
struct Part {
  std::string_view name;
  Draft value;
};

/// An object or list that a draft has made. The allocator frees it, and calls no destructor.
struct Made {
  Part* parts = nullptr;
  std::uint32_t size = 0;
  std::uint32_t room = 0;
  bool list = false;

  Part* begin() const { return parts; }
  Part* end() const { return parts + size; }

  void add(Part&& part, Allocator& allocator) {
    if (size == room) reserve(std::max(room * 2, 4U), allocator);
    new (parts + size) Part{std::move(part)};
    ++size;
  }
  void reserve(std::uint32_t wanted, Allocator& allocator) {
    auto* place = static_cast<Part*>(allocator.Malloc(wanted * sizeof(Part)));
    std::uninitialized_move(begin(), end(), place);
    parts = place;
    room = wanted;
  }
  Part* find(std::string_view name) const {
    return std::find_if(begin(), end(), [&](const Part& part) { return isNamed(part.name, name); });
  }
  void erase(Part* part) {
    std::move(part + 1, end(), part);
    --size;
  }
};

namespace {

static_assert(!Allocator::kNeedFree && alignof(Part) <= alignof(std::uint64_t));

// Text longer than this is never inside a Value, so it stays in place when the Value moves.
constexpr std::size_t kAlwaysOutside = sizeof(Value);

Value nameOf(std::string_view name, Allocator& allocator) {
  return name.size() <= kAlwaysOutside ? json::string(name, allocator) : Value{json::ref(name)};
}

}  // namespace

bool View::isObject() const {
  return value_ != nullptr ? value_->IsObject() : made_ != nullptr && !made_->list;
}

bool View::isList() const {
  return value_ != nullptr ? value_->IsArray() : made_ != nullptr && made_->list;
}

std::optional<bool> View::boolean() const {
  return value_ != nullptr && value_->IsBool() ? std::optional{value_->GetBool()} : std::nullopt;
}

std::uint32_t View::size() const {
  if (made_ != nullptr) return made_->size;
  if (value_ == nullptr) return 0;
  return value_->IsObject() ? value_->MemberCount() : value_->IsArray() ? value_->Size() : 0;
}

NamedView View::member(std::uint32_t index) const {
  if (made_ != nullptr) return {made_->parts[index].name, made_->parts[index].value.view()};
  const Value::Member& member = value_->MemberBegin()[index];
  return {json::text(member.name), &member.value};
}

View View::item(std::uint32_t index) const {
  return made_ != nullptr ? made_->parts[index].value.view() : View{&(*value_)[index]};
}

View View::findMade(std::string_view name) const {
  if (made_ == nullptr || made_->list) return {};
  const Part* part = made_->find(name);
  return part == made_->end() ? View{} : part->value.view();
}

bool equal(View a, View b) {
  if (a.isSame(b)) return true;
  if (!a || !b) return false;
  if (a.value() != nullptr && b.value() != nullptr) return json::equal(*a.value(), *b.value());
  // At least one is an object or list that a draft has made.
  const bool objects = a.isObject() && b.isObject();
  if (!(objects || (a.isList() && b.isList())) || a.size() != b.size()) return false;
  for (std::uint32_t i = 0; i < a.size(); ++i) {
    if (!objects) {
      if (!equal(a.item(i), b.item(i))) return false;
      continue;
    }
    // Members usually have the same order.
    const NamedView left = a.member(i);
    const NamedView right = b.member(i);
    const View match = right.name == left.name ? right.view : b.findRaw(left.name);
    if (!match || !equal(left.view, match)) return false;
  }
  return true;
}

void write(View view, json::TextWriter& writer) {
  if (const Value* value = view.value()) {
    value->Accept(writer);
  } else if (view.isList()) {
    writer.StartArray();
    for (std::uint32_t i = 0; i < view.size(); ++i) write(view.item(i), writer);
    writer.EndArray();
  } else {
    writer.StartObject();
    for (std::uint32_t i = 0; i < view.size(); ++i) {
      const NamedView member = view.member(i);
      writer.key(member.name);
      write(member.view, writer);
    }
    writer.EndObject();
  }
}

std::string dump(View view) {
  json::TextWriter writer;
  write(view, writer);
  return writer.take();
}

Value toValue(View view, Allocator& allocator) {
  if (const Value* value = view.value()) return json::share(*value, allocator);
  if (view.isList()) {
    Value list{rapidjson::kArrayType};
    list.Reserve(view.size(), allocator);
    for (std::uint32_t i = 0; i < view.size(); ++i)
      list.PushBack(toValue(view.item(i), allocator), allocator);
    return list;
  }
  Value object{rapidjson::kObjectType};
  for (std::uint32_t i = 0; i < view.size(); ++i) {
    const NamedView member = view.member(i);
    object.AddMember(nameOf(member.name, allocator), toValue(member.view, allocator), allocator);
  }
  return object;
}

View keep(Value&& value, Allocator& allocator) {
  return new (allocator.Malloc(sizeof(Value))) Value{std::move(value)};
}

Draft Draft::object(Allocator& allocator, std::uint32_t expected) {
  Draft draft;
  draft.own_ = make(false, expected, allocator);
  return draft;
}

Draft Draft::list(Allocator& allocator, std::uint32_t expected) {
  Draft draft;
  draft.own_ = make(true, expected, allocator);
  return draft;
}

Made* Draft::make(bool list, std::uint32_t expected, Allocator& allocator) {
  auto* made = new (allocator.Malloc(sizeof(Made))) Made;
  made->list = list;
  made->reserve(expected, allocator);
  return made;
}

Made& Draft::made() {
  if (own_ == nullptr) throw std::logic_error("a draft is changed that is not of its own");
  return *own_;
}

void Draft::own(Allocator& allocator) {
  const View all = shared_;
  if (own_ != nullptr || !(all.isObject() || all.isList())) return;
  own_ = make(all.isList(), all.size() + 2, allocator);  // room for a few more
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const NamedView part = all.isList() ? NamedView{{}, all.item(i)} : all.member(i);
    own_->add({part.name, part.view}, allocator);
  }
  shared_ = {};
}

void Draft::add(std::string_view name, Draft&& value, Allocator& allocator) {
  made().add({name, std::move(value)}, allocator);
}

void Draft::set(std::string_view name, Draft&& value, Allocator& allocator) {
  if (Draft* present = findRaw(name)) {
    *present = std::move(value);
  } else {
    add(name, std::move(value), allocator);
  }
}

void Draft::remove(std::string_view name) {
  Made& made = this->made();
  if (Part* part = made.find(name); part != made.end()) made.erase(part);
}

Draft* Draft::findRaw(std::string_view name) {
  Made& made = this->made();
  Part* part = made.find(name);
  return part == made.end() ? nullptr : &part->value;
}

Draft& Draft::ensureObject(std::string_view name, Allocator& allocator) {
  Draft* member = findRaw(name);
  if (member == nullptr) {
    add(name, object(allocator), allocator);
    return made().parts[made().size - 1].value;
  }
  if (!member->view().isObject()) *member = object(allocator);
  member->own(allocator);
  return *member;
}

void Draft::push(Draft&& value, Allocator& allocator) {
  made().add({{}, std::move(value)}, allocator);
}

Draft& Draft::item(std::uint32_t index) {
  return made().parts[index].value;
}

void Draft::erase(std::uint32_t index) {
  Made& made = this->made();
  made.erase(made.parts + index);
}

}  // namespace dynamo::conversion
