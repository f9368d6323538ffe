#pragma once
// The "${…}" of components.yaml.

#include <string>
#include <string_view>

namespace dynamo::defaults {

struct Placeholders {
  std::string_view dynamoNamespace;
  std::string_view graph;
  std::string_view namespaceName;
  std::string_view componentType;
};

/// `text` with ${dynamoNamespace}, ${graph}, ${namespace} and ${componentType} filled in; anything else
/// stays.
std::string fill(std::string_view text, const Placeholders& placeholders);

}  // namespace dynamo::defaults
