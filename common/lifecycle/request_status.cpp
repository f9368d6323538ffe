#include "common/lifecycle/request_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/api/dgdr.h"
#include "common/json/build.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/request.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

namespace type {
constexpr std::string_view kSucceeded = "Succeeded";
constexpr std::string_view kValidation = "Validation";
constexpr std::string_view kProfiling = "Profiling";
constexpr std::string_view kSpecGenerated = "SpecGenerated";
constexpr std::string_view kDeploymentReady = "DeploymentReady";
}  // namespace type

/// Begins what the condition Profiling says of discovered hardware, and keeps to the end (decision life-Q27).
constexpr std::string_view kHardwareFound = "Hardware found: ";

/// The condition Succeeded of each phase, as the reference writes it.
struct PhaseText {
  std::string_view phase;
  ConditionStatus status;
  std::string_view reason;
  std::string_view message;
};
constexpr PhaseText kPhases[] = {
    {request_phase::kPending, ConditionStatus::False, "Pending", "DGDR is pending"},
    {request_phase::kProfiling, ConditionStatus::False, "Profiling", "Profiling is in progress"},
    {request_phase::kReady, ConditionStatus::True, "SpecGenerated", "Profiling complete, spec available"},
    {request_phase::kDeploying, ConditionStatus::False, "Deploying", "Deployment is in progress"},
    {request_phase::kDeployed, ConditionStatus::True, "Deployed", "Deployment is healthy"},
};

/// The sums of replicas and available replicas of all services of a graph.
Value deploymentInfo(const Value& graph, const json::Maker& make) {
  std::int64_t replicas = 0;
  std::int64_t available = 0;
  const Value* services = json::findObject(statusOf(graph), "services");
  for (rapidjson::SizeType i = 0; services != nullptr && i < services->MemberCount(); ++i) {
    const Value& service = services->MemberBegin()[i].value;
    replicas += countAt(&service, "replicas");
    available += countAt(&service, "availableReplicas");
  }
  return make.object("replicas", replicas, "availableReplicas", available);
}

}  // namespace

std::string_view requestPhase(const Value& request) {
  const std::string_view found = json::findText(statusOf(request), "phase");
  return found.empty() ? request_phase::kPending : found;
}

RequestStatus::RequestStatus(const Value& request, Time now, Allocator& allocator)
    : request_(request),
      now_(now),
      make_(allocator),
      stored_(statusOf(request)),
      status_(stored_ == nullptr ? make_.object() : make_.value(*stored_)) {}

Outcome RequestStatus::invalid(const std::vector<std::string>& problems) {
  const std::string text = fmt::format("{}", fmt::join(problems, "\n"));
  fail("ValidationFailed", text);
  set(type::kValidation, ConditionStatus::False, "ValidationFailed", text);
  return done();
}

Outcome RequestStatus::accepted(std::string_view hardware) {
  make_.set(status_, "observedGeneration", generationOf(request_));
  enter(request_phase::kPending);
  set(type::kProfiling, ConditionStatus::False, "DiscoveringHardware",
      hardware.empty() ? "Hardware is being discovered" : fmt::format("{}{}", kHardwareFound, hardware));
  removeCondition(status_, type::kValidation);
  outcome_.events.push_back(normal("Initialized", "DGDR initialized successfully"));
  outcome_.requeueAfter = std::chrono::milliseconds{0};
  return done();
}

Outcome RequestStatus::notDiscovered(Ending why) {
  if (isPermanent(why)) {
    enter(request_phase::kPending);
    set(type::kProfiling, ConditionStatus::False, "DiscoveringHardware",
        fmt::format("Hardware is being discovered: {}", messageOf(why)));
  }
  outcome_.failures.push_back(std::move(why));
  return done();
}

Outcome RequestStatus::jobRefused(const std::string& problems) {
  set(type::kProfiling, ConditionStatus::False, "JobCreationFailed", problems);
  fail("JobCreationFailed", problems);
  outcome_.events.back().reason = "ProfilingJobFailed";
  return done();
}

Outcome RequestStatus::jobWaits(const std::string& problems, bool isHardwareKnown) {
  const std::string message = isHardwareKnown ? profilingMessage(problems) : problems;
  if (json::findText(findCondition(stored_, type::kProfiling), "message") !=
      shortened(message, kMaxConditionMessage))
    outcome_.events.push_back(warning("ProfilingJobFailed", problems));
  set(type::kProfiling, ConditionStatus::False, "JobCreationFailed", message);
  prevented();
  return done();
}

Outcome RequestStatus::jobCreated(std::string_view job, std::string_view hardware) {
  if (!hardware.empty()) hardware_ = fmt::format("{}{}", kHardwareFound, hardware);
  make_.set(status_, "profilingJobName", job);
  make_.set(status_, "profilingPhase", "Initializing");
  enter(request_phase::kProfiling);
  outcome_.events.push_back(normal("ProfilingJobCreated", fmt::format("Profiling job {} created", job)));
  // The Job may have ended, and changed for the last time, while no controller followed it.
  outcome_.requeueAfter = std::chrono::milliseconds{0};
  return jobRuns({});
}

