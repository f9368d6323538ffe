#pragma once
// Substitutes the placeholders "${…}" of components.yaml.

#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

struct Placeholders {
  std::string_view dynamoNamespace;
  std::string_view graph;
  std::string_view namespaceName;
  std::string_view componentType;
};

/// Substitutes ${dynamoNamespace}, ${graph}, ${namespace} and ${componentType} in `text`.
std::string fill(std::string_view text, const Placeholders& placeholders);

/// Substitutes placeholders in every string of `value`.
void fillAll(json::Value& value, const Placeholders& placeholders, json::Allocator& allocator);

/// A copy of `page` with all placeholders substituted. nullopt if a placeholder has no value, for example the
/// name of a graph that has only metadata.generateName. The component type may be empty.
std::optional<json::Value> instantiate(const json::Value& page, const Placeholders& placeholders,
                                       json::Allocator& allocator);

}  // namespace dynamo::model
