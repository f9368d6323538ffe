#pragma once
// One step of a managed rolling update of workers: how many replicas each worker generation gets next (quirks
// child-Q5, ctl-Q8, ctl-Q20, ctl-Q44).

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::lifecycle {

/// The fields of a worker's DynamoComponentDeployment that a rolling update reads.
struct WorkerGeneration {
  std::string name;
  std::string service;  ///< spec.serviceName
  std::string hash;     ///< label nvidia.com/dynamo-worker-hash; empty: no label
  std::string created;  ///< metadata.creationTimestamp, RFC 3339
  long long replicas = 1;
  long long present = 0;    ///< status.service.replicas
  long long available = 0;  ///< status.service.availableReplicas; without it, readyReplicas
  long long ready = 0;
  bool observed = true;  ///< isComponentObserved
  bool settled = false;  ///< observed and available: no pods are ending or missing
  bool refused = false;  ///< isComponentRefused
};

WorkerGeneration workerGeneration(const json::Value& deployment);

/// How far the number of replicas of a service may rise above and fall below the desired number during an
/// update.
struct RollingLimits {
  long long surge = 0;
  long long unavailable = 0;

  bool operator==(const RollingLimits&) const = default;
};

/// Reads the limits from the annotations of `service`; each defaults to 25 %. Values are whole numbers or
/// percentages of `desired`; percentages of surge are rounded up. Other values count as 0. If both limits are
/// 0, surge becomes 1.
RollingLimits rollingLimits(const json::Value& service, long long desired);

struct RollingStep {
  bool inProgress = false;
  bool complete = false;  ///< every service is updated: old generations may be deleted
  /// service -> replicas of its new generation.
  std::map<std::string, long long, std::less<>> newReplicas;
  /// name -> replicas of each old generation of a service that the graph still has.
  std::map<std::string, long long, std::less<>> oldReplicas;
  std::vector<std::string> updatedServices;  ///< sorted
  std::vector<std::string> outdated;         ///< names of all old generations, sorted
};

/// The next step from the generation `current` towards the generation `hash`. No update is in progress if
/// `current` is empty or equals `hash`. `observed` has all worker generations of the graph.
///
/// Statuses may be late. No generation is scaled down while the status of any generation of its service is of
/// an older spec. The new generation does not grow while its status still counts more pods than its spec has
/// replicas: after a scale-down, those pods are ending. If the generation is settled, they are not: somebody
/// has scaled its Deployment (decision ctl-Q45).
///
/// A new generation that is refused a child counts as unavailable. An old one ends as any other; if its
/// scale-down is refused, the pods that it keeps leave less room for the surge (decision ctl-Q65).
RollingStep rollingStep(const json::Value& graph, std::string_view hash, std::string_view current,
                        const std::vector<WorkerGeneration>& observed);

}  // namespace dynamo::lifecycle
