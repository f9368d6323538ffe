#pragma once
// API resources and their request paths.

#include <string>
#include <string_view>
#include <utility>

namespace dynamo::kube {

/// A resource of a served API. The plural name is used in paths, the kind in objects.
struct Resource {
  Resource(std::string group_, std::string version_, std::string plural_, std::string kind_,
           bool namespaced_ = true)
      : group(std::move(group_)),
        version(std::move(version_)),
        plural(std::move(plural_)),
        kind(std::move(kind_)),
        namespaced(namespaced_) {}

  std::string group;  ///< empty: the core group
  std::string version;
  std::string plural;  ///< "deployments"
  std::string kind;    ///< "Deployment"
  bool namespaced;

  bool operator==(const Resource&) const = default;
};

/// Returns the apiVersion, such as "apps/v1" or "v1".
std::string apiVersionOf(const Resource& resource);

/// Returns the request path, such as "/apis/apps/v1/namespaces/a/deployments/b/status". Without a name, it is
/// the path of the collection; without a namespace, of the collection in all namespaces. The namespace of a
/// cluster-scoped resource is ignored. Names are escaped, so each name is one segment of the path.
std::string pathOf(const Resource& resource, std::string_view namespaceName, std::string_view name = {},
                   std::string_view subresource = {});

}  // namespace dynamo::kube
