#include "controller/reconcile/reconcilers.h"

#include "controller/reconcile/kinds.h"

namespace dynamo::controller {

Writer writerOf(const k8s::ObjectKey& key) {
  const WatchedKind* kind = findWatchedKind(key);
  if (kind == nullptr || !kind->reconciler) return {};
  return {kind->resource.kind, std::string{kind->reconciler->component}};
}

}  // namespace dynamo::controller
