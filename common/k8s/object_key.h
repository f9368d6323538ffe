#pragma once
// The identity of an object in a cluster.

#include <compare>
#include <string>

#include "common/json/value.h"

namespace dynamo::k8s {

struct ObjectKey {
  std::string group;  ///< empty: the core group
  std::string version;
  std::string kind;
  std::string namespaceName;  ///< empty: cluster-scoped
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

/// The identity of an object among those of its kind.
struct NamespacedName {
  std::string namespaceName;
  std::string name;

  auto operator<=>(const NamespacedName&) const = default;
};

/// The key of an object from its apiVersion, kind and metadata. Absent parts are empty.
ObjectKey keyOf(const json::Value& object);

/// The key for logs and messages: "Deployment.apps demo/frontend", "Service demo/frontend",
/// "ClusterRole.rbac.authorization.k8s.io planner".
std::string toText(const ObjectKey& key);

}  // namespace dynamo::k8s
