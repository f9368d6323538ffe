#pragma once
// Digests of the children as this process applied them.

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "common/k8s/object_key.h"

namespace dynamo::controller {

/// Keys and digests are stored as digests, so that 150,000 children take 6 MiB. Two keys with one digest
/// cause a needless write.
class AppliedContents {
 public:
  /// Returns the digest that was remembered (render::appliedDigest).
  std::optional<std::size_t> find(const k8s::ObjectKey& key) const;
  void remember(const k8s::ObjectKey& key, std::size_t digest);
  void forget(const k8s::ObjectKey& key);

 private:
  std::unordered_map<std::size_t, std::size_t> digests_;
};

}  // namespace dynamo::controller
