#pragma once
// Accounts, Roles and bindings (quirks pod-Q21, child-Q22).

#include "common/render/children.h"

namespace dynamo::render {

/// Account, Role and RoleBinding with which the pods of `graph` find each other; owned by `owner`.
void renderDiscoveryAccess(const json::Value& owner, std::string_view graph, std::string_view namespaceName,
                           Children& children);

/// Account `name` bound to a ClusterRole; shared by all graphs of the namespace, owned by none. Nothing in
/// restricted mode, where they are part of the installation.
void renderClusterRoleAccount(std::string_view name, std::string_view clusterRole,
                              std::string_view namespaceName, const Context& context, Children& children);

}  // namespace dynamo::render
