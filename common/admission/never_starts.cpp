#include "common/admission/never_starts.h"

#include <algorithm>
#include <array>
#include <vector>

#include "common/rules/pod/rules.h"

namespace dynamo::admission {
namespace {

using json::Value;

// Doubtful images, and root users with runAsNonRoot, stay warnings because other webhooks of the cluster may
// still correct them.
constexpr std::array kUnstartable = {rules::pod::id::kObjectName, rules::pod::id::kVolumeMedium};

/// An optional ConfigMap or Secret may have any name.
bool isOptional(const Value& holder, field::PathView path) {
  constexpr std::size_t kLevels = 3;  // spec.volumes[0].configMap.items[0].key
  std::vector<const Value*> above;
  const Value* at = &holder;
  for (const field::Segment segment : path) {
    if (at == nullptr) break;
    if (!segment.isIndex()) above.push_back(at);
    at = field::valueAt(*at, segment);
  }
  const auto first = above.size() < kLevels ? above.begin() : above.end() - kLevels;
  return std::any_of(first, above.end(),
                     [](const Value* object) { return json::findBool(object, "optional").value_or(false); });
}

}  // namespace

bool isUnstartable(std::string_view rule) {
  return std::find(kUnstartable.begin(), kUnstartable.end(), rule) != kUnstartable.end();
}

void rejectUnstartable(const Value& holder, const field::Path& base, field::Findings& findings) {
  std::erase_if(findings.warnings, [&](const field::Warning& warning) {
    if (!isUnstartable(warning.rule) || !warning.field.isWithin(base)) return false;
    const field::PathView path = warning.field.view().below(base);
    if (isOptional(holder, path)) return false;
    const Value* value = field::valueAt(holder, path);
    findings.error({field::ErrorType::Invalid, warning.field,
                    value == nullptr ? std::string{} : field::showValue(*value), warning.text, warning.rule});
    return true;
  });
}

}  // namespace dynamo::admission
