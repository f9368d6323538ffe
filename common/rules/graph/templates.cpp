// Texts of Helm templates that were never rendered, and placeholders of a model. Other rules report those in
// fields with a syntax of their own.

#include <algorithm>
#include <array>
#include <string_view>

#include "common/field/template_text.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

/// Nobody reads more warnings, and each of them costs a search in the old object.
constexpr int kMaxWarnings = 20;

/// A search without paths. Most services have no template.
bool hasTemplate(const Value& value) {
  if (value.IsString()) return field::isHelmTemplate(json::text(value));
  if (value.IsObject())
    return std::any_of(value.MemberBegin(), value.MemberEnd(),
                       [](const auto& member) { return hasTemplate(member.value); });
  return value.IsArray() && std::any_of(value.Begin(), value.End(), hasTemplate);
}

void findTemplates(const Value& value, const At& at, const Report& report, int& left) {
  if (left == 0) return;
  if (value.IsString() && field::isHelmTemplate(json::text(value))) {
    report.warn(at, field::notReplaced(json::text(value)));
    --left;
  } else if (value.IsObject()) {
    for (const auto& member : value.GetObject())
      findTemplates(member.value, at / json::text(member.name), report, left);
  } else if (value.IsArray()) {
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) findTemplates(value[i], at[i], report, left);
  }
}

void templatesRendered(const Service& service, const Report& report) {
  // No model has such a name, whatever made it.
  const std::string_view model = json::findText(json::findObject(&service.spec, "modelRef"), "name");
  if (!field::isHelmTemplate(model)) {
    const std::string forgotten = field::notReplaced(model);
    if (!forgotten.empty()) report.warn(service.at("modelRef.name"), forgotten);
  }
  if (!hasTemplate(service.spec)) return;
  int left = kMaxWarnings;
  findTemplates(service.spec, service.path, report, left);
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.template", Severity::Warning,
                  "templates of Helm are rendered, and the name of a model is no placeholder"},
                 templatesRendered}};

}  // namespace

std::span<const ServiceCheck> serviceTemplateChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
