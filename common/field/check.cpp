#include "common/field/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/field/suggest.h"

namespace dynamo::field {

void Report::error(ErrorType type, std::string field, std::string shown, std::string detail) const {
  if (left_ == 0) return;
  --left_;
  findings_.error({type, std::move(field), std::move(shown), std::move(detail), std::string{rule_}});
}

void Report::required(std::string field, std::string detail) const {
  error(ErrorType::Required, std::move(field), {}, std::move(detail));
}

void Report::invalid(std::string field, std::string_view value, std::string detail) const {
  error(ErrorType::Invalid, std::move(field), showValue(value), std::move(detail));
}

void Report::invalid(std::string field, const json::Value& value, std::string detail) const {
  error(ErrorType::Invalid, std::move(field), showValue(value), std::move(detail));
}

void Report::refused(std::string field, std::string detail) const {
  error(ErrorType::Invalid, std::move(field), {}, std::move(detail));
}

void Report::notSupported(std::string field, std::string_view value,
                          std::span<const std::string_view> supported) const {
  std::vector<std::string> quoted;
  for (const std::string_view one : supported) quoted.push_back(showValue(one));
  error(ErrorType::NotSupported, std::move(field), showValue(value),
        fmt::format("supported values: {}", fmt::join(quoted, ", ")));
}

void Report::forbidden(std::string field, std::string detail) const {
  error(ErrorType::Forbidden, std::move(field), {}, std::move(detail));
}

void Report::duplicate(std::string field, std::string_view value, std::string detail) const {
  error(ErrorType::Duplicate, std::move(field), showValue(value), std::move(detail));
}

void Report::notFound(std::string field, std::string_view value, std::string detail) const {
  error(ErrorType::NotFound, std::move(field), showValue(value), std::move(detail));
}

void Report::tooLong(std::string field, std::string detail, std::string_view about) const {
  error(ErrorType::TooLong, std::move(field), std::string{about}, std::move(detail));
}

void Report::warn(std::string field, std::string text) const {
  if (left_ == 0) return;
  --left_;
  findings_.warn(std::move(field), std::move(text), std::string{rule_});
}

void Report::check(std::string field, std::string_view value, const std::string& problem) const {
  if (!problem.empty()) invalid(std::move(field), value, problem);
}

std::string Suggestions::operator()(std::string_view word) {
  if (left_ == 0) return {};
  --left_;
  const std::string_view meant = nearest(word, candidates_);
  return meant.empty() ? std::string{} : fmt::format(" (did you mean {}?)", showValue(meant));
}

}  // namespace dynamo::field
