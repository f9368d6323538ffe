#pragma once
// Writes the defaults of one component into it, where the user has nothing.

#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/defaults/claims.h"
#include "common/json/value.h"
#include "common/model/component_defaults.h"
#include "common/schema/node.h"

namespace dynamo::defaults {

/// What the defaults of a component depend on besides itself and the configuration. The names of variables
/// point into spec.envs of the graph.
struct Surroundings {
  std::string graph;                       ///< name of the graph; empty while only generateName is known
  std::string namespaceName;               ///< of Kubernetes; empty: unknown
  std::string discovery;                   ///< the graph's annotation as written
  std::vector<std::string_view> envNames;  ///< of spec.envs of a graph, sorted

  bool operator==(const Surroundings&) const = default;
};

/// Of a DynamoGraphDeployment, or of a DynamoComponentDeployment on its own. `fallbackNamespace` replaces a
/// metadata.namespace that is absent.
Surroundings surroundingsOf(const json::Value& object, std::string_view fallbackNamespace);

struct Derivation {
  const model::ComponentDefaults& components;
  const config::OperatorConfig& config;
  const Surroundings& around;
  const schema::Node* node;  ///< of the component: written values get the schema's defaults at once
  const Claim& claim;        ///< on the component
};

/// Defaults go to places that no list of the user's makes conflicts in: members of extraPodSpec and of its
/// mainContainer, and items of list-maps there. Role, rank, backend and cluster are rendering's. Returns the
/// trie of what was written (units.h) without `replicas`, which is not derived but kept.
json::Value derive(json::Value& component, const Derivation& from, json::Allocator& allocator);

/// Digest of all that the defaults of `component`, its intent, were derived from.
std::string derivedFrom(const json::Value& component, const Surroundings& around);

/// Whether two intents of a component are equal as far as defaults go: replicas, scalingAdapter, labels, and
/// annotations that no default reads do not count.
bool sameIntent(const json::Value& a, const json::Value& b);

}  // namespace dynamo::defaults
