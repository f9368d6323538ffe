#include "common/conversion/remainder.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "common/json/parse.h"
#include "common/json/patch.h"
#include "common/json/text_writer.h"

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

constexpr int kFormat = 1;

constexpr std::string_view kPodSpecPointer = "/spec/overrides/profilingJob/template/spec";
/// The list whose items are compared one by one; every other list is one value.
constexpr std::string_view kContainersPointer = "/spec/overrides/profilingJob/template/spec/containers";

const Value* present(const Value* value) {
  return value == nullptr || value->IsNull() ? nullptr : value;
}

std::string_view nextToken(std::string_view& pointer) {
  pointer.remove_prefix(1);  // the slash
  const std::size_t end = std::min(pointer.find('/'), pointer.size());
  const std::string_view token = pointer.substr(0, end);
  pointer.remove_prefix(end);
  return token;
}

std::string unescape(std::string_view token) {
  std::string name;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      name += token[++i] == '1' ? '/' : '~';
    } else {
      name += token[i];
    }
  }
  return name;
}

std::optional<rapidjson::SizeType> asIndex(std::string_view token) {
  rapidjson::SizeType index = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + token.size(), index);
  if (parsed.ec != std::errc{} || parsed.ptr != token.data() + token.size()) return std::nullopt;
  return index;
}

const Value* lookUp(const Value& object, std::string_view pointer) {
  const Value* at = &object;
  while (at != nullptr && !pointer.empty()) {
    const std::string name = unescape(nextToken(pointer));
    if (at->IsArray()) {
      const auto index = asIndex(name);
      at = index && *index < at->Size() ? &(*at)[*index] : nullptr;
    } else {
      at = json::findRaw(*at, name);
    }
  }
  return present(at);
}

std::string_view parentOf(std::string_view pointer) {
  return pointer.substr(0, pointer.rfind('/'));
}

/// What remains of a pointer on the way down.
struct Way {
  std::string_view whole;
  std::string_view rest;
  std::string_view done() const { return whole.substr(0, whole.size() - rest.size()); }
};

/// `at` is owned: the object shares all else with the one it was mapped from.
void assign(Value& at, Way way, const std::optional<Value>& value, Allocator& allocator);

void assignItem(Value& list, rapidjson::SizeType index, const Way& way, const std::optional<Value>& value,
                Allocator& allocator) {
  if (!value && index >= list.Size()) return;
  // Only the first container can have gone: the base mapping makes it for the resources alone. A gap beyond
  // that is tampering.
  if (index > list.Size() + 1) return;
  while (list.Size() < index || (list.Size() == index && !way.rest.empty())) {
    Value item{rapidjson::kObjectType};
    item.AddMember("name", "", allocator);
    list.PushBack(item, allocator);
  }
  if (!way.rest.empty()) {
    json::own(list[index], allocator);
    assign(list[index], way, value, allocator);
  } else if (!value) {
    list.Erase(list.Begin() + index);
  } else if (index < list.Size()) {
    list[index] = json::alias(*value);
  } else {
    list.PushBack(json::alias(*value), allocator);
  }
}

/// What a field is restored into when it is not there. The schema requires the list of containers (b1-Q5).
Value madeFor(std::string_view pointer, Allocator& allocator) {
  if (pointer == kContainersPointer) return Value{rapidjson::kArrayType};
  Value made{rapidjson::kObjectType};
  if (pointer == kPodSpecPointer) made.AddMember("containers", Value{rapidjson::kArrayType}, allocator);
  return made;
}

void assign(Value& at, Way way, const std::optional<Value>& value, Allocator& allocator) {
  const std::string name = unescape(nextToken(way.rest));
  if (at.IsArray()) {
    if (const auto index = asIndex(name)) assignItem(at, *index, way, value, allocator);
    return;
  }
  if (!at.IsObject()) return;  // tampered with: the live value stays
  if (way.rest.empty()) {
    if (value) {
      json::set(at, name, json::alias(*value), allocator);
    } else {
      json::remove(at, name);
    }
    return;
  }
  Value* child = json::find(at, name);
  if (child == nullptr) {
    if (!value) return;
    json::set(at, name, madeFor(way.done(), allocator), allocator);
    child = json::findRaw(at, name);
  }
  json::own(*child, allocator);
  assign(*child, way, value, allocator);
}

/// Walks through two objects side by side. The pointer of a place is made only for what differs.
class Comparison {
 public:
  Comparison(const Represented& represented, std::vector<Field>& fields)
      : represented_(represented), fields_(fields) {
    way_.reserve(kUsualDepth);
  }

