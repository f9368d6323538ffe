#pragma once
// The reconcilers: one function per kind. Each reads the cache, calls a pure function of common/lifecycle,
// writes the difference, and returns when to reconcile again. Their rows are in kinds.cpp.

#include <string_view>

#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/outcome.h"

namespace dynamo::controller {

/// Reconciles the object `key` if it exists. `environment` must outlive the task.
runtime::Task<ReconcileResult> reconcileGraph(Environment& environment, k8s::ObjectKey key);
runtime::Task<ReconcileResult> reconcileComponent(Environment& environment, k8s::ObjectKey key);
runtime::Task<ReconcileResult> reconcileCheckpoint(Environment& environment, k8s::ObjectKey key);
runtime::Task<ReconcileResult> reconcileModel(Environment& environment, k8s::ObjectKey key);
runtime::Task<ReconcileResult> reconcileRequest(Environment& environment, k8s::ObjectKey key);
runtime::Task<ReconcileResult> reconcileScalingAdapter(Environment& environment, k8s::ObjectKey key);

/// Returns the writer of the reconciler of the object `key`.
Writer writerOf(const k8s::ObjectKey& key);

}  // namespace dynamo::controller
