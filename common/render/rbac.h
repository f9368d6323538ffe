#pragma once
// Renders ServiceAccounts, Roles and RoleBindings (quirks pod-Q21, child-Q22).

#include "common/render/children.h"

namespace dynamo::render {

/// ServiceAccount, Role and RoleBinding for discovery between the pods of `graph`; owned by `owner`.
void renderDiscoveryAccess(const json::Value& owner, std::string_view graph, std::string_view namespaceName,
                           Children& children);

/// ServiceAccount `name` and a RoleBinding to a ClusterRole. All graphs of the namespace share them, so they
/// have no owner. Renders nothing in restricted mode, where they are part of the installation.
void renderClusterRoleAccount(std::string_view name, std::string_view clusterRole,
                              std::string_view namespaceName, const Context& context, Children& children);

/// RoleBinding `name` of an account that the user has to a ClusterRole; owned by `owner`, with which it goes.
/// Nothing in restricted mode.
void renderClusterRoleBinding(const json::Value& owner, std::string_view name, std::string_view account,
                              std::string_view clusterRole, const Context& context, Children& children);

}  // namespace dynamo::render
