#include "common/lifecycle/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <variant>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/deletion.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/job_pods.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/request_status.h"
#include "controller/reconcile/child_requests.h"
#include "controller/reconcile/finish.h"
#include "controller/reconcile/job_pods.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/observed.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/reconcilers.h"
#include "controller/reconcile/removal.h"
#include "controller/reconcile/request_hardware.h"
#include "controller/reconcile/result.h"

namespace dynamo::controller {
namespace {

using json::Document;
using json::Value;
using lifecycle::Done;
using lifecycle::Ending;
using lifecycle::Outcome;
using lifecycle::RequestStatus;
using lifecycle::RequestStep;
using runtime::Task;

/// How often the pods of a Job that does not get going are read.
constexpr std::chrono::seconds kPodsAgain{15};
/// How often an object is read that should exist, but may be late.
constexpr std::chrono::seconds kLateAgain{3};
/// How long the output of a complete Job may be late (decision life-Q5).
constexpr std::chrono::seconds kOutputMayBeLate{60};

class RequestReconcile {
 public:
  RequestReconcile(Environment& environment, const Document& request, Writer writer)
      : environment_(environment), request_(request), writer_(std::move(writer)) {}

  Task<ReconcileResult> run() {
    switch (lifecycle::requestStep(request_)) {
      case RequestStep::Nothing: {
        Outcome result = status().over();
        co_return co_await finish(std::move(result));
      }
      case RequestStep::Validate:
        co_return co_await validate();
      case RequestStep::CreateJob:
        co_return co_await createJob();
      case RequestStep::FollowJob:
        co_return co_await followJob();
      case RequestStep::CreateGraph:
        co_return co_await createGraph();
      case RequestStep::FollowGraph:
        co_return co_await followGraph();
      case RequestStep::KeepGraph: {
        Outcome result = status().notApplied();
        co_return co_await finish(std::move(result));
      }
      case RequestStep::Fail:
        break;
    }
    {
      Outcome result = status().unknownPhase();
      co_return co_await finish(std::move(result));
    }
  }

 private:
  json::Allocator& allocator() { return memory_.GetAllocator(); }
  RequestStatus status() { return {request_, environment_.now(), allocator()}; }
  std::string space() const { return std::string{lifecycle::namespaceOf(request_)}; }
  std::string nameWith(std::string_view prefix) const {
    return fmt::format("{}{}", prefix, lifecycle::nameOf(request_));
  }

  Task<ReconcileResult> finish(Outcome outcome) {
    Ending ended = co_await carryOut(environment_, request_, outcome, writer_);
    reportPersistent(environment_, k8s::keyOf(request_), {&ended, 1});
    co_return resultOf(outcome, std::move(ended), std::move(lookedUp_));
  }

  static ReconcileResult again(std::chrono::seconds time) { return {.requeueAfter = time}; }

  render::Children profiling() {
    render::Context context = environment_.context(lookedUp_);
    context.online = true;
    context.hardware = hardware_.hardware;
    return render::renderProfiling(request_, context);
  }

  Task<ReconcileResult> notDiscovered(Ending why) {
    reportPersistent(environment_, k8s::keyOf(request_), {&why, 1});
    Outcome result = status().notDiscovered(std::move(why));
    co_return co_await finish(std::move(result));
  }

  Task<ReconcileResult> validate() {
    // An earlier spec may have a Job already. Templates of Jobs cannot be changed.
    if (const std::optional<kube::Cached> earlier = ownJob();
        earlier && !lifecycle::isObserved(request_) &&
        lifecycle::numberAt(lifecycle::statusOf(request_), "observedGeneration", 0) > 0) {
      kube::Preconditions same;
      same.uid = lifecycle::uidOf(earlier->object);
      const kube::Resource& jobs = resourceOf("batch", "Job");
      Ending removed = co_await removeObject(environment_, jobs, jobKey(), same, writer_.name);
      if (!isDone(removed)) co_return ReconcileResult{.ending = std::move(removed)};
    }
    Ending discovered = co_await discoverHardware(environment_, request_, hardware_);
    if (!isDone(discovered)) co_return co_await notDiscovered(std::move(discovered));
    const Value* cache = json::findObject(lifecycle::specOf(request_), "modelCache");
    const std::string_view claim = json::findText(cache, "pvcName");
    const k8s::ObjectKey key = keyIn(resourceOf("", "PersistentVolumeClaim"), space(), claim);
    bool hasClaim = environment_.cache.contains(key);
    if (!claim.empty() && !hasClaim) {
      // The cache may lack a claim that was created a moment ago, and the failure would be final.
      auto found = co_await read(key);
      if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
      hasClaim = !std::get<Document>(found).IsNull();
    }
    const std::vector<std::string> problems =
        lifecycle::requestProblems(request_, profiling(), hasClaim, hardware_.problem);
    {
      Outcome result = problems.empty() ? status().accepted(hardware_.found) : status().invalid(problems);
      co_return co_await finish(std::move(result));
    }
  }