Outcome RequestStatus::jobRuns(const PodFailures& pods) {
  const std::string causes = textOf(pods);
  const std::string_view told = json::findText(findCondition(stored_, type::kProfiling), "message");
  std::string message = "Profiling is in progress";
  if (!causes.empty()) message += ": " + causes;
  reportNewCauses(pods.causes, told, message, outcome_);
  set(type::kProfiling, ConditionStatus::False, "ProfilingRunning", profilingMessage(std::move(message)));
  requeueWithin(outcome_.requeueAfter, pods.requeueAfter);
  return done();
}

Outcome RequestStatus::profilingFailed(const std::string& why) {
  const std::string message = "profiling job failed: " + why;
  json::remove(status_, "profilingPhase");
  set(type::kProfiling, ConditionStatus::False, "ProfilingFailed", profilingMessage(message));
  fail("ProfilingFailed", message);
  outcome_.events.back().reason = "ProfilingCheckFailed";
  return done();
}

Outcome RequestStatus::generationFailed(const std::string& why) {
  json::remove(status_, "profilingPhase");
  set(type::kSpecGenerated, ConditionStatus::False, "GenerationFailed", why);
  fail("GenerationFailed", why);
  return done();
}

Outcome RequestStatus::outputWaits(const std::string& problems) {
  if (isNewFailure(findCondition(stored_, type::kSpecGenerated), problems))
    outcome_.events.push_back(warning("GenerationFailed", problems));
  set(type::kSpecGenerated, ConditionStatus::False, "GenerationFailed", problems);
  prevented();
  return done();
}

Outcome RequestStatus::generated(const ProfilingOutput& output, bool isAnnotated) {
  const bool applied = json::findBool(specOf(request_), "autoApply").value_or(true);
  json::remove(status_, "profilingPhase");
  // A named graph without an annotation is one that exists.
  if (isAnnotated || !applied)
    make_.set(status_, "dgdName", applied ? graphNameOf(request_, output.graph) : nameOf(output.graph));
  Value results = make_.object("selectedConfig", make_.value(output.graph));
  if (!output.pareto.Empty()) make_.set(results, "pareto", make_.value(output.pareto));
  make_.set(status_, "profilingResults", std::move(results));
  enter(applied ? request_phase::kDeploying : request_phase::kReady);
  set(type::kProfiling, ConditionStatus::True, "ProfilingCompleted",
      profilingMessage("Profiling job completed successfully"));
  std::string message = "DynamoGraphDeployment spec generated successfully";
  if (!applied)
    message = fmt::format("Generated spec is available in {}",
                          isAnnotated ? fmt::format("annotation {}", kGeneratedGraph)
                                      : "status.profilingResults.selectedConfig");
  if (!output.unknownFields.empty())
    message += fmt::format("; unknown fields are left out: {}", fmt::join(output.unknownFields, ", "));
  outcome_.events.push_back(normal("SpecGenerated", message));
  set(type::kSpecGenerated, ConditionStatus::True, "SpecGenerated", std::move(message));
  outcome_.requeueAfter = std::chrono::milliseconds{0};
  return done();
}

Outcome RequestStatus::over() {
  return done();
}

Outcome RequestStatus::notApplied() {
  enter(request_phase::kReady);
  return done();
}

Outcome RequestStatus::graphWaits(const std::string& problems) {
  prevented();
  return graphRefused(problems);
}

Outcome RequestStatus::graphRefused(const std::string& problems) {
  if (isNewFailure(findCondition(stored_, type::kDeploymentReady), problems))
    outcome_.events.push_back(warning("DeploymentCreationFailed", problems));
  setDeployment(ConditionStatus::False, "DeploymentCreationFailed", problems);
  return done();
}

Outcome RequestStatus::graphCreated(std::string_view name, bool adopted) {
  make_.set(status_, "dgdName", name);
  outcome_.requeueAfter = std::chrono::milliseconds{0};
  if (adopted) {
    outcome_.events.push_back(warning(
        "DeploymentExists",
        fmt::format(
            "DynamoGraphDeployment {} existed before this spec was generated, and keeps its own spec: to "
            "deploy the generated one, delete the graph and this request, and create the request again",
            name)));
    return done();
  }
  const std::string message = fmt::format("DynamoGraphDeployment {} created", name);
  outcome_.events.push_back(normal("DeploymentCreated", message));
  setDeployment(ConditionStatus::False, "DeploymentCreated", message);
  return done();
}

Outcome RequestStatus::nameTaken(const std::string& why) {
  setDeployment(ConditionStatus::False, "DeploymentCreationFailed", why);
  fail("DeploymentCreationFailed", why);
  return done();
}

