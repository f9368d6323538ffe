#pragma once
// The walk behind validate(): one object, one list of findings.

#include <string>
#include <string_view>
#include <vector>

#include "common/schema/node.h"
#include "common/schema/path.h"
#include "common/schema/validator.h"

namespace dynamo::schema {

class Walker {
 public:
  explicit Walker(const Options& options, bool typesOnly = false)
      : options_{options}, typesOnly_{typesOnly} {}

  void check(const Node& node, const json::Value& value);
  void checkRoot(const Node& root, const json::Value& object);
  std::vector<field::FieldError> take() && { return std::move(findings_); }

 private:
  using ErrorType = field::ErrorType;

  void checkObject(const Node& node, const json::Value& object);
  void checkMember(const Node& node, const Property* property, std::string_view name,
                   const json::Value& value);
  void checkArray(const Node& node, const json::Value& array);
  void checkRule(const Node& node, const json::Value& object);
  void reportUnknown(const Node& node, std::string_view name);
  bool checkType(const Node& node, const json::Value& value);

  // scalars.cpp
  void checkString(const Node& node, const json::Value& value);
  void checkDateTime(const json::Value& value);
  void checkInt32(const json::Value& value);
  void checkNumber(const Node& node, const json::Value& value);
  void checkScale(const Node& node, const json::Value& value);

  // lists.cpp
  void checkDuplicates(const Node& node, const json::Value& array);

  // embedded_objects.cpp
  void checkEmbedded(const json::Value& object);
  void checkObjectMeta(const json::Value& metadata);

  void add(ErrorType type, std::string field, std::string badValue, std::string detail, std::string rule);
  void addHere(ErrorType type, std::string badValue, std::string detail, std::string rule) {
    add(type, path_.dotted(), std::move(badValue), std::move(detail), std::move(rule));
  }

  const Options& options_;
  const bool typesOnly_;
  Path path_;
  bool onlyUnknown_ = false;  ///< inside a status that a create drops
  std::vector<field::FieldError> findings_;
};

}  // namespace dynamo::schema
