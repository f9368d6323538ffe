#include "controller/reconcile/applied_contents.h"

#include <functional>
#include <string>

namespace dynamo::controller {
namespace {

std::size_t digestOf(const k8s::ObjectKey& key) {
  return std::hash<std::string>{}(k8s::toText(key));
}

std::size_t digestOf(const json::Value& object) {
  json::Document memory;
  json::Value content = json::copy(object, memory.GetAllocator());
  if (json::Value* spec = json::find(content, "spec")) json::remove(*spec, "replicas");
  return std::hash<std::string>{}(json::dump(content));
}

}  // namespace

bool AppliedContents::changed(const k8s::ObjectKey& key, const json::Value& object) {
  const std::size_t digest = digestOf(object);
  return digests_.try_emplace(digestOf(key), digest).first->second != digest;
}

void AppliedContents::remember(const k8s::ObjectKey& key, const json::Value& object) {
  digests_.insert_or_assign(digestOf(key), digestOf(object));
}

void AppliedContents::forget(const k8s::ObjectKey& key) {
  digests_.erase(digestOf(key));
}

}  // namespace dynamo::controller
