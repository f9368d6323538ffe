// Quirks child-Q5, ctl-Q7, ctl-Q8, ctl-Q20, ctl-Q37, ctl-Q38, ctl-Q44, ctl-Q57, ctl-Q58.
#include "common/lifecycle/rolling_update.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/picker_rollout.h"
#include "common/lifecycle/restart.h"
#include "common/lifecycle/rolling_step.h"
#include "common/lifecycle/worker_hash.h"
#include "common/render/deployment_config.h"
#include "common/render/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

bool isActive(std::string_view phase) {
  return phase == phase::kPending || phase == phase::kInProgress;
}

class Updater {
 public:
  Updater(const GraphView& view, Time now, Allocator& allocator)
      : view_(view),
        now_(now),
        make_(allocator),
        stored_(json::findObject(statusOf(view.graph), "rollingUpdate")),
        hash_(view.workerHash),
        annotation_(json::findText(annotationsOf(view.graph), api::annotation::kCurrentWorkerHash)) {
    for (const Value* component : ownComponents(view)) {
      if (!isWorkerComponent(*component)) continue;
      objects_.push_back(component);
      generations_.push_back(workerGeneration(*component));
      if (generations_.back().hash.empty()) generations_.back().hash = kLegacyHash;
      if (generations_.back().hash != hash_ && isOrphanedGeneration(*component, view.graph))
        adopt(*component);
    }
  }

  RollingUpdate advance() {
    const std::string serving = servingHash();
    if (const std::string from = updatedFrom(serving); from.empty()) {
      finish();
      setAnnotation(serving);
    } else {
      step(serving, from);
    }
    return std::move(result_);
  }

  RollingUpdate end() {
    finish();
    if (!annotation_.empty() && !hash_.empty() && annotation_ != hash_) {
      setAnnotation(hash_);
      result_.events.push_back(
          warning("RollingUpdateNotSupported", "Grove updates the workers of this graph"));
    }
    return std::move(result_);
  }

 private:
  /// The generation that is desired now is adopted when it is applied. A merge patch replaces the whole list
  /// of owners, so it has the other owners, and is for this version of the object.
  void adopt(const Value& component) {
    Value patch = make_.object();
    render::setOwner(patch, view_.graph, make_.allocator());
    Value& owners = *json::find(*json::find(patch, "metadata"), "ownerReferences");
    for (const Value& owner : ownersOf(component)) {
      if (json::findText(&owner, "uid") != uidOf(view_.graph)) make_.push(owners, make_.value(owner));
    }
    result_.writes.push_back(patchOf(component, std::move(patch), true));
  }

  /// The generation that the annotation names. Without an annotation: the newest available generation, else
  /// the desired one.
  std::string servingHash() {
    if (!annotation_.empty()) return std::string{annotation_};
    bool legacy = false;
    for (const Value* component : objects_) {
      if (!generationHash(*component).empty()) continue;
      legacy = true;
      Value labels = make_.object(api::label::kWorkerHash, kLegacyHash);
      result_.writes.push_back(
          patchOf(*component, make_.object("metadata", make_.object("labels", std::move(labels)))));
    }
    if (legacy) {
      result_.events.push_back(
          normal("LegacyMigrationStarted", "a rolling update replaces workers that have no hash"));
      return std::string{kLegacyHash};
    }
    const WorkerGeneration* newest = nullptr;
    for (const WorkerGeneration& generation : generations_) {
      if (generation.hash == hash_ || generation.available == 0) continue;
      if (newest == nullptr || newest->created < generation.created) newest = &generation;
    }
    return newest == nullptr ? hash_ : newest->hash;
  }

  /// The generation that is replaced; empty: no update is due. After a rollback the annotation already names
  /// the desired generation, and the generations that the update created are the ones to replace (quirk
  /// ctl-Q37).
  std::string updatedFrom(const std::string& serving) const {
    if (serving != hash_) return serving;
    const auto other = std::find_if(generations_.begin(), generations_.end(),
                                    [&](const WorkerGeneration& g) { return g.hash != hash_; });
    return other == generations_.end() ? std::string{} : other->hash;
  }

  bool storedActive() const { return isActive(json::findText(stored_, "phase")); }

  /// No update is due: completes the one that the status still reports as active.
  void finish() {
    if (stored_ == nullptr) return;
    if (storedActive()) {
      complete();
    } else {
      result_.status = make_.value(*stored_);
    }
  }

