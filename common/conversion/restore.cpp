// Puts the fields of a remainder back into an object.

#include <utility>

#include "common/conversion/pointer.h"
#include "common/conversion/remainder.h"

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kPodSpecPointer = "/spec/overrides/profilingJob/template/spec";

/// What remains of a pointer on the way down.
struct Way {
  std::string_view whole;
  std::string_view rest;
  std::string_view done() const { return whole.substr(0, whole.size() - rest.size()); }
};

void assign(Draft& at, Way way, View value, Allocator& allocator);

void assignItem(Draft& list, std::uint32_t index, const Way& way, View value, Allocator& allocator) {
  const auto size = [&] { return list.view().size(); };
  if (!value && index >= size()) return;
  // Only the first container can be missing: the base mapping makes it for the resources alone. A larger gap
  // means that someone has changed the annotation.
  if (index > size() + 1) return;
  while (size() < index || (size() == index && !way.rest.empty())) {
    Draft item = Draft::object(allocator);
    item.add("name", keep(Value{""}, allocator), allocator);
    list.push(std::move(item), allocator);
  }
  if (!way.rest.empty()) {
    assign(list.item(index), way, value, allocator);
  } else if (!value) {
    list.erase(index);
  } else if (index < size()) {
    list.item(index) = value;
  } else {
    list.push(value, allocator);
  }
}

/// What a field is restored into when it is not there. The schema requires the list of containers (b1-Q5).
Draft madeFor(std::string_view pointer, Allocator& allocator) {
  if (pointer == kContainersPointer) return Draft::list(allocator);
  Draft made = Draft::object(allocator);
  if (pointer == kPodSpecPointer) made.add("containers", Draft::list(allocator), allocator);
  return made;
}

void add(Draft& object, std::string_view name, Draft&& value, Allocator& allocator) {
  // A name of the caller's does not live as long as the draft.
  object.add(keep(json::string(name, allocator), allocator).text(), std::move(value), allocator);
}

void assign(Draft& at, Way way, View value, Allocator& allocator) {
  const std::string name = unescape(nextToken(way.rest));
  at.own(allocator);
  if (at.view().isList()) {
    if (const auto index = asIndex(name)) assignItem(at, *index, way, value, allocator);
    return;
  }
  if (!at.view().isObject()) return;  // tampered with: the live value stays
  Draft* child = at.findRaw(name);
  if (way.rest.empty()) {
    if (!value) {
      at.remove(name);
    } else if (child != nullptr) {
      *child = value;
    } else {
      add(at, name, value, allocator);
    }
    return;
  }
  if (child == nullptr || child->view().isNull()) {
    if (!value) return;
    Draft made = madeFor(way.done(), allocator);
    if (child != nullptr) {
      *child = std::move(made);
    } else {
      add(at, name, std::move(made), allocator);
      child = at.findRaw(name);
    }
  }
  assign(*child, way, value, allocator);
}

/// Whether the live object still has what the field was saved beside.
bool holds(const Field& field, View object) {
  const View live = lookUp(object, field.guardPointer.empty() ? field.pointer : field.guardPointer);
  return equal(live, field.seen) && (!field.inside || lookUp(object, parentOf(field.pointer)));
}

}  // namespace

void restore(const std::vector<Field>& fields, Draft& object, Allocator& allocator) {
  std::vector<const Field*> due;
  for (const Field& field : fields) {
    if (field.skipped || field.pointer.empty() || field.pointer.front() != '/') continue;
    if (!field.guarded || holds(field, object.view())) due.push_back(&field);
  }
  for (const Field* field : due) assign(object, {field->pointer, field->pointer}, field->value, allocator);
}

}  // namespace dynamo::conversion
