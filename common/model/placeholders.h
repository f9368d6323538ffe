#pragma once
// The "${…}" of components.yaml.

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

/// `text` with ${dynamoNamespace}, ${graph}, ${namespace} and ${componentType} filled in; anything else
/// stays.
std::string fill(std::string_view text, const Placeholders& placeholders);

/// Fills in every text in `value`.
void fillAll(json::Value& value, const Placeholders& placeholders, json::Allocator& allocator);

/// A copy of `page` with every text in it filled in; nullopt when a text needs a name that is still empty, as
/// the graph's is while only metadata.generateName is known. A component type may be empty.
std::optional<json::Value> instantiate(const json::Value& page, const Placeholders& placeholders,
                                       json::Allocator& allocator);

}  // namespace dynamo::model
