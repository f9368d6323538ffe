// Quirks child-Q5, ctl-Q7, ctl-Q8, ctl-Q20, ctl-Q37, ctl-Q38.
#include "common/lifecycle/rollout.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/restart.h"
#include "common/render/rolling_update.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;
using render::WorkerGeneration;

/// Stands for the hash of workers that a release without hashes made.
constexpr std::string_view kLegacy = "legacy";

bool isWorker(const Value& component) {
  return api::isWorkerType(json::findText(specOf(component), "componentType")) ||
         !labelOf(component, api::label::kWorkerHash).empty();
}

bool isActive(std::string_view phase) {
  return phase == phase::kPending || phase == phase::kInProgress;
}

class Roller {
 public:
  Roller(const GraphView& view, Time now, Allocator& allocator)
      : view_(view),
        now_(now),
        make_(allocator),
        stored_(json::findObject(statusOf(view.graph), "rollingUpdate")),
        hash_(view.workerHash),
        annotation_(json::findText(annotationsOf(view.graph), api::annotation::kCurrentWorkerHash)) {
    for (const Value* component : ownComponents(view)) {
      if (!isWorker(*component)) continue;
      objects_.push_back(component);
      generations_.push_back(render::workerGeneration(*component));
      if (generations_.back().hash.empty()) generations_.back().hash = kLegacy;
    }
  }

  Rollout roll() {
    const std::string serving = servingHash();
    if (const std::string from = updatedFrom(serving); from.empty()) {
      rest();
      keepAnnotation(serving);
    } else {
      advance(serving, from);
    }
    return std::move(made_);
  }

  Rollout leave() {
    rest();
    if (!annotation_.empty() && !hash_.empty() && annotation_ != hash_) {
      keepAnnotation(hash_);
      made_.events.push_back(
          warning("RollingUpdateNotSupported",
                  "Grove updates the workers of this graph; the operator does not roll them"));
    }
    return std::move(made_);
  }

 private:
  /// The generation that the annotation names; without one, what serves, else what is wanted.
  std::string servingHash() {
    if (!annotation_.empty()) return std::string{annotation_};
    bool legacy = false;
    for (const Value* component : objects_) {
      if (!labelOf(*component, api::label::kWorkerHash).empty()) continue;
      legacy = true;
      Value labels = make_.object(api::label::kWorkerHash, kLegacy);
      made_.writes.push_back(
          patchOf(*component, make_.object("metadata", make_.object("labels", std::move(labels)))));
    }
    if (legacy) {
      made_.events.push_back(
          normal("LegacyMigrationStarted", "workers without a hash are replaced by a rolling update"));
      return std::string{kLegacy};
    }
    const WorkerGeneration* newest = nullptr;
    for (const WorkerGeneration& generation : generations_) {
      if (generation.hash == hash_ || generation.available == 0) continue;
      if (newest == nullptr || newest->created < generation.created) newest = &generation;
    }
    return newest == nullptr ? hash_ : newest->hash;
  }

  /// The generation that is replaced; empty: nothing is to be done. After a revert the annotation names the
  /// wanted generation already, and what the update had made is left over (quirk ctl-Q37).
  std::string updatedFrom(const std::string& serving) const {
    if (serving != hash_) return serving;
    const auto other = std::find_if(generations_.begin(), generations_.end(),
                                    [&](const WorkerGeneration& g) { return g.hash != hash_; });
    return other == generations_.end() ? std::string{} : other->hash;
  }

  bool storedActive() const { return isActive(json::findText(stored_, "phase")); }

  /// No update is due: one that the status still tells of has ended.
  void rest() {
    if (stored_ == nullptr) return;
    if (storedActive()) {
      complete();
    } else {
      made_.status = make_.value(*stored_);
    }
  }