  k8s::ObjectKey jobKey() const {
    return keyIn(resourceOf("batch", "Job"), space(), nameWith(api::dgdr::kProfilingJobPrefix));
  }
  k8s::ObjectKey outputKey() const {
    return keyIn(resourceOf("", "ConfigMap"), space(), nameWith(api::dgdr::kOutputConfigMapPrefix));
  }

  /// The Job of this request in the cache.
  std::optional<kube::Cached> ownJob() const {
    std::optional<kube::Cached> job = environment_.cache.find(jobKey());
    if (!job || !lifecycle::isControlledBy(job->object, request_)) return std::nullopt;
    return job;
  }

  /// An object as the API server has it; null if it does not exist, or if it has no name.
  Task<std::variant<Document, Ending>> read(k8s::ObjectKey key) {
    if (key.name.empty()) co_return Document{};
    const kube::Resource& resource = resourceOf(key.group, key.kind);
    auto got = co_await environment_.client.get(resource, key.namespaceName, key.name);
    if (auto* error = std::get_if<kube::ApiError>(&got)) {
      if (error->reason == kube::Reason::NotFound) co_return Document{};
      co_return failureOf(key, *error);
    }
    co_return std::move(std::get<Document>(got));
  }

  /// The ClusterRole of the account of the Job; empty if the controller does not bind one.
  std::string profilingRole() const {
    return environment_.config.restricted() ? std::string{}
                                            : environment_.config.rbac.dgdrProfilingClusterRoleName;
  }

  /// Whether the ClusterRole exists. The API server lets the controller bind one that does not, and the
  /// output copier then waits for its rights. Without the right to read it, it is taken to exist.
  Task<std::variant<bool, Ending>> hasProfilingRole() {
    static const kube::Resource kRoles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole",
                                       false};
    const std::string name = profilingRole();
    if (name.empty()) co_return true;
    const std::string space;  // it is cluster-scoped
    auto got = co_await environment_.client.get(kRoles, space, name);
    const auto* error = std::get_if<kube::ApiError>(&got);
    if (error == nullptr) co_return true;
    if (error->reason == kube::Reason::NotFound) co_return false;
    if (error->reason == kube::Reason::Forbidden) co_return true;
    co_return failureOf({kRoles.group, kRoles.version, kRoles.kind, "", name}, *error);
  }

  /// The output of an earlier request of this name would be taken for that of this one.
  Task<Ending> removeEarlierOutput() {
    auto found = co_await read(outputKey());
    if (auto* failed = std::get_if<Ending>(&found)) co_return std::move(*failed);
    const Document& output = std::get<Document>(found);
    const std::string_view of = lifecycle::labelOf(output, api::dgdr::kTrackingLabels[0]);
    if (output.IsNull() || of != lifecycle::nameOf(request_)) co_return Done{};
    kube::Preconditions same;
    same.uid = lifecycle::uidOf(output);
    co_return co_await removeObject(environment_, resourceOf("", "ConfigMap"), outputKey(), same,
                                    writer_.name);
  }

