#pragma once
// Digests of the children as this process applied them.

#include <cstddef>
#include <unordered_map>

#include "common/json/value.h"
#include "common/k8s/object_key.h"

namespace dynamo::controller {

/// A member that is no longer applied cannot be told from a default of the API server in a list that
/// server-side apply treats as one value. Such a change only shows in what was applied before. Contents are
/// compared without spec.replicas, which are not always applied.
class AppliedContents {
 public:
  /// Returns true if other content was remembered for the object. Remembers the first content.
  bool changed(const k8s::ObjectKey& key, const json::Value& object);
  void remember(const k8s::ObjectKey& key, const json::Value& object);
  void forget(const k8s::ObjectKey& key);

 private:
  /// Both are digests, so that 150,000 children take 6 MiB. Two keys with one digest cause a needless write.
  std::unordered_map<std::size_t, std::size_t> digests_;
};

}  // namespace dynamo::controller