  void advance(const std::string& serving, const std::string& from) {
    render::RollingStep step = render::rollingStep(view_.graph, hash_, from, generations_);
    recreate(step);
    if (step.complete && step.outdated.empty() && !storedActive()) {
      rest();
      keepAnnotation(hash_);
      return;
    }
    if (!storedActive()) {
      made_.events.push_back(
          normal("RollingUpdateStarted", fmt::format("workers roll from {} to {}", from, hash_)));
    }
    if (step.complete) {
      for (std::size_t i = 0; i < objects_.size(); ++i) {
        if (generations_[i].hash != hash_) made_.writes.push_back(deletionOf(*objects_[i]));
      }
      complete();
      keepAnnotation(hash_);
      return;
    }
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const auto next = step.oldReplicas.find(generations_[i].name);
      if (next != step.oldReplicas.end()) scale(*objects_[i], next->second);
    }
    made_.underWay = true;
    made_.newReplicas = std::move(step.newReplicas);
    made_.status = make_.object("phase", hasNewGeneration() ? phase::kInProgress : phase::kPending,
                                "startTime", startTime());
    setUpdated(step.updatedServices);
    keepAnnotation(serving);
  }

  /// With the strategy Recreate nothing new starts before everything old is gone (quirk ctl-Q38).
  void recreate(render::RollingStep& step) const {
    for (auto& [service, replicas] : step.newReplicas) {
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
        step.oldReplicas[generation.name] = 0;
        const Value* counts = json::findObject(statusOf(*objects_[i]), "service");
        running = running || generation.replicas > 0 || !isObserved(*objects_[i]) ||
                  countAt(counts, "replicas") > 0;
      }
      const long long desired = countAt(spec, "replicas", 1);
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

  bool hasNewGeneration() const {
    return std::any_of(generations_.begin(), generations_.end(),
                       [&](const WorkerGeneration& g) { return g.hash == hash_; });
  }

  std::string startTime() const {
    const std::string_view before = json::findText(stored_, "startTime");
    return storedActive() && !before.empty() ? std::string{before} : formatTime(now_);
  }

  void scale(const Value& component, long long replicas) {
    const Value* spec = specOf(component);
    if (countAt(spec, "replicas", 1) == replicas) return;
    made_.writes.push_back(patchOf(component, make_.object("spec", make_.object("replicas", replicas))));
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
    made_.status =
        make_.object("phase", phase::kCompleted, "startTime", startTime(), "endTime", formatTime(now_));
    setUpdated(workers);
    made_.events.push_back(normal("RollingUpdateCompleted", fmt::format("all workers are of {}", hash_)));
  }

  void setUpdated(const std::vector<std::string>& services) {
    if (services.empty()) return;
    Value list = make_.list();
    for (const std::string& service : services) make_.push(list, service);
    make_.set(made_.status, "updatedServices", std::move(list));
  }

  void keepAnnotation(std::string_view hash) {
    if (hash == annotation_) return;
    Value annotations = make_.object(api::annotation::kCurrentWorkerHash, hash);
    made_.writes.push_back(patchOf(
        view_.graph, make_.object("metadata", make_.object("annotations", std::move(annotations))), true));
  }

  const GraphView& view_;
  Time now_;
  json::Maker make_;
  const Value* stored_;
  std::string hash_;
  std::string_view annotation_;
  std::vector<const Value*> objects_;
  std::vector<WorkerGeneration> generations_;  ///< of objects_, one each
  Rollout made_;
};

}  // namespace

Rollout rollWorkers(const GraphView& view, Time now, Allocator& allocator) {
  return Roller{view, now, allocator}.roll();
}

Rollout leaveRollout(const GraphView& view, Time now, Allocator& allocator) {
  return Roller{view, now, allocator}.leave();
}

std::vector<const Value*> oldGenerations(const std::vector<const Value*>& components,
                                         std::string_view service, std::string_view hash) {
  std::vector<const Value*> old;
  std::copy_if(components.begin(), components.end(), std::back_inserter(old), [&](const Value* component) {
    return isWorker(*component) && labelOf(*component, api::label::kWorkerHash) != hash &&
           json::findText(specOf(*component), "serviceName") == service;
  });
  return old;
}

}  // namespace dynamo::lifecycle
