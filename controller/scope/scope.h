#pragma once
// The operating mode: which namespaces this operator manages.
//
// - Cluster-wide: all namespaces, except those that restricted operators hold (MarkerLeaseWatcher) and those
//   whose names the configuration excludes.
// - Restricted: one namespace, which MarkerLeaseHolder marks.
// - Hybrid: one cluster-wide operator and any number of restricted ones. It needs no setting of its own.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"

namespace dynamo::controller {

struct Scope {
  std::string restrictedTo;  ///< empty: cluster-wide
  std::vector<std::string> excludedNameSubstrings;
  /// Returns true if a restricted operator holds the namespace. May be empty.
  std::function<bool(std::string_view)> excludes;

  bool clusterWide() const { return restrictedTo.empty(); }
  /// Returns the namespace for lists and watches of namespaced objects; empty: all namespaces.
  const std::string& watchedNamespace() const { return restrictedTo; }
  /// Returns true if this operator may act on objects in the namespace. Reconcilers check it when they start
  /// and before every write, because another operator may take over the namespace in between (scope-S2). A
  /// cluster-wide operator also handles cluster-scoped objects, whose namespace is empty.
  bool handles(std::string_view namespaceName) const;
};

/// Returns the scope of a configuration. `excludes` is not called in restricted mode.
Scope scopeOf(const config::NamespaceConfig& config, std::function<bool(std::string_view)> excludes);

}  // namespace dynamo::controller
