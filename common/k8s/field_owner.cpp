#include "common/k8s/field_owner.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "common/k8s/managed_fields.h"

namespace dynamo::k8s {
namespace {

using json::Value;

/// The steps of a path as drift.cpp writes them: "a.b[0].c", and "[a.b/c]" for a map key with dots.
std::vector<std::string_view> stepsOf(std::string_view path) {
  std::vector<std::string_view> steps;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const bool bracket = !path.empty() && path.front() == '[';
    if (bracket) path.remove_prefix(1);
    const std::size_t end = std::min(path.find_first_of(bracket ? "]" : ".["), path.size());
    steps.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + (bracket ? 1 : 0), path.size()));
  }
  return steps;
}

std::optional<rapidjson::SizeType> indexOf(std::string_view step, const Value& list) {
  rapidjson::SizeType index = 0;
  const auto parsed = std::from_chars(step.data(), step.data() + step.size(), index);
  if (parsed.ec != std::errc{} || index >= list.Size()) return std::nullopt;
  return index;
}

/// The fields of an item of a list map; nullptr if none are owned.
const Value* itemFields(const Value& fields, const Value& item) {
  for (const managed::Item& each : managed::items(fields)) {
    if (item.IsObject() && managed::hasKeys(item, each.keys)) return each.fields;
  }
  return nullptr;
}

/// Whether `fields` contain the field, or a value around it that is owned as a whole.
bool owns(const Value* fields, const Value* live, const std::vector<std::string_view>& steps) {
  for (const std::string_view step : steps) {
    if (fields == nullptr) return false;
    if (fields->IsObject() && fields->ObjectEmpty()) return true;
    if (live != nullptr && live->IsArray()) {
      const auto index = indexOf(step, *live);
      if (!index) return false;
      live = &(*live)[*index];
      fields = itemFields(*fields, *live);
    } else {
      live = json::find(live, step);
      fields = managed::member(fields, step);
    }
  }
  return fields != nullptr;
}

}  // namespace

std::string_view fieldOwner(const Value& object, std::string_view path, std::string_view except) {
  const Value* entries = json::find(json::findObject(&object, "metadata"), "managedFields");
  if (entries == nullptr || !entries->IsArray()) return {};
  const std::vector<std::string_view> steps = stepsOf(path);
  std::string_view owner;
  std::string_view written;
  for (const Value& entry : entries->GetArray()) {
    const std::string_view manager = json::findText(&entry, "manager");
    const std::string_view time = json::findText(&entry, "time");
    if (manager == except || time < written) continue;
    if (!owns(json::findObject(&entry, "fieldsV1"), &object, steps)) continue;
    owner = manager;
    written = time;
  }
  return owner;
}

bool removeField(Value& object, std::string_view path) {
  std::vector<std::string_view> steps = stepsOf(path);
  if (steps.empty()) return false;
  const std::string_view last = steps.back();
  steps.pop_back();
  Value* at = &object;
  for (const std::string_view step : steps) {
    if (at->IsArray()) {
      const auto index = indexOf(step, *at);
      at = index ? &(*at)[*index] : nullptr;
    } else {
      at = at->IsObject() ? json::find(*at, step) : nullptr;
    }
    if (at == nullptr) return false;
  }
  if (at->IsArray()) {
    const auto index = indexOf(last, *at);
    if (index) at->Erase(at->Begin() + *index);
    return index.has_value();
  }
  if (!at->IsObject() || json::find(*at, last) == nullptr) return false;
  json::remove(*at, last);
  return true;
}

}  // namespace dynamo::k8s