  Task<ReconcileResult> createJob() {
    // The status may be written after the controller has ended and started again.
    if (const auto job = ownJob(); job && !lifecycle::isBeingDeleted(job->object)) {
      Outcome result = status().jobCreated(lifecycle::nameOf(job->object));
      co_return co_await finish(std::move(result));
    }
    Observed observed;
    for (kube::Cached& owned : environment_.cache.ownedBy(space(), lifecycle::uidOf(request_)))
      observed.put(std::move(owned));
    Ending discovered = co_await discoverHardware(environment_, request_, hardware_);
    if (!isDone(discovered)) co_return co_await notDiscovered(std::move(discovered));
    if (!hardware_.problem.empty()) {  // what was found earlier is gone
      Outcome result = status().invalid({hardware_.problem});
      co_return co_await finish(std::move(result));
    }
    if (observed.find(jobKey()) == nullptr) {
      auto role = co_await hasProfilingRole();
      if (auto* failed = std::get_if<Ending>(&role)) co_return ReconcileResult{.ending = std::move(*failed)};
      if (!std::get<bool>(role)) {
        const std::string why = fmt::format(
            "ClusterRole {} does not exist: without it the output of the profiler cannot be stored",
            profilingRole());
        Outcome result = status().jobWaits(why);
        co_return co_await finish(std::move(result));
      }
      Ending removed = co_await removeEarlierOutput();
      if (!isDone(removed)) co_return ReconcileResult{.ending = std::move(removed)};
    }
    const render::Children children = profiling();
    const Finish decide = [&](const lifecycle::Applied& applied) { return jobWritten(children, applied); };
    co_return co_await applyAndFinish(environment_, request_, children, observed, decide, writer_, lookedUp_);
  }

  /// Whether a Job is about to go because it belongs to an earlier request of the same name (decision
  /// life-Q8).
  bool isEarlier(std::span<const Value* const> objects) const {
    return std::any_of(objects.begin(), objects.end(), [this](const Value* object) {
      const Value* owner = k8s::controllerOf(*object);
      return k8s::keyOf(*object) == jobKey() &&
             (lifecycle::isBeingDeleted(*object) ||
              (json::findText(owner, "kind") == api::kDynamoGraphDeploymentRequest &&
               json::findText(owner, "name") == lifecycle::nameOf(request_)));
    });
  }

  Outcome jobWritten(const render::Children& children, const lifecycle::Applied& applied) {
    std::vector<Ending> failures = lifecycle::allFailures(children, applied.failures);
    const std::string problems = lifecycle::permanentFailures(failures);
    if (!problems.empty()) {
      const bool final = !children.errors.empty() || lifecycle::isInvalid(failures);
      return final ? status().jobRefused(problems) : status().jobWaits(problems);
    }
    const Value* job = lifecycle::findControlled(applied.objects, "Job", request_);
    if (job != nullptr && !lifecycle::isBeingDeleted(*job))
      return status().jobCreated(lifecycle::nameOf(*job), hardware_.found);
    // A Job is only created, so one that exists is no error of the write.
    if (job == nullptr && failures.empty() && !isEarlier(applied.objects))
      return status().jobWaits(
          fmt::format("{} exists and does not belong to this request", k8s::toText(jobKey())));
    Outcome outcome;
    outcome.failures = std::move(failures);
    outcome.requeueAfter = kLateAgain;
    return outcome;
  }

  Task<ReconcileResult> followJob() {
    Document job;
    if (const auto cached = ownJob()) {
      job.CopyFrom(cached->object, job.GetAllocator());
    } else {
      auto found = co_await read(jobKey());
      if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
      job = std::move(std::get<Document>(found));
    }
    if (job.IsNull() || !lifecycle::isControlledBy(job, request_)) {
      if (lifecycle::mayBeLate(request_, environment_.now())) co_return again(kLateAgain);
      const std::string why = fmt::format("{} does not exist any more", k8s::toText(jobKey()));
      {
        Outcome result = status().profilingFailed(why);
        co_return co_await finish(std::move(result));
      }
    }
    switch (lifecycle::jobState(job)) {
      case lifecycle::JobState::Running:
        co_return co_await jobRuns(job);
      case lifecycle::JobState::Failed:
        co_return co_await jobFailed(job);
      case lifecycle::JobState::Complete:
        break;
    }
    co_return co_await readOutput(job);
  }

