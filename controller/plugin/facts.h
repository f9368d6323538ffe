#pragma once
// Reads the facts of a cluster that rendering uses.

#include <string>
#include <variant>
#include <vector>

#include "common/render/fact_index.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/client.h"

namespace dynamo::plugin {

struct DiscoveredFacts {
  render::Facts facts;
  /// Reasons why facts may be missing, one line each. The user may lack the permission to list some objects.
  std::vector<std::string> notes;
};

/// Returns the facts: the APIs of the cluster, and the pull secrets, component service accounts and
/// checkpoints of one namespace. The error is one line; the API server cannot be reached or does not answer.
runtime::Task<std::variant<DiscoveredFacts, std::string>> discoverFacts(kube::Client& client,
                                                                        std::string namespaceName);

}  // namespace dynamo::plugin
