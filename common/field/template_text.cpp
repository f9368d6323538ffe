#include "common/field/template_text.h"

#include <algorithm>
#include <array>

namespace dynamo::field {
namespace {

/// The text after `open` up to `close`; nullopt-like empty when there is none.
std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t start = text.find(open);
  if (start == text.npos) return {};
  const std::string_view rest = text.substr(start + open.size());
  return rest.substr(0, rest.find(close) == rest.npos ? 0 : rest.find(close));
}

bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

bool isTemplate(std::string_view text) {
  if (!between(text, "{{", "}}").empty() || !between(text, "{%", "%}").empty()) return true;
  const std::string_view variable = between(text, "${", "}");
  return !variable.empty() && isNameStart(variable.front());
}

bool isHelmTemplate(std::string_view text) {
  constexpr std::array<std::string_view, 6> kHelm = {".Values", ".Release", ".Chart",
                                                     ".Files",  "include ", ".Capabilities"};
  const std::string_view expression = between(text, "{{", "}}");
  return std::any_of(kHelm.begin(), kHelm.end(),
                     [&](std::string_view word) { return expression.find(word) != expression.npos; });
}

bool isPlaceholder(std::string_view text) {
  const std::string_view inside = between(text, "<", ">");
  return !inside.empty() && isNameStart(inside.front());
}

std::string notReplaced(std::string_view text) {
  if (isTemplate(text)) return "is a template that was not rendered";
  if (isPlaceholder(text)) return "is a placeholder that was not replaced";
  return {};
}

}  // namespace dynamo::field
