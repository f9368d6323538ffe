#pragma once
// The objects that all reconcilers use.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/config/operator_config.h"
#include "common/lifecycle/model.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/time.h"
#include "common/model/component_defaults.h"
#include "common/render/context.h"
#include "common/render/fact_index.h"
#include "common/render/write_plan.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/cache.h"
#include "controller/kube/client.h"
#include "controller/kube/event_recorder.h"
#include "controller/reconcile/applied_contents.h"
#include "controller/reconcile/ended_jobs.h"

namespace dynamo::controller {

class DefaultQueues;
class GpuDiscovery;
class SshKeys;

/// An adapter in a pod.
struct PodAdapter {
  k8s::ObjectKey pod;
  std::string modelName;
  auto operator<=>(const PodAdapter&) const = default;
};
/// One that a pod could not be made to unload.
struct LeftAdapter {
  lifecycle::ModelMemory::Pod pod;
  std::string uri;  ///< its source
};

/// Must be used on the loop's thread. All referenced objects must outlive it.
struct Environment {
  runtime::EventLoop& loop;
  kube::Client& client;
  kube::Cache& cache;
  kube::EventRecorder& events;
  const config::OperatorConfig& config;
  const model::ComponentDefaults& defaults;
  const render::Facts& facts;
  SshKeys& sshKeys;
  std::function<lifecycle::Time()> now;
  /// What is remembered of children (render/write_plan.h).
  std::map<k8s::ObjectKey, render::Settled> settled = {};
  AppliedContents applied = {};
  render::Contests contests = {};
  /// Objects of administrators that an owner uses and has told about (toldKey()).
  std::set<std::string> told = {};
  /// What is remembered of models. A reconcile shares it, because its model may be deleted meanwhile.
  std::map<k8s::ObjectKey, std::shared_ptr<lifecycle::ModelMemory>> models = {};
  /// A model that is created later, and has the name, must not take them for its own.
  std::map<PodAdapter, LeftAdapter> leftAdapters = {};
  /// Since when the reconciles of an object have failed without a break.
  std::map<k8s::ObjectKey, std::chrono::steady_clock::time_point> failingSince = {};
  EndedJobs endedJobs = {};
  /// The process releases its lease as soon as the reconciles have ended, so they start nothing that is slow.
  bool stopping = false;
  GpuDiscovery* gpus = nullptr;     ///< nullptr: GPUs are not discovered
  DefaultQueues* queues = nullptr;  ///< nullptr: queues are not created

  /// Returns the context of one rendering. The facts that the rendering looks up are added to `lookedUp`.
  render::Context context(render::FactKeys& lookedUp) const {
    return {config, defaults, render::FactsView{facts, &lookedUp}};
  }
};

/// The result of a reconcile. One that is not done is repeated with back-off.
struct ReconcileResult {
  lifecycle::Ending ending = {};
  std::optional<std::chrono::milliseconds> requeueAfter = {};  ///< of one that is done
  bool prevented = false;                                      ///< lifecycle::Outcome::prevented
  render::FactKeys lookedUp = {};  ///< facts whose change requires another reconcile
  /// Objects of the same kind that must be reconciled because of what this reconcile did.
  std::vector<k8s::NamespacedName> others = {};
};

}  // namespace dynamo::controller
