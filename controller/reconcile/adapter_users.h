#pragma once
// The models of a namespace that want the same adapter in the same pods. A pod has one adapter of a name, so
// that the source of the oldest model counts (decision ctl-Q94).

#include <optional>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "controller/kube/cache.h"

namespace dynamo::controller {

struct OlderModel {
  k8s::ObjectKey key;
  bool hasSource = false;  ///< it wants the adapter from the same source
};

class AdapterUsers {
 public:
  /// The arguments must outlive the object.
  AdapterUsers(const kube::Cache& cache, const json::Value& model) : cache_(cache), model_(model) {}

  /// Returns the other models that need the adapter `modelName` in the pods of this one.
  std::vector<k8s::ObjectKey> of(std::string_view modelName) const;
  bool isShared(std::string_view modelName) const { return !of(modelName).empty(); }
  /// Whether one of them wants it from another source than this model.
  bool wantAnotherSource(std::string_view modelName) const;
  /// Returns the oldest of the models that want the adapter of this one; nullopt: this one is.
  std::optional<OlderModel> oldest() const;

 private:
  const kube::Cache& cache_;
  const json::Value& model_;
};

}  // namespace dynamo::controller
