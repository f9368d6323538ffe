// Quirks ctl-Q2, ctl-Q3, ctl-Q4, ctl-Q17, ctl-Q18, ctl-Q34, ctl-Q35, ctl-Q65.
#include "common/lifecycle/graph_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/clique_scale.h"
#include "common/lifecycle/component_status.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/grove_limits.h"
#include "common/lifecycle/notices.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/pod_failures.h"
#include "common/lifecycle/service_status.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kSet = "PodCliqueSet";

/// A reason why pods of a service do not run.
struct Cause {
  std::string_view service;  ///< kSet: all services
  std::string reason;
  std::string summary;
  std::string text;
};

class GraphStatus {
 public:
  GraphStatus(const GraphView& view, const GraphPlan& plan, Time now, Allocator& allocator)
      : view_(view),
        plan_(plan),
        now_(now),
        allocator_(allocator),
        stored_(statusOf(view.graph)),
        services_(serviceStates(view)) {
    if (view.grove) planScales();
    if (!plan.rollingUpdate.inProgress) return;
    const std::vector<const Value*> components = ownComponents(view);
    for (const ServiceState& service : services_) {
      for (const Value* old : oldGenerations(components, service.name, view.workerHash)) {
        if (isComponentRefused(*old)) refused_.emplace_back(service.name, old);
      }
    }
  }

  Outcome failed(std::span<const Ending> failures) {
    const std::string problems = permanentFailures(failures);
    if (problems.empty()) return std::move(outcome_);
    copyStored();
    collectNotes();
    // Notes follow the problems in the message.
    const Value* ready = findCondition(stored_, condition::kReady);
    const bool told = isFalse(ready) && json::findText(ready, "message").starts_with(problems);
    if (!told && isNewFailure(ready, problems)) {
      outcome_.events.push_back(warning(reason::kReconcileError, problems));
    }
    finish(state::kFailed, ConditionStatus::False, reason::kNotReconciled, problems);
    return std::move(outcome_);
  }

  /// `waits`: what children wait for, or empty.
  Outcome reconciled(std::string_view waits) {
    copyStored();
    const json::Maker make{allocator_};
    make.set(status_, "observedGeneration", generationOf(view_.graph));
    setOrRemove("services", servicesStatus(view_, services_, plan_.rollingUpdate.inProgress, allocator_));
    setOrRemove("restart", restartStatus(plan_.restart, allocator_));
    setOrRemove("rollingUpdate", json::copy(plan_.rollingUpdate.status, allocator_));
    setOrRemove("checkpoints", checkpointsStatus(view_, services_, allocator_));
    scaleGrove();
    collectCauses();
    collectNotes();
    decideReady(waits);
    return std::move(outcome_);
  }

 private:
  void planScales() {
    for (const ServiceState& service : services_) {
      scales_.push_back(planScale(view_, service, allocator_));
      const auto& notice = scales_.back().notice;
      if (!notice) continue;
      std::vector<Note> told = notesOf({&*notice, 1});
      std::move(told.begin(), told.end(), std::back_inserter(scaleNotes_));
    }
  }

  void copyStored() {
    status_ = stored_ == nullptr ? Value{rapidjson::kObjectType} : json::copy(*stored_, allocator_);
  }

  void setOrRemove(std::string_view key, Value&& value) {
    if (value.IsNull()) {
      json::remove(status_, key);
    } else {
      json::set(status_, key, std::move(value), allocator_);
    }
  }

  void finish(std::string_view state, ConditionStatus ready, std::string_view reason, std::string message) {
    json::set(status_, "state", json::string(state, allocator_), allocator_);
    const std::string_view stored = json::findText(findCondition(stored_, condition::kReady), "message");
    if (!notes_.empty()) message.append("; ").append(textOf(notes_));
    reportNew(notes_, stored, message, outcome_);
    for (const Cause& cause : causes_) {
      if (!isNewCause(cause.summary, stored, message)) continue;
      outcome_.events.push_back(warning(cause.reason, fmt::format("{}: {}", cause.service, cause.text)));
    }
    setCondition(status_, {condition::kReady, ready, reason, message}, generationOf(view_.graph), now_,
                 allocator_);
    setStatus(outcome_, view_.graph, std::move(status_));
  }

