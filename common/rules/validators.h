#pragma once
// The rules of DynamoGraphDeployment, DynamoComponentDeployment, DynamoGraphDeploymentScalingAdapter,
// DynamoModel and DynamoCheckpoint beyond their schemas. They do not check rendered children.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/json/value.h"
#include "common/rules/field_names.h"

namespace dynamo::rules {

/// The storage of checkpoints in the operator's configuration.
struct CheckpointStorage {
  std::string type;      ///< "pvc", "s3" or "oci"; empty: "pvc"
  std::string pvcName;   ///< for type "pvc"
  std::string basePath;  ///< for type "pvc"
  std::string uri;       ///< for types "s3" and "oci"
};

/// Settings of the operator and facts about the cluster that the rules depend on. The defaults stand for an
/// operator without a configuration file in an unknown cluster.
struct GraphPolicy {
  bool groveDisabled = false;  ///< by the configuration, or because the cluster is known not to have Grove
  bool groveCertain = false;   ///< the configuration enables it, or the cluster is known to have it
  std::optional<bool> kaiScheduler;  ///< whether the KAI scheduler places pods of Grove; nullopt: unknown
  bool lwsDisabled = false;          ///< groveDisabled for LeaderWorkerSet
  bool checkpointEnabled = false;
  CheckpointStorage checkpointStorage{"pvc", "snapshot-pvc", "/checkpoints", ""};
  std::string ingressFault;  ///< the setting that makes default Ingresses invalid; empty: none
  std::string discoveryBackend = "kubernetes";
  bool natsProvided = false;        ///< the configuration gives components the variable NATS_SERVER
  bool virtualServices = false;     ///< the configuration names a gateway, without which none are created
  bool honoursAutoscaling = false;  ///< compatibility.autoscaling of the configuration
  /// Service accounts, "namespace/name", that may change replicas owned by scaling adapters: the operator's
  /// account and those of the configuration. `planner-serviceaccount` of the object's namespace always may.
  std::vector<std::string> scalingAllowed;
  std::string operatorAccount;  ///< "namespace/name" of the controller's service account; empty when unknown
  std::optional<bool> inferenceApiPresent;  ///< inference.networking.k8s.io; not checked when unknown
};

/// APIs of the cluster. nullopt means unknown: an object is never rejected because of an unknown API.
struct ClusterApis {
  std::optional<bool> grove;
  std::optional<bool> leaderWorkerSet;
  std::optional<bool> inferencePool;
  std::optional<bool> kaiScheduler = std::nullopt;
};

/// `operatorAccount`: "namespace/name", empty when unknown.
GraphPolicy graphPolicy(const config::OperatorConfig& config, std::string_view operatorAccount,
                        const ClusterApis& apis);

struct Write {
  const json::Value& object;
  const json::Value* old = nullptr;  ///< nullptr on CREATE
  std::string_view username;         ///< userInfo.username; may be empty
  const GraphPolicy& policy;

  /// The old object as an update of itself. Its defects existed before the update.
  Write again() const { return {*old, old, username, policy}; }
};

// These functions return a finding for every independent defect, with errors sorted by path. On UPDATE a
// defect that the old object already has is a warning, and an object that is being deleted is not checked.
Findings validateDgd(const Write& write);
/// validateDgd() with only the rules that apply to a part of a graph, regardless of the rest.
Findings validateDgdParts(const Write& write);
Findings validateDcd(const Write& write);
Findings validateScalingAdapter(const Write& write);
Findings validateModel(const Write& write);
Findings validateCheckpoint(const Write& write);

// The rules, for `dynamo-webhook rules` and the documentation.
std::span<const Rule> dgdRules();
/// Ids of the rules of validateDgdParts(), sorted.
std::span<const std::string_view> dgdPartRules();
std::span<const Rule> dcdRules();
std::span<const Rule> scalingAdapterRules();
std::span<const Rule> modelRules();
std::span<const Rule> checkpointRules();

}  // namespace dynamo::rules
