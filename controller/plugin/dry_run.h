#pragma once
// Sends the request of `kubectl apply` as a dry run.

#include <string>
#include <variant>

#include "common/json/value.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/api_error.h"
#include "controller/kube/client.h"

namespace dynamo::plugin {

struct DryRun {
  json::Document object;  ///< the object as it would be stored, with a uid
  bool exists = false;    ///< the object already exists
};

/// Sends `manifest`, which must have a name and a namespace. An object that server-side apply manages is
/// applied with the same field manager. Any other object is created, or patched as by client-side apply. The
/// client's field manager must be k8s::kClientSideApply.
runtime::Task<kube::Result<DryRun>> dryRunApply(kube::Client& client, kube::Resource resource,
                                                const json::Value& manifest);

/// Returns the field manager that applies the main resource of `live`, or an empty text if server-side apply
/// does not manage it.
std::string serverSideApplier(const json::Value& live);

}  // namespace dynamo::plugin
