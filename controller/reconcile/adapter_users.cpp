#include "controller/reconcile/adapter_users.h"

#include <algorithm>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/lifecycle/model.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {

std::vector<k8s::ObjectKey> AdapterUsers::of(std::string_view modelName) const {
  const kube::Resource& resource = resourceOf(api::kGroup, api::kDynamoModel);
  std::vector<k8s::ObjectKey> keys =
      cache_.keysInNamespace(kube::apiVersionOf(resource), resource.kind, lifecycle::namespaceOf(model_));
  std::erase_if(keys, [&](const k8s::ObjectKey& key) {
    const auto other = cache_.find(key);
    return !other || !lifecycle::sharesAdapter(model_, modelName, other->object);
  });
  return keys;
}

bool AdapterUsers::wantAnotherSource(std::string_view modelName) const {
  const std::vector<k8s::ObjectKey> others = of(modelName);
  return std::any_of(others.begin(), others.end(), [&](const k8s::ObjectKey& key) {
    const auto other = cache_.find(key);
    return other && lifecycle::sourceUriOf(other->object) != lifecycle::sourceUriOf(model_);
  });
}

std::optional<OlderModel> AdapterUsers::oldest() const {
  std::optional<kube::Cached> oldest;
  std::optional<OlderModel> found;
  for (const k8s::ObjectKey& key : of(lifecycle::modelNameOf(model_))) {
    auto other = cache_.find(key);
    if (!other || !lifecycle::loraProblem(other->object).empty() ||
        !lifecycle::isOlder(other->object, model_) ||
        (oldest && lifecycle::isOlder(oldest->object, other->object)))
      continue;
    found = OlderModel{key, lifecycle::sourceUriOf(other->object) == lifecycle::sourceUriOf(model_)};
    oldest = std::move(other);
  }
  return found;
}

}  // namespace dynamo::controller
