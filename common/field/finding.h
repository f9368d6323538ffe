#pragma once
// Findings of rules: errors in the form of apimachinery's field errors, and warnings.

#include <string>
#include <string_view>
#include <vector>

#include "common/field/path.h"
#include "common/field/show.h"

namespace dynamo::field {

enum class ErrorType {
  Required,
  Invalid,
  TypeInvalid,
  NotSupported,
  Forbidden,
  Duplicate,
  NotFound,
  TooLong,
  TooMany,
};

/// The reason of a status cause: "FieldValueRequired", "FieldValueInvalid", …
std::string_view causeReason(ErrorType type);

/// An error at a field path of the user's object.
struct FieldError {
  ErrorType type = ErrorType::Invalid;
  Path field;  ///< empty: the object as a whole; messages then have no path
  /// Already formatted (quoted if text) and shortened; empty if it is not shown. Types that do not show a
  /// value may set it to distinguish errors at the same field (ratchet).
  std::string badValue;
  std::string detail;
  std::string rule;         ///< id of the rule, as `dynamo-webhook rules` lists it
  bool namesField = false;  ///< the detail starts with "<path> in body", as in errors of structural schemas

  /// The detail as printed.
  std::string why() const;
  /// The part after the path: `Invalid value: "x": must be …`.
  std::string body() const;
  /// `<path>: <body>` in one line. Both may contain map keys of users, so line breaks are removed.
  std::string message() const;
};

/// A finding that does not reject the object.
struct Warning {
  Path field;
  std::string text;
  std::string rule;

  /// `<path>: <text>` in one line without control characters. API servers silently drop other warnings.
  std::string message() const;
};

struct Findings {
  std::vector<FieldError> errors;
  std::vector<Warning> warnings;

  void error(FieldError finding) { errors.push_back(std::move(finding)); }
  void warn(Path field, std::string text, std::string rule) {
    warnings.push_back({std::move(field), std::move(text), std::move(rule)});
  }
  /// Appends other findings.
  void add(Findings&& more);
  /// Sorts errors by printed path, so that their order does not depend on the rules, and removes duplicates.
  /// Warnings keep the order of the rules, which starts with the most important ones.
  void sort();
};

}  // namespace dynamo::field
