#pragma once
// A structural schema as the validator walks it. Nodes are shared: one PodSpec serves every kind.

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

/// All text points into the registry's document, which lives as long as the process.
struct Node {
  Type type = Type::Any;
  bool preserveUnknown = false;
  bool embeddedResource = false;
  bool dateTime = false;
  bool int32 = false;
  bool scale = false;       ///< replicas of the scale subresource: a plain integer of 32 bits, not negative
  bool keepsNulls = false;  ///< a map: the API server does not drop values that are null
  ListType listType = ListType::Atomic;

  std::vector<Property> properties;  ///< in the order of the description
  const Node* items = nullptr;       ///< of an Array
  const Node* additional = nullptr;  ///< values of a map
  const json::Value* defaultValue = nullptr;
  std::vector<std::string_view> listMapKeys;  ///< of a ListType::Map
  std::vector<std::string_view> enumValues;   ///< empty: any

  std::optional<std::int64_t> minimum, maximum;
  std::optional<std::int64_t> minLength, maxLength;  ///< in characters
  std::optional<std::int64_t> maxItems, maxProperties;
  const Pattern* pattern = nullptr;
  const CelRule* rule = nullptr;
  std::string_view ruleMessage;
  field::Path ruleField;  ///< the member that the rule speaks of; empty: the object itself

  const Property* property(std::string_view name) const {
    for (const Property& entry : properties) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }
  /// The schema of member `name`: its own, or that of every value of a map; nullptr when there is none.
  const Node* member(std::string_view name) const {
    const Property* entry = property(name);
    return entry != nullptr ? entry->node : additional;
  }
};

}  // namespace dynamo::schema
