#pragma once
// The rules beyond the schema of DynamoGraphDeployment, DynamoComponentDeployment,
// DynamoGraphDeploymentScalingAdapter, DynamoModel and DynamoCheckpoint. What the API server would refuse in
// the rendered children is not looked at here.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/json/value.h"
#include "common/rules/field_names.h"

namespace dynamo::rules {

/// Where checkpoints are kept, as the configuration says.
struct CheckpointStorage {
  std::string type;      ///< "pvc", "s3" or "oci"; empty: "pvc"
  std::string pvcName;   ///< of pvc
  std::string basePath;  ///< of pvc
  std::string uri;       ///< of s3 and oci
};

/// What the rules need to know of the operator's configuration and of the cluster. The defaults are those of
/// an operator without configuration in an unknown cluster.
struct GraphPolicy {
  bool groveDisabled = false;  ///< by configuration, or because the cluster is known to lack it
  bool lwsDisabled = false;    ///< the same
  bool checkpointEnabled = false;
  CheckpointStorage checkpointStorage{"pvc", "snapshot-pvc", "/checkpoints", ""};
  std::string ingressFault;  ///< setting for which default Ingresses are refused; empty: none
  std::string discoveryBackend = "kubernetes";
  bool virtualServices = false;  ///< the configuration names a gateway: without, none are made
  /// Service accounts, "namespace/name", that may change what scaling adapters own: the operator's own and
  /// those of the configuration. `planner-serviceaccount` of the object's namespace always may.
  std::vector<std::string> scalingAllowed;
  std::string operatorAccount;  ///< "namespace/name" of the controller's service account; empty: not known
  std::optional<bool> inferenceApiPresent;  ///< inference.networking.k8s.io; unknown: not checked
};

/// APIs of the cluster; absent: not known, then nothing is refused for the lack of one.
struct ClusterApis {
  std::optional<bool> grove;
  std::optional<bool> leaderWorkerSet;
  std::optional<bool> inferencePool;
};

/// `operatorAccount`: "namespace/name", empty when unknown.
GraphPolicy graphPolicy(const config::OperatorConfig& config, std::string_view operatorAccount,
                        const ClusterApis& apis);

struct Request {
  const json::Value& object;
  const json::Value* old = nullptr;  ///< nullptr on CREATE
  std::string_view username;         ///< userInfo.username; may be empty
  const GraphPolicy& policy;

  /// The old object written once more: what it breaks was broken before.
  Request again() const { return {*old, old, username, policy}; }
};

// All findings, errors sorted by path, of every independent defect. On UPDATE a defect that the old object
// has too is a warning, and an object that is being deleted is not looked at.
Findings validateDgd(const Request& request);
/// validateDgd() by the rules that hold for a part of a graph, whatever stands around it.
Findings validateDgdParts(const Request& request);
Findings validateDcd(const Request& request);
Findings validateScalingAdapter(const Request& request);
Findings validateModel(const Request& request);
Findings validateCheckpoint(const Request& request);

// The rules, for `dynamo-webhook rules` and the documentation.
std::span<const Rule> dgdRules();
/// Ids of the rules of validateDgdParts(), sorted.
std::span<const std::string_view> dgdPartRules();
std::span<const Rule> dcdRules();
std::span<const Rule> scalingAdapterRules();
std::span<const Rule> modelRules();
std::span<const Rule> checkpointRules();

}  // namespace dynamo::rules
