#include "common/render/rbac.h"

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/render/hash.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kRbacVersion = "rbac.authorization.k8s.io/v1";

/// `name` as a label value. A name that is too long is truncated and gets a hash suffix.
std::string labelValue(std::string_view name) {
  if (name.size() <= k8s::kMaxLabelLength) return std::string{name};
  constexpr std::size_t kDigits = 8;
  const std::string_view beginning = name.substr(0, k8s::kMaxLabelLength - kDigits - 1);
  return std::string{beginning} + '-' + sha256Hex(name).substr(0, kDigits);
}

Value labelled(std::string_view apiVersion, std::string_view kind, std::string_view name,
               std::string_view account, std::string_view namespaceName, Allocator& allocator) {
  const json::Maker make{allocator};
  Value object = makeObject(apiVersion, kind, name, namespaceName, allocator);
  setMetadata(object, "labels",
              make.object(api::label::kAppManagedBy, api::kOperatorName, api::label::kAppComponent, "rbac",
                          api::label::kAppName, labelValue(account)),
              allocator);
  return object;
}

Value rule(std::string_view group, std::string_view resource, Value&& verbs, const json::Maker& make) {
  return make.object("apiGroups", make.list(group), "resources", make.list(resource), "verbs",
                     std::move(verbs));
}

Value binding(std::string_view account, std::string_view namespaceName, std::string_view name,
              std::string_view roleKind, std::string_view role, const json::Maker& make) {
  Value object = labelled(kRbacVersion, "RoleBinding", name, account, namespaceName, make.allocator());
  make.set(object, "subjects",
           make.list(make.object("kind", "ServiceAccount", "name", account, "namespace", namespaceName)));
  make.set(object, "roleRef", make.object("apiGroup", kRbacGroup, "kind", roleKind, "name", role));
  return object;
}

}  // namespace

void renderDiscoveryAccess(const Value& owner, std::string_view graph, std::string_view namespaceName,
                           Children& children) {
  Allocator& allocator = children.memory();
  const json::Maker make{allocator};
  const std::string account = std::string{graph} + std::string{api::kDiscoveryAccountSuffix};
  const std::string roleName = account + "-role";
  const auto add = [&](Value&& object) {
    setOwner(object, owner, allocator);
    children.add(std::move(object));
  };
  add(labelled("v1", "ServiceAccount", account, account, namespaceName, allocator));
  Value role = labelled(kRbacVersion, "Role", roleName, account, namespaceName, allocator);
  const auto read = [&] { return make.list("get", "list", "watch"); };
  make.set(
      role, "rules",
      make.list(rule("", "endpoints", read(), make), rule("discovery.k8s.io", "endpointslices", read(), make),
                rule("nvidia.com", "dynamoworkermetadatas",
                     make.list("create", "get", "list", "watch", "update", "patch", "delete"), make)));
  add(std::move(role));
  add(binding(account, namespaceName, account + "-binding", "Role", roleName, make));
}

void renderClusterRoleAccount(std::string_view name, std::string_view clusterRole,
                              std::string_view namespaceName, const Context& context, Children& children) {
  Allocator& allocator = children.memory();
  if (context.config.restricted() || clusterRole.empty()) return;
  const json::Maker make{allocator};
  children.add(labelled("v1", "ServiceAccount", name, name, namespaceName, allocator));
  children.add(
      binding(name, namespaceName, std::string{name} + "-binding", "ClusterRole", clusterRole, make));
}

void renderClusterRoleBinding(const Value& owner, std::string_view name, std::string_view account,
                              std::string_view clusterRole, const Context& context, Children& children) {
  Allocator& allocator = children.memory();
  if (context.config.restricted() || clusterRole.empty()) return;
  Value object =
      binding(account, namespaceOf(owner), name, "ClusterRole", clusterRole, json::Maker{allocator});
  setOwner(object, owner, allocator);
  children.add(std::move(object));
}

}  // namespace dynamo::render
