#include "common/rules/pod/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {

using field::Report;

void tooLong(const Report& report, const At& at, std::size_t bytes) {
  report.tooLong(at, fmt::format("may not be more than {} bytes", bytes));
}

void oneOf(const Report& report, const At& at, std::string_view value,
           std::initializer_list<std::string_view> supported) {
  if (value.empty() || std::find(supported.begin(), supported.end(), value) != supported.end()) return;
  report.notSupported(at, value, std::span{supported.begin(), supported.size()});
}

void oneOfGiven(const Report& report, const At& at, const json::Value* value,
                std::initializer_list<std::string_view> supported) {
  if (value == nullptr || !value->IsString()) return;
  if (value->GetStringLength() > 0) {
    oneOf(report, at, json::text(*value), supported);
  } else {
    report.invalid(at, *value, "must not be empty");
  }
}

void needsVersion(const Reports& report, const At& at, std::string_view version) {
  report(id::kNewerField)
      .warn(at, fmt::format("needs Kubernetes {} or newer; older API servers drop it", version));
}

void needsGate(const Reports& report, const At& at, std::string_view gate) {
  report(id::kFeatureGate).warn(at, fmt::format("needs feature gate {}, which is off by default", gate));
}

std::optional<long long> integer(const json::Value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->IsInt64()) return value->GetInt64();
  if (!value->IsDouble()) return std::nullopt;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const double number = value->GetDouble();
  if (std::trunc(number) != number || std::fabs(number) > kExact) return std::nullopt;
  return static_cast<long long>(number);
}

}  // namespace dynamo::rules::pod
