#pragma once
// The statuses of a DynamoGraphDeploymentRequest (v1beta1): one function for each thing that happens to it.
// Each returns the complete outcome: status, and Events about what is new. Decisions life-Q6, life-Q9,
// life-Q21, life-Q22.
//
// - Pending: until the Job exists (Profiling), or the spec is invalid or the Job is refused (Failed).
// - Profiling: until the output of the Job is read (Deploying, or Ready without autoApply), or there is none
//   (Failed).
// - Deploying: until the graph is successful (Deployed) or is deleted (Failed).
// - Deployed: until the graph is not successful (Deploying) or is deleted (Failed).
// - Ready and Failed are final.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/build.h"
#include "common/json/value.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/pod_failures.h"
#include "common/lifecycle/profiling_output.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

namespace request_phase {
inline constexpr std::string_view kPending = "Pending";
inline constexpr std::string_view kProfiling = "Profiling";
inline constexpr std::string_view kReady = "Ready";
inline constexpr std::string_view kDeploying = "Deploying";
inline constexpr std::string_view kDeployed = "Deployed";
inline constexpr std::string_view kFailed = "Failed";
}  // namespace request_phase

/// status.phase; "Pending" if there is none.
std::string_view requestPhase(const json::Value& request);

class RequestStatus {
 public:
  /// The arguments must outlive the object. Each object makes one outcome.
  RequestStatus(const json::Value& request, Time now, json::Allocator& allocator);

  // Pending
  Outcome invalid(const std::vector<std::string>& problems);
  /// `hardware`: what GPU discovery has found; empty if the request says what is needed.
  Outcome accepted(std::string_view hardware = {});
  /// GPU discovery cannot be done yet. It is retried.
  Outcome notDiscovered(Ending why);
  Outcome jobRefused(const std::string& problems);
  /// The Job cannot be created now, for example because of a quota or a Job of somebody else. It is tried
  /// again (decision life-Q34). `isHardwareKnown`: false if the hardware that was found is gone.
  Outcome jobWaits(const std::string& problems, bool isHardwareKnown = true);
  Outcome jobCreated(std::string_view job, std::string_view hardware = {});

  // Profiling
  /// `pods`: what keeps the pods of the Job from running.
  Outcome jobRuns(const PodFailures& pods);
  Outcome profilingFailed(const std::string& why);
  Outcome generationFailed(const std::string& why);
  /// The name of the graph belongs to another one (decision life-Q9).
  Outcome nameTaken(const std::string& why);
  /// The output cannot be stored now, for example because of a quota. It is tried again.
  Outcome outputWaits(const std::string& problems);
  /// `isAnnotated`: the annotations of the request hold the graph (annotationsPatch()).
  Outcome generated(const ProfilingOutput& output, bool isAnnotated = true);

  // Ready, Failed
  /// Nothing changes, except that an edited spec is reported (decision life-Q6).
  Outcome over();

  // Deploying, Deployed
  /// The spec says that nothing is to be deployed.
  Outcome notApplied();
  /// The graph is invalid.
  Outcome graphRefused(const std::string& problems);
  /// The graph, or what belongs to it, cannot be created now, for example because of a quota. It is tried
  /// again.
  Outcome graphWaits(const std::string& problems);
  /// `adopted`: it existed already, with the labels of this request.
  Outcome graphCreated(std::string_view name, bool adopted);
  /// `graph`: the generated graph as it is now.
  Outcome graphFollowed(const json::Value& graph);
  Outcome graphDeleted();

  /// The phase is none that this operator knows.
  Outcome unknownPhase();

 private:
  void set(std::string_view type, ConditionStatus status, std::string_view reason, std::string message);
  void setDeployment(ConditionStatus status, std::string_view reason, std::string message);
  void enter(std::string_view phase);
  /// The message of the condition Profiling, with what is known of the hardware.
  std::string profilingMessage(std::string message) const;
  void prevented();
  void fail(std::string_view reason, const std::string& message);
  void reportEdit();
  Outcome done();

  const json::Value& request_;
  Time now_;
  json::Maker make_;
  const json::Value* stored_;
  json::Value status_;
  std::string hardware_;
  Outcome outcome_;
};

}  // namespace dynamo::lifecycle
