#include "controller/scope/scope.h"

#include <algorithm>

namespace dynamo::controller {

bool Scope::handles(std::string_view namespaceName) const {
  if (!clusterWide()) return namespaceName == restrictedTo;
  if (namespaceName.empty()) return true;
  if (excludes && excludes(namespaceName)) return false;
  return std::none_of(excludedNameSubstrings.begin(), excludedNameSubstrings.end(),
                      [&](const auto& part) { return namespaceName.find(part) != std::string_view::npos; });
}

Scope scopeOf(const config::NamespaceConfig& config, std::function<bool(std::string_view)> excludes) {
  Scope scope;
  scope.restrictedTo = config.restricted;
  scope.excludedNameSubstrings = config.excludedNameSubstrings;
  if (scope.clusterWide()) scope.excludes = std::move(excludes);
  return scope;
}

}  // namespace dynamo::controller
