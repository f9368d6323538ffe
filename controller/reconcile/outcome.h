#pragma once
// Applies the outcome of a reconcile: writes, then the status, then Events.

#include <string>

#include "common/lifecycle/outcome.h"
#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// Identifies the writes of a reconciler.
struct Writer {
  std::string name;       ///< Change::writer; the kind of the reconciler
  std::string component;  ///< the source of its Events, as in the reference
};

/// Applies `outcome` to `object`. Returns the ending of the first write that is not done; the later writes,
/// the status and the Events are then omitted. If only the status fails, the Events tell of the writes.
/// Deleting an object that does not exist succeeds. The arguments must outlive the task.
runtime::Task<lifecycle::Ending> carryOut(Environment& environment, const json::Value& object,
                                          const lifecycle::Outcome& outcome, Writer writer);

}  // namespace dynamo::controller