  /// Grove changes the replicas of existing cliques through their scale subresource only (quirk child-Q38).
  void scaleGrove() {
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      render::WritePlan& plan = scales_[i];
      if (plan.again)
        requeueWithin(outcome_.requeueAfter, std::chrono::ceil<std::chrono::milliseconds>(*plan.again));
      if (plan.action != render::WriteAction::Apply) continue;
      outcome_.writes.push_back({Write::Verb::Scale, referenceTo(*services_[i].child), Value{},
                                 static_cast<long long>(*services_[i].desired), std::move(plan)});
    }
  }

  void collectCauses() {
    for (const ServiceState& service : services_) {
      if (service.readiness.ready) continue;
      if (!view_.grove) {
        if (service.child != nullptr) addCausesOf(service.name, *service.child);
        continue;
      }
      std::vector<const Value*> pods;
      std::copy_if(view_.pods.begin(), view_.pods.end(), std::back_inserter(pods), [&](const Value* pod) {
        return labelOf(*pod, api::label::kGraph) == nameOf(view_.graph) &&
               labelOf(*pod, api::label::kComponent) == service.name;
      });
      PodFailures found = podFailures(pods, now_);
      requeueWithin(outcome_.requeueAfter, found.requeueAfter);
      if (auto failure = groveFailure(service.child)) found.causes.push_back(std::move(*failure));
      for (const PodFailure& failure : found.causes)
        causes_.push_back({service.name, failure.reason, failure.summary, failure.text()});
      if (found.causes.empty() && !found.delays.empty())
        delays_.emplace_back(service.name, textOf(found.delays));
    }
    for (const auto& [service, component] : refused_) addCausesOf(service, *component);
    if (!view_.grove) return;
    const bool allReady = podCliqueSetReadiness(view_.podCliqueSet).ready &&
                          std::all_of(services_.begin(), services_.end(),
                                      [](const ServiceState& service) { return service.readiness.ready; });
    if (allReady) return;
    if (auto failure = groveFailure(view_.podCliqueSet)) {
      causes_.push_back({kSet, failure->reason, failure->summary, failure->text()});
    }
  }

  /// What others do to the children of the graph, and to those of its components.
  void collectNotes() {
    notes_ = notesOf(view_.notices);
    notes_.insert(notes_.end(), scaleNotes_.begin(), scaleNotes_.end());
    if (view_.grove) return;
    for (const ServiceState& service : services_) {
      if (service.child == nullptr) continue;
      std::vector<Note> found = notesIn(statusOf(*service.child));
      std::move(found.begin(), found.end(), std::back_inserter(notes_));
    }
  }

  /// Causes from the conditions of the component.
  void addCausesOf(std::string_view service, const Value& component) {
    const Value* status = statusOf(component);
    const Value* failure = findCondition(status, condition::kPodFailure);
    if (isTrue(failure)) {
      const std::string_view text = json::findText(failure, "message");
      // What follows the summary may change while the cause lasts: exit codes, names of pods.
      causes_.push_back({service, std::string{json::findText(failure, "reason")},
                         std::string{text.substr(0, text.find(": "))}, std::string{text}});
    }
    const Value* available = findCondition(status, condition::kAvailable);
    if (isFalse(available) && json::findText(available, "reason") == reason::kReconciling) {
      const std::string text{json::findText(available, "message")};
      causes_.push_back({service, std::string{reason::kReconcileError}, text, text});
    }
  }

  std::string notReady() const {
    std::string text;
    const auto add = [&](std::string_view name, std::string_view why) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name, why);
    };
    if (view_.grove) {
      const std::string why = withCauses(podCliqueSetReadiness(view_.podCliqueSet).message, kSet);
      if (!why.empty()) add(kSet, why);
    }
    for (const ServiceState& service : services_) {
      if (service.readiness.ready) continue;
      // On the component pathway, the message of the readiness already names the causes.
      const std::string& why = service.readiness.message;
      add(service.childName, view_.grove ? withCauses(why, service.name) : why);
    }
    for (const auto& [service, component] : refused_)
      add(nameOf(*component), componentDeploymentReadiness(component).message);
    return text;
  }

  std::string withCauses(std::string text, std::string_view service) const {
    for (const Cause& cause : causes_) {
      if (cause.service == service) text.append(text.empty() ? "" : "; ").append(cause.text);
    }
    for (const auto& [delayed, why] : delays_) {
      if (delayed == service) text.append(text.empty() ? "" : "; ").append(why);
    }
    return text;
  }

  /// The reason of Ready tells a lack of capacity, a restart, and the update of a child by its own controller
  /// from pods that do not become ready (quirk ctl-Q49).
  std::string_view whyNotReady() const {
    if (!causes_.empty()) {
      const bool capacity = std::all_of(causes_.begin(), causes_.end(),
                                        [](const Cause& cause) { return isLackOfCapacity(cause.reason); });
      return capacity ? reason::kNoCapacity : reason::kSomeNotReady;
    }
    bool replaced = false;
    for (const ServiceState& service : services_) {
      if (service.readiness.ready) continue;
      if (!restarts(service) && !hasOldPods(service)) return reason::kSomeNotReady;
      replaced = true;
    }
    if (!replaced) return reason::kSomeNotReady;
    return plan_.restart.restarting() ? reason::kRestarting : reason::kRolling;
  }

  bool restarts(const ServiceState& service) const {
    const std::vector<std::string>& names = plan_.restart.inProgress;
    return plan_.restart.restarting() && std::find(names.begin(), names.end(), service.name) != names.end();
  }

  /// Whether pods of an older spec exist.
  bool hasOldPods(const ServiceState& service) const {
    if (service.child == nullptr) return false;
    const Value* status = statusOf(*service.child);
    const Value* counts = view_.grove ? status : json::findObject(status, "service");
    return countAt(counts, "updatedReplicas") < countAt(counts, "replicas");
  }

  void decideReady(std::string_view waits) {
    std::string missing = notReady();
    if (missing.empty()) missing = waits;
    std::string limits = groveLimits(view_);
    if (!limits.empty()) limits.insert(0, "; ");
    if (plan_.rollingUpdate.inProgress) {
      std::string text = "Rolling update in progress";
      if (!missing.empty()) text += ": " + missing;
      return finish(state::kPending, ConditionStatus::False, reason::kRolling, text);
    }
    if (!missing.empty()) {
      return finish(state::kPending, ConditionStatus::False, whyNotReady(),
                    "Resources not ready: " + missing + limits);
    }
    if (plan_.restart.restarting()) {
      return finish(state::kPending, ConditionStatus::False, reason::kRestarting,
                    fmt::format("Restart {} in progress", plan_.restart.observedId));
    }
    finish(state::kSuccessful, ConditionStatus::True, reason::kAllReady, "All resources are ready" + limits);
  }

  const GraphView& view_;
  const GraphPlan& plan_;
  Time now_;
  Allocator& allocator_;
  const Value* stored_;
  std::vector<ServiceState> services_;
  /// Services and their earlier generations that are refused a child, while workers roll.
  std::vector<std::pair<std::string_view, const Value*>> refused_;
  std::vector<Cause> causes_;
  std::vector<std::pair<std::string_view, std::string>> delays_;  ///< of services without causes; on Grove
  std::vector<Note> notes_;
  std::vector<render::WritePlan> scales_;  ///< of `services_`; on Grove
  std::vector<Note> scaleNotes_;
  Value status_;
  Outcome outcome_;
};

