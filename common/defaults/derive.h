#pragma once
// Writes the defaults of a component into its absent fields.

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/defaults/claims.h"
#include "common/json/value.h"
#include "common/model/completion.h"
#include "common/model/component_defaults.h"
#include "common/schema/node.h"

namespace dynamo::defaults {

/// The properties of the graph that the defaults of a component depend on. `envNames` refers to spec.envs of
/// the graph.
struct GraphContext {
  std::string graph;                       ///< name of the graph; empty while only generateName is known
  std::string namespaceName;               ///< Kubernetes namespace; empty if unknown
  std::string discovery;                   ///< the discovery annotation of the graph
  std::vector<std::string_view> envNames;  ///< names in spec.envs of the graph, sorted

  bool operator==(const GraphContext&) const = default;
};

/// The context of a DynamoGraphDeployment or of a standalone DynamoComponentDeployment. `fallbackNamespace`
/// is used if metadata.namespace is absent.
GraphContext graphContextOf(const json::Value& object, std::string_view fallbackNamespace);

struct Derivation {
  const model::ComponentDefaults& components;
  const config::OperatorConfig& config;
  const GraphContext& graphContext;
  const schema::Node* node;  ///< schema of the component; written values get its defaults
  const Claim& claim;        ///< claims on the component
  bool preStop = false;      ///< write the default preStop (decision pod-Q42)
};

/// Writes the defaults of `component` and returns their trie (units.h), without `replicas`. Only members of
/// extraPodSpec and mainContainer and items of their list-maps are written, where defaults cannot conflict
/// with lists of the user. Rendering adds the settings that depend on role, rank, backend and cluster.
json::Value derive(json::Value& component, const Derivation& from, json::Allocator& allocator);

/// A set of the lists to which default items are added: volumes, volumeMounts and env.
using ListSet = std::bitset<3>;

/// The lists of `request` that lack items of the webhook. `trie` is the record of `before`, the component in
/// the stored object. Client-side apply replaces a whole list, so it drops all of these items.
ListSet listsWithDroppedItems(const json::Value& trie, const json::Value& request, const json::Value& before);

/// Removes from `trie`, the record of `before`, the items of those of `lists` that `intent` has: these are
/// lists of the user. `intent` is the unchanged intent. A list of which pods would get other items than
/// `before` has stays in the record.
void letGoOfItems(json::Value& trie, ListSet lists, const json::Value& intent, const json::Value& before,
                  const Derivation& from, json::Allocator& allocator);

/// Adds to `component` the defaults that admission leaves to rendering, without a record of them.
void addDefaultsOfPods(json::Value& component, const Derivation& from, json::Allocator& allocator);

/// The defaults of `component`.
model::Completion complete(const json::Value& component, const Derivation& from, json::Allocator& allocator);

/// Digest of the input that defaults are derived from. `component` is the intent of the component.
std::string derivedFrom(const json::Value& component, const GraphContext& graphContext);

/// Whether two intents of a component have the same defaults. Ignores replicas, scalingAdapter, labels and
/// the annotations that do not affect defaults.
bool sameIntent(const json::Value& a, const json::Value& b);

/// Whether two intents of a component have the same type and the same fields of pods (model::isPodField).
bool samePods(const json::Value& a, const json::Value& b);

}  // namespace dynamo::defaults
