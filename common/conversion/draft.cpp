#include "common/conversion/draft.h"

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

namespace dynamo::conversion {

using json::Allocator;
using json::Value;

namespace {

/// Like json::isNamed(). Compares length, first and last byte first, because most different names differ
/// there.
bool isNamed(std::string_view name, std::string_view key) {
  return name.size() == key.size() &&
         (key.empty() || (name.front() == key.front() && name.back() == key.back() && name == key));
}

}  // namespace

/// A member of an object, or an item of a list (without a name).
struct Part {
  std::string_view name;
  Draft value;
};

/// An object or list of a draft. The allocator frees the memory without calling destructors.
struct DraftNode {
  Part* parts = nullptr;
  std::uint32_t size = 0;
  std::uint32_t capacity = 0;
  bool list = false;

  Part* begin() const { return parts; }
  Part* end() const { return parts + size; }

  void add(Part&& part, Allocator& allocator) {
    if (size == capacity) reserve(std::max(capacity * 2, 4U), allocator);
    new (parts + size) Part{std::move(part)};
    ++size;
  }
  void reserve(std::uint32_t wanted, Allocator& allocator) {
    auto* place = static_cast<Part*>(allocator.Malloc(wanted * sizeof(Part)));
    std::uninitialized_move(begin(), end(), place);
    parts = place;
    capacity = wanted;
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

// RapidJSON stores longer text outside the Value, so it keeps its address when the Value is moved.
constexpr std::size_t kMaxInlineText = sizeof(Value);

Value nameOf(std::string_view name, Allocator& allocator) {
  return name.size() <= kMaxInlineText ? json::string(name, allocator) : Value{json::ref(name)};
}

}  // namespace

bool View::isObject() const {
  return value_ != nullptr ? value_->IsObject() : node_ != nullptr && !node_->list;
}

bool View::isList() const {
  return value_ != nullptr ? value_->IsArray() : node_ != nullptr && node_->list;
}

std::optional<bool> View::boolean() const {
  return value_ != nullptr && value_->IsBool() ? std::optional{value_->GetBool()} : std::nullopt;
}

std::uint32_t View::size() const {
  if (node_ != nullptr) return node_->size;
  if (value_ == nullptr) return 0;
  return value_->IsObject() ? value_->MemberCount() : value_->IsArray() ? value_->Size() : 0;
}

NamedView View::member(std::uint32_t index) const {
  if (node_ != nullptr) return {node_->parts[index].name, node_->parts[index].value.view()};
  const Value::Member& member = value_->MemberBegin()[index];
  return {json::text(member.name), &member.value};
}

View View::item(std::uint32_t index) const {
  return node_ != nullptr ? node_->parts[index].value.view() : View{&(*value_)[index]};
}

View View::findInNode(std::string_view name) const {
  if (node_ == nullptr || node_->list) return {};
  const Part* part = node_->find(name);
  return part == node_->end() ? View{} : part->value.view();
}

bool equal(View a, View b) {
  if (a.isSame(b)) return true;
  if (!a || !b) return false;
  if (a.value() != nullptr && b.value() != nullptr) return json::equal(*a.value(), *b.value());
  // At least one is an object or list of a draft.
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

DraftNode* Draft::make(bool list, std::uint32_t expected, Allocator& allocator) {
  auto* node = new (allocator.Malloc(sizeof(DraftNode))) DraftNode;
  node->list = list;
  node->reserve(expected, allocator);
  return node;
}

DraftNode& Draft::node() {
  if (own_ == nullptr) throw std::logic_error("a draft that is a view cannot be changed");
  return *own_;
}

void Draft::own(Allocator& allocator) {
  const View all = shared_;
  if (own_ != nullptr || !(all.isObject() || all.isList())) return;
  own_ = make(all.isList(), all.size() + 2, allocator);  // with capacity for a few more
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const NamedView part = all.isList() ? NamedView{{}, all.item(i)} : all.member(i);
    own_->add({part.name, part.view}, allocator);
  }
  shared_ = {};
}

void Draft::add(std::string_view name, Draft&& value, Allocator& allocator) {
  node().add({name, std::move(value)}, allocator);
}

void Draft::set(std::string_view name, Draft&& value, Allocator& allocator) {
  if (Draft* present = findRaw(name)) {
    *present = std::move(value);
  } else {
    add(name, std::move(value), allocator);
  }
}

void Draft::remove(std::string_view name) {
  DraftNode& node = this->node();
  if (Part* part = node.find(name); part != node.end()) node.erase(part);
}

Draft* Draft::findRaw(std::string_view name) {
  DraftNode& node = this->node();
  Part* part = node.find(name);
  return part == node.end() ? nullptr : &part->value;
}

Draft& Draft::ensureObject(std::string_view name, Allocator& allocator) {
  Draft* member = findRaw(name);
  if (member == nullptr) {
    add(name, object(allocator), allocator);
    return node().parts[node().size - 1].value;
  }
  if (!member->view().isObject()) *member = object(allocator);
  member->own(allocator);
  return *member;
}

void Draft::push(Draft&& value, Allocator& allocator) {
  node().add({{}, std::move(value)}, allocator);
}

Draft& Draft::item(std::uint32_t index) {
  return node().parts[index].value;
}

void Draft::erase(std::uint32_t index) {
  DraftNode& node = this->node();
  node.erase(node.parts + index);
}

}  // namespace dynamo::conversion