/// A new component writes its first status within this time, unless its reconcile fails.
constexpr std::chrono::seconds kFirstStatus{5};

/// The first status of a graph waits for those of its components, which trigger the next reconcile. Otherwise
/// each of them would cause another status of the graph that only repeats that nothing is ready yet.
void deferFirstStatus(const GraphView& view, Time now, Outcome& outcome) {
  const Value* stored = statusOf(view.graph);
  if (view.grove || !outcome.status || json::find(*outcome.status, "restart") != nullptr ||
      (stored != nullptr && !stored->ObjectEmpty()))
    return;
  const bool waits = std::any_of(view.components.begin(), view.components.end(), [&](const Value* component) {
    const auto created = parseTime(json::findText(metadataOf(*component), "creationTimestamp"));
    return statusOf(*component) == nullptr && created && now < *created + kFirstStatus;
  });
  if (!waits) return;
  outcome.status.reset();
  outcome.events.clear();
  requeueWithin(outcome.requeueAfter, kFirstStatus);
}

void addWrites(const GraphPlan& plan, Allocator& allocator, Outcome& outcome) {
  for (const Write& write : plan.rollingUpdate.writes) {
    outcome.writes.push_back({write.verb, write.target, json::copy(write.patch, allocator), write.replicas});
  }
}

}  // namespace

Outcome graphOutcome(const GraphView& view, const GraphPlan& plan, std::span<const Ending> failures, Time now,
                     Allocator& allocator) {
  if (isBeingDeleted(view.graph)) return {};
  GraphStatus status{view, plan, now, allocator};
  if (!onlyWaits(failures)) {
    Outcome outcome = status.failed(failures);
    // While there are no components, the only write is the annotation that names their generation.
    if (!view.grove && view.components.empty()) addWrites(plan, allocator, outcome);
    return outcome;
  }
  Outcome outcome = status.reconciled(waitsOf(failures));
  deferFirstStatus(view, now, outcome);
  addWrites(plan, allocator, outcome);
  for (const std::vector<Event>* events : {&plan.rollingUpdate.events, &plan.restart.events})
    outcome.events.insert(outcome.events.end(), events->begin(), events->end());
  return outcome;
}

}  // namespace dynamo::lifecycle
