#include "common/field/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace dynamo::field {

void Report::error(ErrorType type, const At& at, std::string shown, std::string detail) const {
  if (left_ == 0) return;
  --left_;
  findings_.error({type, at.path(), std::move(shown), std::move(detail), std::string{rule_}});
}

void Report::required(const At& at, std::string detail) const {
  error(ErrorType::Required, at, {}, std::move(detail));
}

void Report::invalid(const At& at, std::string_view value, std::string detail) const {
  error(ErrorType::Invalid, at, showValue(value), std::move(detail));
}

void Report::invalid(const At& at, const json::Value& value, std::string detail) const {
  error(ErrorType::Invalid, at, showValue(value), std::move(detail));
}

void Report::refused(const At& at, std::string detail) const {
  error(ErrorType::Invalid, at, {}, std::move(detail));
}

void Report::notSupported(const At& at, std::string_view value,
                          std::span<const std::string_view> supported) const {
  std::vector<std::string> quoted;
  for (const std::string_view one : supported) quoted.push_back(showValue(one));
  error(ErrorType::NotSupported, at, showValue(value),
        fmt::format("supported values: {}", fmt::join(quoted, ", ")));
}

void Report::forbidden(const At& at, std::string detail) const {
  error(ErrorType::Forbidden, at, {}, std::move(detail));
}

void Report::duplicate(const At& at, std::string_view value, std::string detail) const {
  error(ErrorType::Duplicate, at, showValue(value), std::move(detail));
}

void Report::notFound(const At& at, std::string_view value, std::string detail) const {
  error(ErrorType::NotFound, at, showValue(value), std::move(detail));
}

void Report::tooLong(const At& at, std::string detail, std::string_view about) const {
  error(ErrorType::TooLong, at, std::string{about}, std::move(detail));
}

void Report::warn(const At& at, std::string text) const {
  if (left_ == 0) return;
  --left_;
  findings_.warn(at.path(), std::move(text), std::string{rule_});
}

void Report::check(const At& at, std::string_view value, const std::string& problem) const {
  if (!problem.empty()) invalid(at, value, problem);
}

}  // namespace dynamo::field
