#include "common/admission/templates.h"

#include <algorithm>
#include <array>

#include "common/field/template_text.h"

namespace dynamo::admission {
namespace {

using field::Path;
using json::Value;

/// Whether a shell or the kubelet may replace variables at `path`.
bool isReadByShell(const Path& path) {
  constexpr std::array<std::string_view, 3> kFields = {"command", "args", "annotations"};
  constexpr std::array<std::string_view, 2> kVariables = {"env", "envs"};
  const auto isBelow = [&](const auto& fields) {
    return std::any_of(path.view().begin(), path.view().end(), [&](const field::Segment& segment) {
      return !segment.isIndex() && std::find(fields.begin(), fields.end(), segment.name) != fields.end();
    });
  };
  return isBelow(kFields) || (path.view().back().name == "value" && isBelow(kVariables));
}

/// The value or the key at `path` if it is a template or a placeholder; else empty.
std::string_view templateAt(const Value& object, const Path& path) {
  const Value* value = path.empty() ? nullptr : field::valueAt(object, path);
  if (value == nullptr) return {};
  const field::Segment last = path.view().back();
  const bool shell = isReadByShell(path);
  for (const std::string_view text : {json::text(*value), last.isIndex() ? std::string_view{} : last.name}) {
    const bool forgotten =
        shell ? field::isHelmTemplate(text) : field::isTemplate(text) || field::isPlaceholder(text);
    if (forgotten) return text;
  }
  return {};
}

}  // namespace

void tellTemplates(const Value& object, field::Findings& findings) {
  for (field::FieldError& error : findings.errors) {
    const std::string_view text = templateAt(object, error.field);
    if (text.empty()) continue;
    if (error.type == field::ErrorType::Required || error.type == field::ErrorType::Forbidden) continue;
    error.badValue = field::showValue(text);
    error.detail = field::notReplaced(text);
    error.namesField = false;
  }
  for (field::Warning& warning : findings.warnings) {
    const std::string_view text = templateAt(object, warning.field);
    if (!text.empty()) warning.text = field::notReplaced(text);
  }
  std::erase_if(findings.warnings, [&](const field::Warning& warning) {
    return warning.rule == "service.template" &&
           std::any_of(findings.errors.begin(), findings.errors.end(),
                       [&](const field::FieldError& error) { return error.field == warning.field; });
  });
}

}  // namespace dynamo::admission
