#pragma once
// What a rule says of an object, in the words of apimachinery's field errors.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

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
  std::string field;  ///< "spec.services[a].replicas"; never empty
  /// Already rendered (quoted if text) and shortened; empty when not to be shown. Types that show none have
  /// it where the field alone does not say what is wrong (ratchet).
  std::string badValue;
  std::string detail;
  std::string rule;  ///< id of the rule, as `dynamo-webhook rules` lists it

  /// The part after the path: `Invalid value: "x": must be …`.
  std::string body() const;
  /// `<path>: <body>`, one line: keys of maps, which users choose, stand in both.
  std::string message() const;
};

/// A remark that does not refuse the object.
struct Warning {
  std::string field;
  std::string text;
  std::string rule;

  /// `<path>: <text>`, one line without control characters: API servers drop other ones in silence.
  std::string message() const;
};

struct Findings {
  std::vector<FieldError> errors;
  std::vector<Warning> warnings;

  void error(FieldError finding) { errors.push_back(std::move(finding)); }
  void warn(std::string field, std::string text, std::string rule) {
    warnings.push_back({std::move(field), std::move(text), std::move(rule)});
  }
  /// Adds what else was found.
  void add(Findings&& more);
  /// Equal findings once. Errors by path: their order must not depend on how the rules ran; warnings keep
  /// the order of the rules, the most important first.
  void sort();
};

/// A value as error texts show it: strings quoted, at most 64 bytes, compound values as JSON, shortened.
std::string showValue(const json::Value& value);
std::string showValue(std::string_view text);

/// `s` without control characters and cut at a character boundary so that at most `limit` bytes remain.
std::string oneLine(std::string_view s, std::size_t limit = std::string_view::npos);

/// `line` cut behind a word so that at most `limit` bytes remain, "..." among them. One long word is cut
/// inside.
std::string cutAtWord(std::string_view line, std::size_t limit);

/// The value at `path` ("spec.a.b[0].c") below `object`; nullptr when there is none. Map keys stand as they
/// are in brackets: "spec.services[a.b].replicas".
const json::Value* valueAt(const json::Value& object, std::string_view path);

/// Rule 1 of decisions.md: what an UPDATE did not touch is no reason to refuse it. Errors of `now` that the
/// old object has too become warnings: same rule, type, bad value and place, and the same value there. The
/// words do not count, as they speak of other fields, too, but where the place is an object of which nothing
/// else says what is wrong. Items of lists are known by their names.
Findings ratchet(Findings now, const Findings& before, const json::Value& object, const json::Value& old);

}  // namespace dynamo::field
