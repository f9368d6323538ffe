#pragma once
// The schemas of every kind, by version and kind.

#include <string_view>
#include <vector>

#include "common/schema/node.h"

namespace dynamo::schema {

/// The schema of a whole object; nullptr for a kind or version that is not ours. `apiVersion` is
/// "nvidia.com/v1alpha1".
const Node* find(std::string_view apiVersion, std::string_view kind);

/// The structure of ObjectMeta; the metadata of whole objects is checked against it.
const Node& metadataNode();

struct KindVersion {
  std::string_view kind;
  std::string_view version;
};
/// Every kind and version that find() knows, sorted.
std::vector<KindVersion> kindVersions();

}  // namespace dynamo::schema
