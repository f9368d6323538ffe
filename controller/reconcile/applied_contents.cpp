#include "controller/reconcile/applied_contents.h"

#include <functional>
#include <string>

namespace dynamo::controller {
namespace {

std::size_t digestOf(const k8s::ObjectKey& key) {
  return std::hash<std::string>{}(k8s::toText(key));
}

}  // namespace

std::optional<std::size_t> AppliedContents::find(const k8s::ObjectKey& key) const {
  const auto found = digests_.find(digestOf(key));
  return found == digests_.end() ? std::nullopt : std::optional{found->second};
}

void AppliedContents::remember(const k8s::ObjectKey& key, std::size_t digest) {
  digests_.insert_or_assign(digestOf(key), digest);
}

void AppliedContents::forget(const k8s::ObjectKey& key) {
  digests_.erase(digestOf(key));
}

}  // namespace dynamo::controller
