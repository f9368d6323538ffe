#pragma once
// The reconcilers: one function per kind. Each reads the cache, calls a pure function of common/lifecycle,
// writes the difference, and returns when to reconcile again.

#include <optional>
#include <span>
#include <string_view>

#include "common/runtime/task.h"
#include "controller/kube/resource.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// Reconciles the object `key` if it exists. `environment` must outlive the task.
runtime::Task<ReconcileResult> reconcileGraph(Environment& environment, k8s::ObjectKey key);
runtime::Task<ReconcileResult> reconcileComponent(Environment& environment, k8s::ObjectKey key);
runtime::Task<ReconcileResult> reconcileScalingAdapter(Environment& environment, k8s::ObjectKey key);

struct Reconciler {
  std::string_view kind;       ///< also the name of its queue and Change::writer of its writes
  std::string_view component;  ///< the source of its Events
  runtime::Task<ReconcileResult> (*reconcile)(Environment&, k8s::ObjectKey);
};

std::span<const Reconciler> reconcilers();

}  // namespace dynamo::controller
