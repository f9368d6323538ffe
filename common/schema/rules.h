#pragma once
// The CEL rules of the schemas as C++ functions.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::schema {

struct Node;

struct CelInput {
  const Node& node;         ///< the schema of `self`
  const json::Value& self;  ///< an object; schema defaults need not be in it
  const json::Value* old;   ///< nullptr on create
};

struct CelRule {
  std::string_view name;  ///< as under `rules` in kinds/shared.yaml
  bool transition;        ///< says something on updates only
  bool (*holds)(const CelInput&);
};

/// The rule called `name`; nullptr when there is none (a schema that names it is refused at start-up).
const CelRule* findCelRule(std::string_view name);

}  // namespace dynamo::schema