Outcome RequestStatus::graphFollowed(const Value& graph) {
  const std::string_view name = nameOf(graph);
  const std::string_view state = json::findText(statusOf(graph), "state");
  const bool was = requestPhase(request_) == request_phase::kDeployed;
  // A changed graph that was successful is judged by its next status.
  const bool is = state == "successful" && (was || isObserved(graph));
  make_.set(status_, "dgdName", name);
  make_.set(status_, "deploymentInfo", deploymentInfo(graph, make_));
  if (is && !was) {
    enter(request_phase::kDeployed);
    const std::string message = fmt::format("DynamoGraphDeployment {} is ready", name);
    outcome_.events.push_back(normal("DeploymentReady", message));
    setDeployment(ConditionStatus::True, "DeploymentReady", message);
  } else if (!is) {
    if (was) enter(request_phase::kDeploying);
    std::string message = fmt::format("DGD {} is in {} state", name, state.empty() ? "initializing" : state);
    const std::string_view why = json::findText(findCondition(statusOf(graph), "Ready"), "message");
    if (!why.empty()) message += fmt::format(": {}", why);
    if (was) {
      outcome_.events.push_back(warning("DeploymentDegraded", message));
      outcome_.requeueAfter = std::chrono::milliseconds{0};
    }
    setDeployment(ConditionStatus::False, was ? "DeploymentDegraded" : "DeploymentInProgress",
                  std::move(message));
  }
  return done();
}

Outcome RequestStatus::graphDeleted() {
  const std::string message = "Deployment was deleted by user. Create a new DGDR to redeploy.";
  json::remove(status_, "dgdName");
  json::remove(status_, "deploymentInfo");
  setDeployment(ConditionStatus::False, "DeploymentDeleted", message);
  fail("DeploymentDeleted", message);
  return done();
}

Outcome RequestStatus::unknownPhase() {
  fail("UnknownPhase", fmt::format("the phase {} is unknown", requestPhase(request_)));
  return done();
}

void RequestStatus::set(std::string_view type, ConditionStatus status, std::string_view reason,
                        std::string message) {
  setCondition(status_, {type, status, reason, std::move(message)}, generationOf(request_), now_,
               make_.allocator());
}

std::string RequestStatus::profilingMessage(std::string message) const {
  std::string_view found = hardware_;
  if (found.empty()) {
    found = json::findText(findCondition(stored_, type::kProfiling), "message");
    found.remove_prefix(std::min(found.find(kHardwareFound), found.size()));
  }
  if (found.empty()) return message;
  // What was found stays to the end, also behind a long message.
  const std::string after = fmt::format(". {}", found);
  const std::size_t room = kMaxConditionMessage - std::min(after.size(), kMaxConditionMessage);
  return shortened(message, room) + after;
}

void RequestStatus::prevented() {
  outcome_.prevented = true;
  outcome_.requeueAfter = kPreventedAgain;
}

/// As in the reference, this condition has no observedGeneration: it describes the graph, not the request.
void RequestStatus::setDeployment(ConditionStatus status, std::string_view reason, std::string message) {
  set(type::kDeploymentReady, status, reason, std::move(message));
  setObservedGeneration(status_, type::kDeploymentReady, kNoGeneration, make_.allocator());
}

void RequestStatus::enter(std::string_view phase) {
  make_.set(status_, "phase", phase);
  for (const PhaseText& each : kPhases) {
    if (each.phase == phase) set(type::kSucceeded, each.status, each.reason, std::string{each.message});
  }
}

/// The cause is in the condition Succeeded, too (decision life-Q22). The Event has the same reason.
void RequestStatus::fail(std::string_view reason, const std::string& message) {
  make_.set(status_, "phase", request_phase::kFailed);
  set(type::kSucceeded, ConditionStatus::False, reason, message);
  outcome_.events.push_back(warning(reason, message));
}

/// The webhook refuses such an edit. It is possible where the webhook was not asked. The Event is written
/// once for each generation: the condition Succeeded keeps which one was reported.
void RequestStatus::reportEdit() {
  const std::string_view phase = requestPhase(request_);
  const Value* reported = findCondition(stored_, type::kSucceeded);
  if (!api::contains(api::dgdr::kLockedPhases, phase) || reported == nullptr || isObserved(request_)) return;
  if (numberAt(reported, "observedGeneration", 0) == generationOf(request_)) return;
  outcome_.events.push_back(warning(
      "SpecChangeRejected", fmt::format("the spec cannot be changed in phase {}: the request goes on "
                                        "with the spec of generation {}; delete it and create it again",
                                        phase, numberAt(stored_, "observedGeneration", 0))));
  setObservedGeneration(status_, type::kSucceeded, generationOf(request_), make_.allocator());
}

Outcome RequestStatus::done() {
  reportEdit();
  setStatus(outcome_, request_, std::move(status_));
  return std::move(outcome_);
}

}  // namespace dynamo::lifecycle
