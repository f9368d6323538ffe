#pragma once
// What a rule says of an object, in the words of apimachinery's field errors.

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

/// One error at one path of the user's object.
struct FieldError {
  ErrorType type = ErrorType::Invalid;
  Path field;  ///< empty: the object as a whole, which messages do not name
  /// Already rendered (quoted if text) and shortened; empty when not to be shown. Types that show none have
  /// it where the field alone does not say what is wrong (ratchet).
  std::string badValue;
  std::string detail;
  std::string rule;         ///< id of the rule, as `dynamo-webhook rules` lists it
  bool namesField = false;  ///< the detail goes on "<path> in body", as structural schemas have it

  /// The detail as it is told.
  std::string why() const;
  /// The part after the path: `Invalid value: "x": must be …`.
  std::string body() const;
  /// `<path>: <body>`, one line: keys of maps, which users choose, stand in both.
  std::string message() const;
};

/// A remark that does not refuse the object.
struct Warning {
  Path field;
  std::string text;
  std::string rule;

  /// `<path>: <text>`, one line without control characters: API servers drop other ones in silence.
  std::string message() const;
};

struct Findings {
  std::vector<FieldError> errors;
  std::vector<Warning> warnings;

  void error(FieldError finding) { errors.push_back(std::move(finding)); }
  void warn(Path field, std::string text, std::string rule) {
    warnings.push_back({std::move(field), std::move(text), std::move(rule)});
  }
  /// Adds what else was found.
  void add(Findings&& more);
  /// Equal findings once. Errors by path as printed: their order must not depend on how the rules ran;
  /// warnings keep the order of the rules, the most important first.
  void sort();
};

}  // namespace dynamo::field
