#pragma once
// Managed rolling updates of workers as pure functions: how many replicas each generation has next (quirks
// child-Q5, ctl-Q8, ctl-Q20).

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::render {

/// A DynamoComponentDeployment of workers as far as a rolling update reads it.
struct WorkerGeneration {
  std::string name;
  std::string service;  ///< spec.serviceName
  std::string hash;     ///< label nvidia.com/dynamo-worker-hash; empty: none
  std::string created;  ///< metadata.creationTimestamp, RFC 3339
  long long replicas = 1;
  long long available = 0;  ///< availableReplicas of status.service, readyReplicas where that has none
  long long ready = 0;
};

WorkerGeneration workerGeneration(const json::Value& deployment);

/// How far the replicas of a service may be above and below the wanted number meanwhile.
struct RollingLimits {
  long long surge = 0;
  long long unavailable = 0;

  bool operator==(const RollingLimits&) const = default;
};

/// From the annotations of `service`, 25 % each when absent: whole numbers, or percentages of `desired`, of
/// surge rounded up. What is neither counts as 0; of two zeros surge becomes 1.
RollingLimits rollingLimits(const json::Value& service, long long desired);

struct RollingStep {
  bool inProgress = false;
  bool complete = false;  ///< every service is updated: old generations may go
  /// service -> replicas of its new generation; for Observed::newReplicas.
  std::map<std::string, long long, std::less<>> newReplicas;
  /// name -> replicas of each older generation of a service that the graph still has.
  std::map<std::string, long long, std::less<>> oldReplicas;
  std::vector<std::string> updatedServices;  ///< sorted
  std::vector<std::string> outdated;         ///< names of all older generations, sorted
};

/// The next step towards workers of `hash`. `current` is the graph's annotation current-worker-hash: absent
/// or equal to `hash` means that nothing is in progress. `observed`: all worker deployments of the graph.
RollingStep rollingStep(const json::Value& graph, std::string_view hash, std::string_view current,
                        const std::vector<WorkerGeneration>& observed);

}  // namespace dynamo::render
