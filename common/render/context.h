#pragma once
// What rendering knows besides the object: configuration, defaults, and plain facts of the cluster.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/json/value.h"
#include "common/model/component_defaults.h"

namespace dynamo::render {

/// A DynamoCheckpoint as far as services that use it read it.
struct CheckpointFact {
  std::string namespaceName;
  std::string name;
  std::string hash;       ///< status.identityHash
  std::string labelHash;  ///< label nvidia.com/snapshot-checkpoint-hash
  bool ready = false;     ///< status.phase is Ready
};

/// Facts of the cluster. What is not known counts as the documented offline defaults say: every API is
/// present but KAI's, and nothing is in the cluster.
struct Facts {
  std::optional<bool> groveApi;
  std::optional<bool> lwsApi;  ///< leaderworkerset.x-k8s.io and scheduling.volcano.sh, both
  std::optional<bool> kaiApi;
  std::optional<bool> inferencePoolApi;  ///< inference.networking.k8s.io
  /// namespace -> registry host -> names of pull secrets, sorted.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> pullSecrets;
  /// namespace -> service accounts labelled for component pods.
  std::map<std::string, std::vector<std::string>> componentAccounts;
  std::vector<CheckpointFact> checkpoints;
};

struct Context {
  const config::OperatorConfig& config;
  const model::ComponentDefaults& defaults;
  const Facts& facts;
  /// Decides the pathway in place of configuration and facts; the graph's annotation still comes first.
  std::optional<bool> grove = std::nullopt;
  /// Stands for the hash of the workers where nobody will read the children: computing it costs a sixth of
  /// all.
  std::string_view anyWorkerHash = {};

  /// A trial: of children that differ in a number only, one is enough.
  bool trial() const { return !anyWorkerHash.empty(); }
};

}  // namespace dynamo::render
