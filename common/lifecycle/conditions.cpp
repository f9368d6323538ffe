#include "common/lifecycle/conditions.h"

#include <algorithm>

#include "common/json/build.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

std::string_view text(ConditionStatus status) {
  if (status == ConditionStatus::Unknown) return "Unknown";
  return status == ConditionStatus::True ? "True" : "False";
}

/// The element of `list` with this type, else its end.
template <typename List>
auto findIn(List& list, std::string_view type) {
  return std::find_if(list.Begin(), list.End(),
                      [&](const Value& condition) { return json::findText(&condition, "type") == type; });
}

}  // namespace

std::string shortened(std::string_view text, std::size_t maxBytes) {
  constexpr std::string_view kEllipsis = "...";
  if (text.size() <= maxBytes) return std::string{text};
  std::size_t end = maxBytes - kEllipsis.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string{text.substr(0, end)}.append(kEllipsis);
}

const Value* findCondition(const Value* status, std::string_view type) {
  const Value* list = json::find(status, "conditions");
  if (list == nullptr || !list->IsArray()) return nullptr;
  const Value* found = findIn(*list, type);
  return found == list->End() ? nullptr : found;
}

bool isTrue(const Value* condition) {
  return json::findText(condition, "status") == "True";
}

bool isFalse(const Value* condition) {
  return json::findText(condition, "status") == "False";
}

void setCondition(Value& status, const Condition& condition, std::int64_t generation, Time now,
                  json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value& list = json::ensureList(status, "conditions", allocator);
  Value* entry = findIn(list, condition.type);
  if (entry == list.End()) {
    list.PushBack(make.object("type", condition.type), allocator);
    entry = list.End() - 1;
  }
  if (json::findText(entry, "status") != text(condition.status) ||
      json::findText(entry, "lastTransitionTime").empty()) {
    make.set(*entry, "status", text(condition.status));
    make.set(*entry, "lastTransitionTime", formatTime(now));
  }
  if (generation > 0) make.set(*entry, "observedGeneration", generation);
  make.set(*entry, "reason", condition.reason);
  make.set(*entry, "message", shortened(condition.message, kMaxConditionMessage));
}

void setObservedGeneration(Value& status, std::string_view type, std::int64_t generation,
                           json::Allocator& allocator) {
  Value* list = json::find(status, "conditions");
  if (list == nullptr || !list->IsArray()) return;
  Value* found = findIn(*list, type);
  if (found == list->End()) return;
  if (generation >= 0) {
    json::Maker{allocator}.set(*found, "observedGeneration", generation);
  } else {
    json::remove(*found, "observedGeneration");
  }
}

void removeCondition(Value& status, std::string_view type) {
  Value* list = json::find(status, "conditions");
  if (list == nullptr || !list->IsArray()) return;
  Value* found = findIn(*list, type);
  if (found != list->End()) list->Erase(found);
}

}  // namespace dynamo::lifecycle