  /// `inside`: what holds the member is there in the live object, and might go.
  void member(const Value* live, const Value* wanted, std::string_view name, const Represented::Step& from,
              bool inside) {
    // The usual case: it does not matter then whether the other version speaks for it.
    if (live != nullptr && wanted != nullptr && !live->IsObject() && json::equal(*live, *wanted)) return;
    way_.push_back({name, 0, inside});
    compare(live, wanted, represented_.down(from, name));
    way_.pop_back();
  }

 private:
  static constexpr std::size_t kUsualDepth = 16;

  struct Segment {
    std::string_view name;
    rapidjson::SizeType index;  ///< of an item, whose name is empty and has no characters at all
    bool inside;
  };

  void item(const Value* live, const Value* wanted, rapidjson::SizeType index,
            const Represented::Step& from) {
    way_.push_back({{}, index, false});
    compare(live, wanted, represented_.down(from, std::to_string(index)));
    way_.pop_back();
  }

  void compare(const Value* live, const Value* wanted, const Represented::Step& step) {
    if (live == nullptr && wanted == nullptr) return;
    const auto place = step.place();
    const bool alike = live != nullptr && wanted != nullptr && place == Represented::Place::AtOrBelow &&
                       json::equal(*live, *wanted);
    if (alike) return;  // the usual case: spares the walk
    const bool descend =
        wanted != nullptr && wanted->IsObject() &&
        (live == nullptr ? place == Represented::Place::Above && !wanted->ObjectEmpty() : live->IsObject());
    if (descend) return compareMembers(live, *wanted, step);
    if (wanted != nullptr && wanted->IsArray() && !wanted->Empty() && (live == nullptr || live->IsArray()) &&
        pointer() == kContainersPointer) {
      return compareItems(live, *wanted, step);
    }
    if (live != nullptr && wanted != nullptr && json::equal(*live, *wanted)) return;
    // An object without the list, which the reference wrote, gets it.
    if (wanted == nullptr && pointer() == kContainersPointer) return;
    record(live, wanted, place != Represented::Place::TargetOnly);
  }

  void compareMembers(const Value* live, const Value& wanted, const Represented::Step& step) {
    // Spec and status are always there.
    const bool inside = live != nullptr && live != &none() && way_.size() > 1;
    for (const auto& each : wanted.GetObject()) {
      const std::string_view name = json::text(each.name);
      member(live == nullptr ? nullptr : json::findRaw(*live, name), &each.value, name, step, inside);
    }
    if (live == nullptr) return;
    for (const auto& each : live->GetObject()) {
      const std::string_view name = json::text(each.name);
      if (json::findRaw(wanted, name) == nullptr) member(&each.value, nullptr, name, step, inside);
    }
  }

  /// Stands for an item that is not there.
  static const Value& none() {
    static const Value kNone{rapidjson::kObjectType};
    return kNone;
  }

  void compareItems(const Value* live, const Value& wanted, const Represented::Step& step) {
    const rapidjson::SizeType had = live == nullptr ? 0 : live->Size();
    for (rapidjson::SizeType i = 0; i < wanted.Size(); ++i) {
      // The first item by its members: the other version speaks for some of them.
      const bool merged = i < had || (i == 0 && wanted[0].IsObject() && !wanted[0].ObjectEmpty());
      if (merged) {
        item(i < had ? &(*live)[i] : &none(), &wanted[i], i, step);
      } else {
        recordItem(nullptr, &wanted[i], i, i == 0);  // of the first the other version may speak
      }
    }
    for (auto i = had; i > wanted.Size(); --i) recordItem(&(*live)[i - 1], nullptr, i - 1, true);
  }

  void recordItem(const Value* live, const Value* wanted, rapidjson::SizeType index, bool guarded) {
    way_.push_back({{}, index, false});
    record(live, wanted, guarded);
    way_.pop_back();
  }

  void record(const Value* live, const Value* wanted, bool guarded) {
    Field field;
    field.pointer = pointer();
    if (wanted != nullptr) field.value = json::alias(*wanted);
    field.guarded = guarded;
    if (guarded && live != nullptr) field.seen = json::alias(*live);
    field.inside = guarded && live == nullptr && way_.back().inside;
    fields_.push_back(std::move(field));
  }

  std::string pointer() const {
    std::string made;
    for (const Segment& segment : way_) {
      made += '/';
      made +=
          segment.name.data() == nullptr ? std::to_string(segment.index) : json::escapePointer(segment.name);
    }
    return made;
  }

  const Represented& represented_;
  std::vector<Field>& fields_;
  std::vector<Segment> way_;
};

/// Conversion itself writes nothing else: the whole of spec or status is only ever left out, while it is what
/// the base mapping made.
bool plausible(const Field& field, std::string_view prefix) {
  if (field.pointer == prefix) return field.guarded && !field.value;
  if (field.pointer[prefix.size()] != '/') return false;
  return field.pointer != kContainersPointer || field.value.has_value();
}

