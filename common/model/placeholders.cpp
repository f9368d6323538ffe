#include "common/model/placeholders.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dynamo::model {

std::string fill(std::string_view text, const Placeholders& placeholders) {
  const std::array<std::pair<std::string_view, std::string_view>, 4> known = {{
      {"${dynamoNamespace}", placeholders.dynamoNamespace},
      {"${graph}", placeholders.graph},
      {"${namespace}", placeholders.namespaceName},
      {"${componentType}", placeholders.componentType},
  }};
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find("${");
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at);
    bool replaced = false;
    for (const auto& [name, value] : known) {
      if (!text.starts_with(name)) continue;
      out += value;
      text.remove_prefix(name.size());
      replaced = true;
      break;
    }
    if (replaced) continue;
    out += text.substr(0, 2);
    text.remove_prefix(2);
  }
  return out;
}

namespace {

bool isKnown(std::string_view text, const Placeholders& placeholders) {
  const auto missing = [&](std::string_view name, std::string_view value) {
    return value.empty() && text.find(name) != std::string_view::npos;
  };
  return !missing("${dynamoNamespace}", placeholders.dynamoNamespace) &&
         !missing("${graph}", placeholders.graph) && !missing("${namespace}", placeholders.namespaceName);
}

/// Whether no string in `value` has a placeholder with an unknown value.
bool allKnown(const json::Value& value, const Placeholders& placeholders) {
  if (value.IsString()) {
    const std::string_view text = json::text(value);
    return text.find("${") == std::string_view::npos || isKnown(text, placeholders);
  }
  const auto known = [&](const json::Value& below) { return allKnown(below, placeholders); };
  if (value.IsArray()) return std::all_of(value.Begin(), value.End(), known);
  if (!value.IsObject()) return true;
  return std::all_of(value.MemberBegin(), value.MemberEnd(),
                     [&](const auto& member) { return known(member.value); });
}

}  // namespace

void fillAll(json::Value& value, const Placeholders& placeholders, json::Allocator& allocator) {
  if (value.IsString()) {
    if (json::text(value).find("${") == std::string_view::npos) return;
    value = json::string(fill(json::text(value), placeholders), allocator);
  } else if (value.IsArray()) {
    for (json::Value& item : value.GetArray()) fillAll(item, placeholders, allocator);
  } else if (value.IsObject()) {
    for (auto& member : value.GetObject()) fillAll(member.value, placeholders, allocator);
  }
}

std::optional<json::Value> instantiate(const json::Value& page, const Placeholders& placeholders,
                                       json::Allocator& allocator) {
  if (!allKnown(page, placeholders)) return std::nullopt;
  json::Value value = json::copy(page, allocator);
  fillAll(value, placeholders, allocator);
  return value;
}

}  // namespace dynamo::model
