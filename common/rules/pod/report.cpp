#include "common/rules/pod/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {

using field::ErrorType;
using field::showValue;

std::string At::text() const {
  std::string out = parent_ == nullptr ? std::string{} : parent_->text();
  if (kind_ == Kind::Index) return out + fmt::format("[{}]", index_);
  if (kind_ == Kind::Key) return out + fmt::format("[{}]", name_);
  if (!out.empty() && !name_.empty()) out += '.';
  return out += name_;
}

void Report::required(const At& at, std::string_view rule, std::string detail) const {
  findings_.error({ErrorType::Required, at.text(), "", std::move(detail), std::string{rule}});
}

void Report::invalid(const At& at, std::string_view value, std::string detail, std::string_view rule) const {
  findings_.error({ErrorType::Invalid, at.text(), showValue(value), std::move(detail), std::string{rule}});
}

void Report::invalid(const At& at, const json::Value& value, std::string detail,
                     std::string_view rule) const {
  findings_.error({ErrorType::Invalid, at.text(), showValue(value), std::move(detail), std::string{rule}});
}

void Report::refused(const At& at, std::string detail, std::string_view rule) const {
  findings_.error({ErrorType::Invalid, at.text(), "", std::move(detail), std::string{rule}});
}

void Report::forbidden(const At& at, std::string detail, std::string_view rule) const {
  findings_.error({ErrorType::Forbidden, at.text(), "", std::move(detail), std::string{rule}});
}

void Report::duplicate(const At& at, std::string_view value, std::string_view rule) const {
  findings_.error({ErrorType::Duplicate, at.text(), showValue(value), "", std::string{rule}});
}

void Report::notFound(const At& at, std::string_view value, std::string detail, std::string_view rule) const {
  findings_.error({ErrorType::NotFound, at.text(), showValue(value), std::move(detail), std::string{rule}});
}

void Report::tooLong(const At& at, std::size_t bytes, std::string_view rule) const {
  findings_.error({ErrorType::TooLong, at.text(), "", fmt::format("may not be more than {} bytes", bytes),
                   std::string{rule}});
}

void Report::needsVersion(const At& at, std::string_view version) const {
  warn(at, fmt::format("needs Kubernetes {} or newer; older API servers drop it", version), id::kNewerField);
}

void Report::needsGate(const At& at, std::string_view gate) const {
  warn(at, fmt::format("needs the feature gate {}, off by default", gate), id::kFeatureGate);
}

void Report::warn(const At& at, std::string text, std::string_view rule) const {
  findings_.warn(at.text(), std::move(text), std::string{rule});
}

void Report::check(const At& at, std::string_view value, const std::string& problem,
                   std::string_view rule) const {
  if (!problem.empty()) invalid(at, value, problem, rule);
}

void Report::oneOf(const At& at, std::string_view value, std::initializer_list<std::string_view> supported,
                   std::string_view rule) const {
  if (value.empty() || std::find(supported.begin(), supported.end(), value) != supported.end()) return;
  std::string list;
  for (const std::string_view one : supported) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", one);
  }
  findings_.error(
      {ErrorType::NotSupported, at.text(), showValue(value), "supported values: " + list, std::string{rule}});
}

void Report::oneOfGiven(const At& at, const json::Value* value,
                        std::initializer_list<std::string_view> supported, std::string_view rule) const {
  if (value == nullptr || !value->IsString()) return;
  if (value->GetStringLength() > 0) {
    oneOf(at, json::text(*value), supported, rule);
  } else {
    invalid(at, *value, "must not be empty", rule);
  }
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
