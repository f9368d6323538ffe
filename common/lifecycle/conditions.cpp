#include "common/lifecycle/conditions.h"

#include "common/json/build.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

std::string_view text(Truth status) {
  if (status == Truth::Unknown) return "Unknown";
  return status == Truth::True ? "True" : "False";
}

}  // namespace

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= most) return std::string{text};
  std::size_t end = most - kMore.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string{text.substr(0, end)}.append(kMore);
}

const Value* findCondition(const Value* status, std::string_view type) {
  const Value* list = json::find(status, "conditions");
  if (list == nullptr || !list->IsArray()) return nullptr;
  for (const Value& condition : list->GetArray()) {
    if (json::findText(&condition, "type") == type) return &condition;
  }
  return nullptr;
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
  Value* entry = const_cast<Value*>(findCondition(&status, condition.type));
  if (entry == nullptr) {
    Value& list = json::ensureList(status, "conditions", allocator);
    list.PushBack(make.object("type", condition.type), allocator);
    entry = &list[list.Size() - 1];
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

void removeCondition(Value& status, std::string_view type) {
  Value* list = json::find(status, "conditions");
  if (list == nullptr || !list->IsArray()) return;
  for (auto at = list->Begin(); at != list->End(); ++at) {
    if (json::findText(at, "type") != type) continue;
    list->Erase(at);
    return;
  }
}

}  // namespace dynamo::lifecycle