/// Bytewise, but list indexes by value: item 2 must be restored before item 10.
bool pointerLess(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view left = nextToken(a);
    const std::string_view right = nextToken(b);
    if (left == right) continue;
    const auto i = asIndex(left);
    const auto j = asIndex(right);
    return i && j ? *i < *j : left < right;
  }
  return a.empty() && !b.empty();
}

}  // namespace

Represented::Step Represented::down(const Step& from, std::string_view name) const {
  Step step;
  step.below = from.below;
  step.length = from.length + 1 + name.size();
  step.candidates = 0;
  if (from.below || from.candidates == 0 || name.empty() || name.find('/') != std::string_view::npos)
    return step;
  for (std::uint64_t left = from.candidates & all(); left != 0; left &= left - 1) {
    const std::uint64_t bit = left & -left;
    const std::string_view path = paths_[std::countr_zero(left)];
    if (path.size() < step.length || path[from.length + 1] != name.front() ||
        path.substr(from.length + 1, name.size()) != name) {
      continue;
    }
    if (path.size() == step.length) {
      step.below = true;
    } else if (path[step.length] == '/') {
      step.candidates |= bit;
    }
  }
  return step;
}

Represented::Place Represented::placeOf(std::string_view pointer) const {
  Step step;
  while (!pointer.empty()) step = down(step, unescape(nextToken(pointer)));
  return step.place();
}

void difference(const Value& live, const Value& wanted, std::string_view name, const Represented& represented,
                std::vector<Field>& fields) {
  Comparison{represented, fields}.member(json::find(live, name), json::find(wanted, name), name, {}, false);
}

void restore(const std::vector<Field>& fields, Value& object, Allocator& allocator) {
  std::vector<const Field*> due;
  for (const Field& field : fields) {
    if (field.skipped || field.pointer.empty() || field.pointer.front() != '/') continue;
    if (field.guarded) {
      const Value* live = lookUp(object, field.guardPointer.empty() ? field.pointer : field.guardPointer);
      if (!json::equal(live, field.seen ? &*field.seen : nullptr)) continue;
      if (field.inside && lookUp(object, parentOf(field.pointer)) == nullptr) continue;
    }
    due.push_back(&field);
  }
  for (const Field* field : due) assign(object, {field->pointer, field->pointer}, field->value, allocator);
}

std::string encode(std::vector<const Field*> fields) {
  const auto less = [](const Field* a, const Field* b) { return pointerLess(a->pointer, b->pointer); };
  // The API server writes names in order, and so they are compared: there is little to sort.
  if (!std::is_sorted(fields.begin(), fields.end(), less)) {
    std::stable_sort(fields.begin(), fields.end(), less);
  }
  json::TextWriter writer;
  writer.StartObject();
  writer.key("v");
  writer.Int(kFormat);
  writer.key("fields");
  writer.StartArray();
  for (const Field* field : fields) {
    writer.StartObject();
    writer.key("path");
    writer.string(field->pointer);
    if (field->value) {
      writer.key("value");
      field->value->Accept(writer);
    }
    if (field->guarded) {
      writer.key("while");
      if (field->seen) {
        field->seen->Accept(writer);
      } else {
        writer.Null();
      }
    }
    if (!field->guardPointer.empty()) {
      writer.key("at");
      writer.string(field->guardPointer);
    }
    if (field->inside) {
      writer.key("inside");
      writer.Bool(true);
    }
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return writer.take();
}

std::vector<Field> decode(std::string_view text, std::string_view prefix, Allocator& allocator) {
  std::vector<Field> fields;
  json::Document document{&allocator};
  if (text.empty() || json::parse(text, document)) return fields;
  const Value* version = json::find(document, "v");
  Value* list = json::find(document, "fields");
  if (version == nullptr || !version->IsInt() || version->GetInt() != kFormat || list == nullptr ||
      !list->IsArray()) {
    return fields;
  }
  for (Value& item : list->GetArray()) {
    const std::string_view pointer = json::findText(&item, "path");
    if (!pointer.starts_with(prefix)) continue;
    Field field;
    field.pointer = pointer;
    field.guardPointer = json::findText(&item, "at");
    field.inside = json::findBool(&item, "inside").value_or(false);
    if (Value* value = json::findRaw(item, "value")) field.value = std::move(*value);
    if (Value* seen = json::findRaw(item, "while")) {
      field.guarded = true;
      if (!seen->IsNull()) field.seen = std::move(*seen);
    }
    if (!field.guardPointer.empty() && field.guardPointer.front() != '/') continue;
    if (!plausible(field, prefix)) continue;
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace dynamo::conversion