  void step(const std::string& serving, const std::string& from) {
    RollingStep next = rollingStep(view_.graph, hash_, from, generations_);
    applyRecreate(next);
    if (next.complete && next.outdated.empty() && !storedActive()) {
      finish();
      setAnnotation(hash_);
      return;
    }
    if (!storedActive()) {
      result_.events.push_back(normal("RollingUpdateStarted",
                                      fmt::format("updating workers from generation {} to {}", from, hash_)));
    }
    if (next.complete) {
      for (std::size_t i = 0; i < objects_.size(); ++i) {
        if (generations_[i].hash != hash_) result_.writes.push_back(deletionOf(*objects_[i]));
      }
      complete();
      setAnnotation(hash_);
      return;
    }
    result_.pickerHash = followRollingUpdate(view_, from, generations_, next, make_.allocator());
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const auto replicas = next.oldReplicas.find(generations_[i].name);
      if (replicas != next.oldReplicas.end()) scale(*objects_[i], replicas->second);
    }
    result_.inProgress = true;
    result_.newReplicas = std::move(next.newReplicas);
    result_.status =
        make_.object("phase", hasBegun() ? phase::kInProgress : phase::kPending, "startTime", startTime());
    setUpdated(next.updatedServices);
    setAnnotation(serving);
  }

  /// With the strategy Recreate, no new pod starts before all old pods are gone (quirk ctl-Q38).
  void applyRecreate(RollingStep& next) const {
    for (auto& [service, replicas] : next.newReplicas) {
      const Value* spec = json::findObject(json::findObject(specOf(view_.graph), "services"), service);
      const Value* annotations = json::findObject(spec, "annotations");
      if (json::findText(annotations, api::annotation::kDeploymentStrategy) != "Recreate") continue;
      bool running = hasOldPods(service);
      long long present = 0;
      for (std::size_t i = 0; i < objects_.size(); ++i) {
        const WorkerGeneration& generation = generations_[i];
        if (generation.service != service) continue;
        if (generation.hash == hash_) {
          present = generation.replicas;
          continue;
        }
        next.oldReplicas[generation.name] = 0;
        const Value* counts = json::findObject(statusOf(*objects_[i]), "service");
        running =
            running || generation.replicas > 0 || !generation.observed || countAt(counts, "replicas") > 0;
      }
      const long long desired =
          spec == nullptr
              ? 1
              : render::componentReplicas(service, *spec, json::find(specOf(view_.graph), "envs"));
      replicas = running ? std::min(present, desired) : desired;
    }
  }

  bool hasOldPods(std::string_view service) const {
    return std::any_of(view_.pods.begin(), view_.pods.end(), [&](const Value* pod) {
      const std::string_view phase = json::findText(statusOf(*pod), "phase");
      return labelOf(*pod, api::label::kGraph) == nameOf(view_.graph) &&
             labelOf(*pod, api::label::kComponent) == service &&
             labelOf(*pod, api::label::kWorkerHash) != hash_ && phase != "Succeeded" && phase != "Failed";
    });
  }

  /// Whether a generation of the update exists, be it one of an earlier target.
  bool hasBegun() const {
    return json::findText(stored_, "phase") == phase::kInProgress ||
           std::any_of(generations_.begin(), generations_.end(),
                       [&](const WorkerGeneration& g) { return g.hash == hash_; });
  }

  std::string startTime() const {
    const std::string_view before = json::findText(stored_, "startTime");
    return storedActive() && !before.empty() ? std::string{before} : formatTime(now_);
  }

  void scale(const Value& component, long long replicas) {
    const Value* spec = specOf(component);
    if (countAt(spec, "replicas", 1) == replicas) return;
    result_.writes.push_back(patchOf(component, make_.object("spec", make_.object("replicas", replicas))));
  }

  void complete() {
    std::vector<std::string> workers;
    const Value* services = json::findObject(specOf(view_.graph), "services");
    for (rapidjson::SizeType i = 0; services != nullptr && i < services->MemberCount(); ++i) {
      const auto& entry = services->MemberBegin()[i];
      if (api::isWorkerType(json::findText(&entry.value, "componentType")))
        workers.emplace_back(json::text(entry.name));
    }
    std::sort(workers.begin(), workers.end());
    result_.status =
        make_.object("phase", phase::kCompleted, "startTime", startTime(), "endTime", formatTime(now_));
    setUpdated(workers);
    result_.events.push_back(
        normal("RollingUpdateCompleted", fmt::format("all workers run generation {}", hash_)));
  }

  void setUpdated(const std::vector<std::string>& services) {
    if (services.empty()) return;
    Value list = make_.list();
    for (const std::string& service : services) make_.push(list, service);
    make_.set(result_.status, "updatedServices", std::move(list));
  }

  void setAnnotation(std::string_view hash) {
    if (hash == annotation_) return;
    Value annotations = make_.object(api::annotation::kCurrentWorkerHash, hash);
    result_.writes.push_back(patchOf(
        view_.graph, make_.object("metadata", make_.object("annotations", std::move(annotations))), true));
  }

  const GraphView& view_;
  Time now_;
  json::Maker make_;
  const Value* stored_;
  std::string hash_;
  std::string_view annotation_;
  std::vector<const Value*> objects_;
  std::vector<WorkerGeneration> generations_;  ///< parallel to objects_
  RollingUpdate result_;
};

}  // namespace

RollingUpdate advanceRollingUpdate(const GraphView& view, Time now, Allocator& allocator) {
  return Updater{view, now, allocator}.advance();
}

RollingUpdate endRollingUpdate(const GraphView& view, Time now, Allocator& allocator) {
  return Updater{view, now, allocator}.end();
}

std::vector<const Value*> oldGenerations(const std::vector<const Value*>& components,
                                         std::string_view service, std::string_view hash) {
  std::vector<const Value*> old;
  std::copy_if(components.begin(), components.end(), std::back_inserter(old), [&](const Value* component) {
    return isWorkerComponent(*component) && generationHash(*component) != hash &&
           json::findText(specOf(*component), "serviceName") == service;
  });
  return old;
}

}  // namespace dynamo::lifecycle
