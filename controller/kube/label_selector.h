#pragma once
// Label selectors, as text for requests and as a predicate for objects.

#include <string>
#include <vector>

#include "common/json/value.h"

namespace dynamo::kube {

struct LabelRequirement {
  enum class Operator { Exists, DoesNotExist, Equals };

  std::string key;
  Operator op = Operator::Exists;
  std::string value = {};  ///< used by Equals only
};

/// An object matches if it satisfies all requirements. An empty selector matches every object.
struct LabelSelector {
  std::vector<LabelRequirement> requirements;

  /// Returns the selector in the syntax of the API server, such as "a,!b,c=d".
  std::string text() const;
  bool matches(const json::Value& object) const;
};

LabelRequirement hasLabel(std::string key);
LabelRequirement lacksLabel(std::string key);

}  // namespace dynamo::kube