  Task<ReconcileResult> jobRuns(const Document& job) {
    lifecycle::PodFailures failures;
    const bool ready = lifecycle::countAt(lifecycle::statusOf(job), "ready") > 0;
    if (!ready) {
      auto found = co_await listPodsOf(environment_, job);
      if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
      const std::vector<const Value*> pods = itemsOf(std::get<Document>(found), "Pod");
      std::string missing;
      if (lifecycle::awaitsCopier(pods)) {
        const auto role = co_await hasProfilingRole();
        if (const auto* has = std::get_if<bool>(&role); has != nullptr && !*has) missing = profilingRole();
      }
      failures = lifecycle::profilingPodFailures(pods, missing, environment_.now());
      auto events = co_await readFailedCreates(environment_, job, pods);
      if (auto* failed = std::get_if<Ending>(&events))
        co_return ReconcileResult{.ending = std::move(*failed)};
      lifecycle::addMissingPods(failures, job, pods, itemsOf(std::get<Document>(events), "Event"),
                                environment_.now());
      lifecycle::requeueWithin(failures.requeueAfter, kPodsAgain);
    }
    Outcome outcome = status().jobRuns(failures);
    if (lifecycle::mayRepeat(request_, job)) {
      auto found = co_await read(outputKey());
      if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
      if (!lifecycle::toldError(std::get<Document>(found)).empty())
        outcome.writes.push_back(lifecycle::patchOf(job, lifecycle::withoutRetries(allocator())));
    }
    co_return co_await finish(std::move(outcome));
  }

  Task<ReconcileResult> jobFailed(const Document& job) {
    auto found = co_await listPodsOf(environment_, job);
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    const std::vector<const Value*> pods = itemsOf(std::get<Document>(found), "Pod");
    auto output = co_await read(outputKey());
    if (auto* failed = std::get_if<Ending>(&output)) co_return ReconcileResult{.ending = std::move(*failed)};
    const std::string_view told = lifecycle::toldError(std::get<Document>(output));
    const std::string how = lifecycle::jobFailure(job, api::dgdr::kProfiler, pods);
    {
      Outcome result = status().profilingFailed(told.empty() ? how : fmt::format("{}: {}", told, how));
      co_return co_await finish(std::move(result));
    }
  }

  Task<ReconcileResult> readOutput(const Document& job) {
    auto found = co_await read(outputKey());
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    const Document& configMap = std::get<Document>(found);
    if (configMap.IsNull()) {
      const auto ended = lifecycle::parseTime(json::findText(lifecycle::statusOf(job), "completionTime"));
      if (ended && environment_.now() < *ended + kOutputMayBeLate) co_return again(kLateAgain);
      {
        Outcome result =
            status().generationFailed(fmt::format("output {} not found", k8s::toText(outputKey())));
        co_return co_await finish(std::move(result));
      }
    }
    const auto output = lifecycle::readProfilingOutput(configMap, allocator());
    if (const auto* problem = std::get_if<lifecycle::ProfilingProblem>(&output)) {
      {
        Outcome result = problem->ofProfiler ? status().profilingFailed(problem->message)
                                             : status().generationFailed(problem->message);
        co_return co_await finish(std::move(result));
      }
    }
    const auto& result = std::get<lifecycle::ProfilingOutput>(output);
    Ending applied = co_await applyConfigMaps(result.additional, nullptr);
    if (!isDone(applied) && !isPermanent(applied)) co_return ReconcileResult{.ending = std::move(applied)};
    Outcome outcome = status().generated(result);
    Value annotations = lifecycle::annotationsPatch(result, allocator());
    if (lifecycle::hasAnnotations(request_, annotations)) {
      // An earlier reconcile has written and told this, but not the status.
      std::erase_if(outcome.events, [](const auto& event) { return event.reason == "SpecGenerated"; });
    } else {
      outcome.writes.push_back(lifecycle::patchOf(request_, std::move(annotations)));
    }
    if (isPermanent(applied))
      outcome.events.push_back(lifecycle::warning("ConfigMapCreationFailed", messageOf(applied)));
    co_return co_await finish(std::move(outcome));
  }

  /// Applies the ConfigMaps among the documents. One of somebody else stays as it is, which is a permanent
  /// failure after all others are applied (decision life-Q19).
  Task<Ending> applyConfigMaps(const std::vector<Value>& documents, const Value* graph) {
    const kube::Resource& resource = resourceOf("", "ConfigMap");
    Ending ending = Done{};
    for (const Value& wanted : lifecycle::additionalConfigMaps(request_, documents, graph, allocator())) {
      const k8s::ObjectKey key = k8s::keyOf(wanted);
      if (key.name.empty()) {
        ending = lifecycle::Permanent{"an additional ConfigMap has no name: it is left out"};
        continue;
      }
      auto found = co_await read(key);
      if (auto* failed = std::get_if<Ending>(&found)) co_return std::move(*failed);
      const Document& live = std::get<Document>(found);
      if (!live.IsNull() && !lifecycle::isOfRequest(live, request_)) {
        ending = lifecycle::Permanent{fmt::format(
            "{} exists and does not belong to this request: it stays as it is", k8s::toText(key))};
        continue;
      }
      auto answer = co_await applyChild(environment_.client, resource, key, wanted, true,
                                        live.IsNull() ? nullptr : &live);
      if (auto* error = std::get_if<kube::ApiError>(&answer)) co_return failureOf(key, *error);
    }
    co_return ending;
  }

