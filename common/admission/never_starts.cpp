#include "common/admission/never_starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/rules/pod/rules.h"

namespace dynamo::admission {
namespace {

using json::Value;

// Doubtful images and a root that must not be root stay warnings: a cluster's own webhooks may still mend
// them.
constexpr std::array kNeverStarts = {rules::pod::id::kObjectName, rules::pod::id::kVolumeMedium};

/// A ConfigMap or Secret that may be missing may have any name.
bool isOptional(const Value& holder, std::string_view path) {
  constexpr int kLevels = 3;  // spec.volumes[0].configMap.items[0].key
  for (int level = 0; level < kLevels; ++level) {
    path = path.substr(0, std::min(path.rfind('.'), path.size()));
    const Value* optional = field::valueAt(holder, fmt::format("{}.optional", path));
    if (optional != nullptr && optional->IsTrue()) return true;
  }
  return false;
}

}  // namespace

bool neverStarts(std::string_view rule) {
  return std::find(kNeverStarts.begin(), kNeverStarts.end(), rule) != kNeverStarts.end();
}

void refuseWhatNeverStarts(const Value& holder, std::string_view prefix, field::Findings& findings) {
  std::erase_if(findings.warnings, [&](const field::Warning& warning) {
    if (!neverStarts(warning.rule) || !warning.field.starts_with(prefix)) return false;
    const std::string_view path = std::string_view{warning.field}.substr(prefix.size());
    if (isOptional(holder, path)) return false;
    const Value* value = field::valueAt(holder, path);
    findings.error({field::ErrorType::Invalid, warning.field,
                    value == nullptr ? std::string{} : field::showValue(*value), warning.text, warning.rule});
    return true;
  });
}

}  // namespace dynamo::admission
