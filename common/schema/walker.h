#pragma once
// Implements validate(): walks an object and collects errors.

#include <string>
#include <string_view>
#include <vector>

#include "common/field/path.h"
#include "common/schema/node.h"
#include "common/schema/validator.h"

namespace dynamo::schema {

class Walker {
 public:
  explicit Walker(const Options& options, bool typesOnly = false)
      : options_{options}, typesOnly_{typesOnly} {}

  /// `at` is the field path of `value`.
  void check(const Node& node, const json::Value& value, const field::At& at);
  void checkRoot(const Node& root, const json::Value& object);
  std::vector<field::FieldError> take() && { return std::move(findings_); }

 private:
  using ErrorType = field::ErrorType;

  void checkObject(const Node& node, const json::Value& object, const field::At& at);
  void checkMember(const Node& node, const Property* property, std::string_view name,
                   const json::Value& value, const field::At& parent);
  void checkArray(const Node& node, const json::Value& array, const field::At& at);
  void checkRule(const Node& node, const json::Value& object, const field::At& at);
  void reportUnknown(const Node& node, const field::At& at, std::string_view name);
  bool checkType(const Node& node, const json::Value& value, const field::At& at);

  // scalars.cpp
  void checkString(const Node& node, const json::Value& value, const field::At& at);
  void checkDateTime(const json::Value& value, const field::At& at);
  void checkInt32(const json::Value& value, const field::At& at);
  void checkNumber(const Node& node, const json::Value& value, const field::At& at);
  void checkScale(const Node& node, const json::Value& value, const field::At& at);

  // lists.cpp
  void checkDuplicates(const Node& node, const json::Value& array, const field::At& at);

  // embedded_objects.cpp
  void checkEmbedded(const json::Value& object, const field::At& at);
  void checkObjectMeta(const json::Value& metadata, const field::At& at);

  void add(ErrorType type, field::Path path, std::string badValue, std::string detail, std::string rule);
  /// Adds an error whose message repeats the field path.
  void addInBody(ErrorType type, const field::At& at, std::string badValue, std::string detail,
                 std::string rule) {
    add(type, at, std::move(badValue), std::move(detail), std::move(rule));
    findings_.back().namesField = true;
  }
  /// Adds an error of structural validation, which prints map keys as ".key".
  void add(ErrorType type, const field::At& at, std::string badValue, std::string detail, std::string rule) {
    add(type, at.path(field::Keys::Dotted), std::move(badValue), std::move(detail), std::move(rule));
  }

  const Options& options_;
  const bool typesOnly_;
  bool onlyUnknown_ = false;  ///< inside a status that a create drops
  std::vector<field::FieldError> findings_;
};

}  // namespace dynamo::schema
