// Restores the fields of a remainder.

#include <utility>

#include "common/conversion/pointer.h"
#include "common/conversion/remainder.h"

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kPodSpecPointer = "/spec/overrides/profilingJob/template/spec";

/// A pointer that is followed token by token.
struct PointerWalk {
  std::string_view whole;
  std::string_view rest;
  std::string_view done() const { return whole.substr(0, whole.size() - rest.size()); }
};

void assign(Draft& at, PointerWalk walk, View value, Allocator& allocator);

void assignItem(Draft& list, std::uint32_t index, const PointerWalk& walk, View value, Allocator& allocator) {
  const auto size = [&] { return list.view().size(); };
  if (!value && index >= size()) return;
  // Only the first container can be missing, because the base mapping creates it only for resources. A larger
  // gap means that a user changed the annotation.
  if (index > size() + 1) return;
  while (size() < index || (size() == index && !walk.rest.empty())) {
    Draft item = Draft::object(allocator);
    item.add("name", keep(Value{""}, allocator), allocator);
    list.push(std::move(item), allocator);
  }
  if (!walk.rest.empty()) {
    assign(list.item(index), walk, value, allocator);
  } else if (!value) {
    list.erase(index);
  } else if (index < size()) {
    list.item(index) = value;
  } else {
    list.push(value, allocator);
  }
}

/// A new parent for a restored field. The schema requires the list of containers (b1-Q5).
Draft newParent(std::string_view pointer, Allocator& allocator) {
  if (pointer == kContainersPointer) return Draft::list(allocator);
  Draft made = Draft::object(allocator);
  if (pointer == kPodSpecPointer) made.add("containers", Draft::list(allocator), allocator);
  return made;
}

void add(Draft& object, std::string_view name, Draft&& value, Allocator& allocator) {
  // The name is copied, because it must live as long as the draft.
  object.add(keep(json::string(name, allocator), allocator).text(), std::move(value), allocator);
}

void assign(Draft& at, PointerWalk walk, View value, Allocator& allocator) {
  const std::string name = unescape(nextToken(walk.rest));
  at.own(allocator);
  if (at.view().isList()) {
    if (const auto index = asIndex(name)) assignItem(at, *index, walk, value, allocator);
    return;
  }
  if (!at.view().isObject()) return;  // the annotation was changed by a user: keep the live value
  Draft* child = at.findRaw(name);
  if (walk.rest.empty()) {
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
    Draft made = newParent(walk.done(), allocator);
    if (child != nullptr) {
      *child = std::move(made);
    } else {
      add(at, name, std::move(made), allocator);
      child = at.findRaw(name);
    }
  }
  assign(*child, walk, value, allocator);
}

/// Whether the live object still has the values that `field` was saved with.
bool guardHolds(const Field& field, View object) {
  const View live = lookUp(object, field.guardPointer.empty() ? field.pointer : field.guardPointer);
  return equal(live, field.seen) && (!field.inside || lookUp(object, parentOf(field.pointer)));
}

}  // namespace

void restore(const std::vector<Field>& fields, Draft& object, Allocator& allocator) {
  std::vector<const Field*> applicable;
  for (const Field& field : fields) {
    if (field.skipped || field.pointer.empty() || field.pointer.front() != '/') continue;
    if (!field.guarded || guardHolds(field, object.view())) applicable.push_back(&field);
  }
  for (const Field* field : applicable)
    assign(object, {field->pointer, field->pointer}, field->value, allocator);
}

}  // namespace dynamo::conversion
