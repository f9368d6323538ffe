#pragma once
// The schemas of all kinds.

#include <string_view>
#include <vector>

#include "common/schema/node.h"

namespace dynamo::schema {

/// The schema of a whole object; nullptr for an unknown kind or version. `apiVersion` includes the group, for
/// example "nvidia.com/v1alpha1".
const Node* find(std::string_view apiVersion, std::string_view kind);

/// The schema of ObjectMeta, for the metadata of whole objects.
const Node& metadataNode();

struct KindVersion {
  std::string_view kind;
  std::string_view version;
};
/// Every kind and version that find() knows, sorted.
std::vector<KindVersion> kindVersions();

}  // namespace dynamo::schema
