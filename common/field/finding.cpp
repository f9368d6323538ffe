#include "common/field/finding.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace dynamo::field {
namespace {

struct TypeText {
  std::string_view reason;
  std::string_view words;
  bool showsValue;
};

TypeText textOf(ErrorType type) {
  switch (type) {
    case ErrorType::Required:
      return {"FieldValueRequired", "Required value", false};
    case ErrorType::Invalid:
      return {"FieldValueInvalid", "Invalid value", true};
    case ErrorType::TypeInvalid:
      return {"FieldValueTypeInvalid", "Invalid value", true};
    case ErrorType::NotSupported:
      return {"FieldValueNotSupported", "Unsupported value", true};
    case ErrorType::Forbidden:
      return {"FieldValueForbidden", "Forbidden", false};
    case ErrorType::Duplicate:
      return {"FieldValueDuplicate", "Duplicate value", true};
    case ErrorType::NotFound:
      return {"FieldValueNotFound", "Not found", true};
    case ErrorType::TooLong:
      return {"FieldValueTooLong", "Too long", false};
    case ErrorType::TooMany:
      return {"FieldValueTooMany", "Too many", true};
  }
  return {"FieldValueInvalid", "Invalid value", true};
}

}  // namespace

std::string_view causeReason(ErrorType type) {
  return textOf(type).reason;
}

std::string FieldError::why() const {
  return namesField ? field.text() + " in body " + detail : detail;
}

std::string FieldError::body() const {
  const TypeText words = textOf(type);
  std::string text{words.words};
  if (words.showsValue && !badValue.empty()) text += ": " + badValue;
  if (!detail.empty()) text += ": " + why();
  return text;
}

std::string FieldError::message() const {
  return oneLine(field.empty() ? body() : field.text() + ": " + body());
}

std::string Warning::message() const {
  return oneLine(field.empty() ? text : field.text() + ": " + text);
}

void Findings::add(Findings&& more) {
  std::move(more.errors.begin(), more.errors.end(), std::back_inserter(errors));
  std::move(more.warnings.begin(), more.warnings.end(), std::back_inserter(warnings));
}

void Findings::sort() {
  struct Printed {
    std::string field;
    std::string why;
    FieldError error;

    auto key() const { return std::tie(field, error.type, error.badValue, why); }
  };
  std::vector<Printed> printed;
  printed.reserve(errors.size());
  for (FieldError& error : errors) {
    std::string field = error.field.text();
    std::string why = error.why();
    printed.push_back({std::move(field), std::move(why), std::move(error)});
  }
  errors.clear();
  std::stable_sort(printed.begin(), printed.end(),
                   [](const Printed& a, const Printed& b) { return a.key() < b.key(); });
  const auto last = std::unique(printed.begin(), printed.end(),
                                [](const Printed& a, const Printed& b) { return a.key() == b.key(); });
  for (auto each = printed.begin(); each != last; ++each) errors.push_back(std::move(each->error));
  // Warnings keep the order of the rules; only duplicates are removed.
  std::set<std::pair<std::string, std::string>> seen;
  std::erase_if(warnings, [&](const Warning& warning) {
    return !seen.emplace(warning.field.text(), warning.text).second;
  });
}

}  // namespace dynamo::field
