#pragma once
// The CEL rules of the schemas, implemented in C++.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::schema {

struct Node;

struct CelInput {
  const Node& node;         ///< the schema of `self`
  const json::Value& self;  ///< an object, with or without schema defaults
  const json::Value* old;   ///< nullptr on create
};

struct CelRule {
  std::string_view name;  ///< the name under `rules` in kinds/shared.yaml
  bool transition;        ///< checked on updates only
  bool (*holds)(const CelInput&);
};

/// The rule `name`; nullptr if it does not exist. The registry rejects a schema with an unknown rule.
const CelRule* findCelRule(std::string_view name);

}  // namespace dynamo::schema