  Value forgetGraph() {
    const json::Maker make{allocator()};
    Value annotations = make.object();
    make.set(annotations, lifecycle::kGeneratedGraph, Value{});
    return make.object("metadata", make.object("annotations", std::move(annotations)));
  }

  Task<ReconcileResult> createGraph() {
    auto made = lifecycle::generatedGraph(request_, allocator());
    if (const auto* problem = std::get_if<std::string>(&made)) {
      Outcome result = status().generationFailed(*problem);
      co_return co_await finish(std::move(result));
    }
    const Value& graph = std::get<Value>(made);
    const k8s::ObjectKey key = k8s::keyOf(graph);
    auto found = co_await read(key);
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    Document live = std::move(std::get<Document>(found));
    const bool exists = !live.IsNull();
    // The controller may have ended, or not learned of it, after it created the graph.
    const bool adopted = exists && lifecycle::isEarlierGraph(live, request_);
    if (exists && !lifecycle::isOfRequest(live, request_)) {
      {
        Outcome result = status().nameTaken(
            fmt::format("{} exists and does not belong to this request", k8s::toText(key)));
        co_return co_await finish(std::move(result));
      }
    }
    if (!exists) {
      auto answer = co_await environment_.client.create(resourceOf(key.group, key.kind), key.namespaceName,
                                                        json::dump(graph));
      if (auto* error = std::get_if<kube::ApiError>(&answer)) {
        Ending ended = failureOf(key, *error);
        if (!isPermanent(ended)) co_return ReconcileResult{.ending = std::move(ended)};
        Outcome outcome = status().graphRefused(messageOf(ended));
        outcome.failures.push_back(std::move(ended));
        co_return co_await finish(std::move(outcome));
      }
      live = std::move(std::get<Document>(answer));
    }
    const std::vector<Value> documents = lifecycle::additionalDocuments(request_, allocator());
    Ending applied = co_await applyConfigMaps(documents, &live);
    if (!isDone(applied) && !isPermanent(applied)) co_return ReconcileResult{.ending = std::move(applied)};
    Outcome outcome = status().graphCreated(key.name, adopted);
    outcome.writes.push_back(lifecycle::patchOf(request_, forgetGraph()));
    co_return co_await finish(std::move(outcome));
  }

  Task<ReconcileResult> followGraph() {
    const std::string_view name = json::findText(lifecycle::statusOf(request_), "dgdName");
    const k8s::ObjectKey key = keyIn(resourceOf(api::kGroup, api::kDynamoGraphDeployment), space(), name);
    if (const auto cached = environment_.cache.find(key)) {
      Outcome result = status().graphFollowed(cached->object);
      co_return co_await finish(std::move(result));
    }
    auto found = co_await read(key);
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    const Document& graph = std::get<Document>(found);
    {
      Outcome result = graph.IsNull() ? status().graphDeleted() : status().graphFollowed(graph);
      co_return co_await finish(std::move(result));
    }
  }

  Environment& environment_;
  const Document& request_;
  Writer writer_;
  Document memory_;
  render::FactKeys lookedUp_;
  gpu::RequestHardware hardware_;
};

}  // namespace

Task<ReconcileResult> reconcileRequest(Environment& environment, k8s::ObjectKey key) {
  Writer writer = writerOf(key);
  std::optional<kube::Cached> cached = environment.cache.find(key);
  if (!cached) co_return ReconcileResult{};
  const Document request = std::move(cached->object);
  Document memory;
  if (const auto deletion = lifecycle::deletionOutcome(request, memory.GetAllocator())) {
    Ending ended = co_await carryOut(environment, request, *deletion, writer);
    co_return resultOf(*deletion, std::move(ended), {});
  }
  RequestReconcile reconcile{environment, request, std::move(writer)};
  co_return co_await reconcile.run();
}

}  // namespace dynamo::controller
