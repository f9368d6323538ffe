#include "common/defaults/placeholders.h"

#include <array>
#include <utility>

namespace dynamo::defaults {

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

/// Fills in `value` and everything below it; false when a name is missing.
bool fillAll(json::Value& value, const Placeholders& placeholders, json::Allocator& allocator) {
  if (value.IsString()) {
    const std::string_view text = json::text(value);
    if (text.find("${") == std::string_view::npos) return true;
    if (!isKnown(text, placeholders)) return false;
    value = json::string(fill(text, placeholders), allocator);
  } else if (value.IsArray()) {
    for (json::Value& item : value.GetArray()) {
      if (!fillAll(item, placeholders, allocator)) return false;
    }
  } else if (value.IsObject()) {
    for (auto& member : value.GetObject()) {
      if (!fillAll(member.value, placeholders, allocator)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<json::Value> instantiate(const json::Value& page, const Placeholders& placeholders,
                                       json::Allocator& allocator) {
  json::Value value = json::copy(page, allocator);
  if (!fillAll(value, placeholders, allocator)) return std::nullopt;
  return value;
}

}  // namespace dynamo::defaults
