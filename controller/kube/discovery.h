#pragma once
// Discovery of the API groups, versions and resources of a server.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/api_error.h"
#include "controller/kube/client.h"
#include "controller/kube/resource.h"

namespace dynamo::kube {

struct ApiGroup {
  std::string name;
  std::vector<std::string> versions;  ///< the preferred one first
};

/// The groups of /apis, without the core group.
struct ApiGroups {
  std::vector<ApiGroup> groups;

  /// Returns the group, or nullptr if the server does not serve it.
  const ApiGroup* find(std::string_view group) const;
  bool serves(std::string_view group, std::string_view version) const;
  /// Removes a version, and the group with its last version.
  void remove(std::string_view group, std::string_view version);
};

/// The resources of one group version, without subresources.
struct ApiResources {
  std::vector<Resource> resources;
  std::vector<std::string> subresources;  ///< for example "deployments/status"

  const Resource* ofKind(std::string_view kind) const;
  bool hasSubresource(std::string_view plural, std::string_view subresource) const;
};

runtime::Task<Result<ApiGroups>> discover(Client& client);
/// Returns the resources of a group version. The error has reason NotFound if it is not served.
runtime::Task<Result<ApiResources>> discoverResources(Client& client, std::string group, std::string version);
/// Returns the gitVersion of the server, such as "v1.34.3".
runtime::Task<Result<std::string>> serverVersion(Client& client);

/// Entries without a name and versions of an unknown form are ignored.
ApiGroups decodeGroups(const json::Value& apiGroupList);
ApiResources decodeResources(const json::Value& apiResourceList, std::string_view group,
                             std::string_view version);

}  // namespace dynamo::kube
