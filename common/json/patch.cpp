#include "common/json/patch.h"

#include <algorithm>

namespace dynamo::json {

std::string escapePointer(std::string_view name) {
  if (std::none_of(name.begin(), name.end(), [](char c) { return c == '~' || c == '/'; })) {
    return std::string(name);
  }
  std::string escaped;
  for (const char c : name) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void Patch::append(std::string_view operation, std::string_view pointer, const Value* value) {
  auto& allocator = operations_.GetAllocator();
  Value entry{rapidjson::kObjectType};
  entry.AddMember("op", string(operation, allocator), allocator);
  entry.AddMember("path", string(pointer, allocator), allocator);
  if (value != nullptr) entry.AddMember("value", copy(*value, allocator), allocator);
  operations_.PushBack(entry, allocator);
}

void Patch::add(std::string_view pointer, const Value& value) {
  append("add", pointer, &value);
}
void Patch::replace(std::string_view pointer, const Value& value) {
  append("replace", pointer, &value);
}
void Patch::remove(std::string_view pointer) {
  append("remove", pointer, nullptr);
}

void diff(const Value& before, const Value& after, const std::string& base, Patch& patch) {
  if (before.IsObject() && after.IsObject()) {
    // Defaults are added at the end, so the names are usually in the same order.
    auto next = after.MemberBegin();
    for (const auto& member : before.GetObject()) {
      const std::string_view name = text(member.name);
      const bool inOrder = next != after.MemberEnd() && isNamed(next->name, name);
      const Value* other = inOrder ? &next->value : findRaw(after, name);
      if (inOrder) ++next;
      const std::string pointer = base + '/' + escapePointer(name);
      if (other != nullptr) {
        diff(member.value, *other, pointer, patch);
      } else {
        patch.remove(pointer);
      }
    }
    for (const auto& member : after.GetObject()) {
      const std::string_view name = text(member.name);
      if (findRaw(before, name) == nullptr) patch.add(base + '/' + escapePointer(name), member.value);
    }
    return;
  }
  if (before.IsArray() && after.IsArray() && before.Size() <= after.Size()) {
    bool prefix = true;
    for (rapidjson::SizeType i = 0; prefix && i < before.Size(); ++i) prefix = equal(before[i], after[i]);
    if (prefix) {
      for (rapidjson::SizeType i = before.Size(); i < after.Size(); ++i) patch.add(base + "/-", after[i]);
      return;
    }
  }
  if (!equal(before, after)) patch.replace(base, after);
}

}  // namespace dynamo::json
