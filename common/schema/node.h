#pragma once
// The structural schema that the validator walks. Kinds share nodes, for example those of PodSpec.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/field/path.h"
#include "common/json/value.h"
#include "common/schema/patterns.h"
#include "common/schema/rules.h"

namespace dynamo::schema {

enum class Type { Any, Object, Array, String, Integer, Number, Boolean, IntOrString };
enum class ListType { Atomic, Set, Map };

struct Node;

struct Property {
  std::string_view name;
  const Node* node = nullptr;
  bool required = false;
};

/// The views point into the document of the registry, which lives as long as the process.
struct Node {
  Type type = Type::Any;
  bool preserveUnknown = false;
  bool embeddedResource = false;
  bool dateTime = false;
  bool int32 = false;
  bool scale = false;       ///< replicas of the scale subresource: a non-negative 32-bit integer
  bool keepsNulls = false;  ///< of a map: the API server keeps null values
  ListType listType = ListType::Atomic;

  std::vector<Property> properties;  ///< in the order of kinds/*.yaml
  const Node* items = nullptr;       ///< of an Array
  const Node* additional = nullptr;  ///< values of a map
  const json::Value* defaultValue = nullptr;
  std::vector<std::string_view> listMapKeys;  ///< of a ListType::Map
  std::vector<std::string_view> enumValues;   ///< empty: any value

  std::optional<std::int64_t> minimum, maximum;
  std::optional<std::int64_t> minLength, maxLength;  ///< in characters
  std::optional<std::int64_t> maxItems, maxProperties;
  const Pattern* pattern = nullptr;
  const CelRule* rule = nullptr;
  std::string_view ruleMessage;
  field::Path ruleField;  ///< the field that an error of the rule names; empty: the object itself

  const Property* property(std::string_view name) const {
    for (const Property& entry : properties) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }
  /// The schema of member `name`: that of the property, or that of all values of a map; nullptr if unknown.
  const Node* member(std::string_view name) const {
    const Property* entry = property(name);
    return entry != nullptr ? entry->node : additional;
  }
};

}  // namespace dynamo::schema
