#pragma once
// The hardware that a request does not say.

#include "common/gpu/request_hardware.h"
#include "common/json/value.h"
#include "common/lifecycle/ending.h"
#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// Runs GPU discovery if the request (v1beta1) needs it, and sets `hardware`. Done: that was done, though
/// perhaps nothing was found. The arguments must outlive the task.
runtime::Task<lifecycle::Ending> discoverHardware(Environment& environment, const json::Value& request,
                                                  gpu::RequestHardware& hardware);

}  // namespace dynamo::controller
