#include "common/model/component_defaults.h"

#include <stdexcept>

#include "common/text/yaml.h"

namespace dynamo::model {

void mergePatch(json::Value& target, const json::Value& patch, json::Allocator& allocator) {
  if (!patch.IsObject()) {
    target = json::copy(patch, allocator);
    return;
  }
  if (!target.IsObject()) target.SetObject();
  for (const auto& member : patch.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (member.value.IsNull()) {
      json::remove(target, name);
      continue;
    }
    json::Value* existing = json::findRaw(target, name);
    if (existing == nullptr) {
      json::set(target, name, json::Value{}, allocator);
      existing = json::findRaw(target, name);
    }
    mergePatch(*existing, member.value, allocator);
  }
}

ComponentDefaults::ComponentDefaults(const json::Value* overlay) {
  text::TextDocuments parsed = text::parseDocuments(builtInDefaults());
  if (parsed.error || parsed.documents.size() != 1) throw std::logic_error{"components.yaml does not parse"};
  auto& allocator = document_.GetAllocator();
  const json::Value& builtIn = parsed.documents.front().value;
  merged_ = json::copy(builtIn, allocator);
  types_.SetObject();
  json::Value types = json::copy(*json::find(builtIn, "types"), allocator);
  const json::Value* siteTypes = overlay == nullptr ? nullptr : json::findObject(overlay, "types");
  if (siteTypes != nullptr) {
    for (const auto& type : siteTypes->GetObject()) {
      if (json::find(types, json::text(type.name)) == nullptr) {
        json::set(types, json::text(type.name), json::Value{rapidjson::kObjectType}, allocator);
      }
    }
  }
  // Later layers take precedence: built-in common, common of the site, built-in type, type of the site.
  json::Value common = json::copy(*json::find(builtIn, "common"), allocator);
  if (const json::Value* site = json::findObject(overlay, "common")) mergePatch(common, *site, allocator);
  for (const auto& type : types.GetObject()) {
    const std::string_view name = json::text(type.name);
    json::Value merged = json::copy(common, allocator);
    mergePatch(merged, type.value, allocator);
    if (const json::Value* site = json::findObject(siteTypes, name)) mergePatch(merged, *site, allocator);
    json::set(types_, name, std::move(merged), allocator);
  }
  json::set(types_, "", std::move(common), allocator);
  if (overlay != nullptr) mergePatch(merged_, *overlay, allocator);
}

const json::Value& ComponentDefaults::of(std::string_view componentType) const {
  const json::Value* type = componentType.empty() ? nullptr : json::find(types_, componentType);
  return type != nullptr ? *type : types_.FindMember("")->value;  // set by the constructor
}

}  // namespace dynamo::model
