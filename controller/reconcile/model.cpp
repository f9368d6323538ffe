// Decisions ctl-Q23, ctl-Q80 to ctl-Q84, ctl-Q94, ctl-Q95.
#include "common/lifecycle/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/lifecycle/deletion.h"
#include "common/lifecycle/model_endpoints.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/adapter_users.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/model_calls.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/reconcilers.h"
#include "controller/reconcile/result.h"

namespace dynamo::controller {
namespace {

using json::Document;
using json::Value;
using lifecycle::Ending;
using lifecycle::ModelEndpoint;
using lifecycle::ModelPod;
using lifecycle::ModelState;
using lifecycle::Outcome;
using runtime::Task;
using Kind = ModelAnswer::Kind;
using Loaded = decltype(lifecycle::ModelMemory::loaded);

/// How long an EndpointSlice may name a pod that is gone. Its controller follows in a second or two.
constexpr std::chrono::seconds kSliceMayBeLate{10};

/// How long a pod that belongs to no graph is not asked again.
constexpr std::chrono::seconds kAskRefusedAgain{30};

/// How often a model looks how far the oldest model of its adapter has come. It is told as well.
constexpr std::chrono::seconds kFollowAgain{2};

/// Why a pod has the adapter of an earlier source.
struct Outdated {
  std::string why;
  bool failed = false;  ///< it does not only wait for others
};

lifecycle::ModelPods podsOf(const kube::Cache& cache, const Value& model) {
  const std::vector<kube::Cached> slices = cache.labelled(
      lifecycle::namespaceOf(model), api::label::kBaseModelHash, lifecycle::baseModelHash(model));
  std::vector<const Value*> values;
  values.reserve(slices.size());
  for (const kube::Cached& slice : slices) values.push_back(&slice.object);
  return lifecycle::podsOfModel(values);
}

class ModelReconcile {
 public:
  ModelReconcile(Environment& environment, const k8s::ObjectKey& key, const Document& model)
      : environment_(environment), model_(model), users_(environment.cache, model), writer_(writerOf(key)) {
    auto& memory = environment.models[key];
    if (!memory || memory->uid != lifecycle::uidOf(model)) {
      memory = std::make_shared<lifecycle::ModelMemory>();
      memory->uid = lifecycle::uidOf(model);
    }
    memory_ = memory;
  }

  Task<ReconcileResult> run() {
    const lifecycle::ModelPods found = podsOf(environment_.cache, model_);
    ModelState state;
    state.services = found.services;
    if (lifecycle::isLora(model_) && lifecycle::loraProblem(model_).empty()) {
      state.endpoints = co_await load(found.pods, state.skipped);
    } else if (!lifecycle::isLora(model_)) {
      for (const ModelPod& pod : found.pods) state.endpoints.push_back({pod.name, pod.addresses.front()});
    }
    // The process that leads next asks the others.
    if (isCut_) co_return ReconcileResult{.ending = lifecycle::Transient{"the operator stops"}};
    state.outdated = memory_->disputed || !memory_->outdated.empty();
    Document memory;
    Outcome outcome = lifecycle::modelOutcome(model_, state, environment_.now(), memory.GetAllocator());
    const bool failed =
        std::any_of(state.endpoints.begin(), state.endpoints.end(),
                    [](const ModelEndpoint& each) { return !each.problem.empty() && !each.waits; });
    memory_->failures = failed ? memory_->failures + 1 : 0;
    if (failed) outcome.requeueAfter = lifecycle::loadRetry(memory_->failures);
    lifecycle::requeueWithin(outcome.requeueAfter, again_);
    if (unloaded_) outcome.events.push_back(*unloaded_);
    Ending ended = co_await carryOut(environment_, model_, outcome, writer_);
    ReconcileResult result = resultOf(outcome, std::move(ended), {});
    result.others = std::move(others_);
    co_return std::move(result);
  }

  /// Unloads the adapter once, whatever comes of it, then removes the finalizer.
  Task<ReconcileResult> remove(Outcome deletion) {
    const std::string_view name = lifecycle::modelNameOf(model_);
    const bool hasAdapter = lifecycle::hasFinalizer(model_) && lifecycle::isLora(model_);
    // What another model wanted from another source becomes its own.
    if (hasAdapter) queueOtherUsers(name);
    if (!memory_->unloaded && hasAdapter) {
      const std::vector<ModelPod> pods = podsOf(environment_.cache, model_).pods;
      const std::string former = std::exchange(memory_->name, std::string{name});
      if (!former.empty() && former != name && !users_.isShared(former)) {
        const std::string source = memory_->uri;
        std::optional<lifecycle::Event> unloaded = co_await unload(pods, former, source, true);
        if (unloaded) deletion.events.push_back(std::move(*unloaded));
      }
      std::optional<lifecycle::Event> told;
      const std::string uri{lifecycle::sourceUriOf(model_)};
      if (!users_.isShared(name)) told = co_await unload(pods, name, uri, false);
      // The process that leads next asks the others.
      if (isCut_) co_return ReconcileResult{.ending = lifecycle::Transient{"the operator stops"}};
      memory_->unloaded = true;
      if (told) memory_->told = std::move(told);
    }
    if (memory_->told) deletion.events.push_back(*memory_->told);
    Ending ended = co_await carryOut(environment_, model_, deletion, writer_);
    // The watch may be late, so that the model without its finalizer is reconciled once more.
    if (isDone(ended)) memory_->told.reset();
    ReconcileResult result = resultOf(deletion, std::move(ended), {});
    result.others = std::move(others_);
    co_return std::move(result);
  }

 private:
  std::string space() const { return std::string{lifecycle::namespaceOf(model_)}; }

  /// Whether the cache shows that the pod still has the adapter.
  bool isLoaded(const ModelPod& pod) const {
    const auto given = memory_->loaded.find(pod.name);
    if (given == memory_->loaded.end()) return false;
    const auto& own = pod.addresses;
    if (std::find(own.begin(), own.end(), given->second.address) == own.end()) return false;
    const auto cached = environment_.cache.find(keyIn(resourceOf("", "Pod"), space(), pod.name));
    return cached && lifecycle::hasAdapter(given->second, cached->object);
  }

  Task<std::vector<ModelEndpoint>> load(const std::vector<ModelPod>& pods,
                                        std::vector<std::string>& skipped) {
    ModelCall call{"POST", std::string{lifecycle::kLoadPath}, lifecycle::loadBody(model_)};
    if (std::exchange(memory_->mustReload, false)) memory_->loaded.clear();
    co_await noticeEdit(pods);
    const auto isAbsent = [&](const std::string& name) {
      return std::none_of(pods.begin(), pods.end(), [&](const ModelPod& pod) { return pod.name == name; });
    };
    std::erase_if(memory_->loaded, [&](const auto& each) { return isAbsent(each.first); });
    std::erase_if(memory_->missing, [&](const auto& each) { return isAbsent(each.first); });
    std::erase_if(memory_->outdated, isAbsent);
    std::erase_if(memory_->silent, [&](const auto& each) { return isAbsent(each.first); });
    std::erase_if(memory_->unusable, isAbsent);
    std::erase_if(memory_->stopped, isAbsent);
    std::erase_if(memory_->usable, isAbsent);
    for (const ModelPod& pod : pods) {
      if (hasLeftAdapter(pod)) memory_->outdated.insert(pod.name);
    }
    const auto older = users_.oldest();
    if (older && !older->hasSource) {
      std::string why = "model " + older->key.name + " has this adapter from another source";
      co_return co_await disputed(pods, std::move(why), skipped);
    }
    if (std::exchange(memory_->disputed, false)) {
      // What was seen meanwhile may be out of date: pods that did not run may have loaded the other source.
      memory_->usable.clear();
      memory_->unusable.clear();
      memory_->stopped.clear();
      markOutdated(pods);
    }
    if (older) followOlder(*older);
    const std::map<std::string, Outdated> kept = co_await unloadOutdated(pods, !older.has_value());
    std::vector<ModelPod> asked;
    for (const ModelPod& pod : pods) {
      if (!memory_->outdated.contains(pod.name) && !isLoaded(pod)) asked.push_back(pod);
    }
    std::map<std::string, ModelAnswer> answers = co_await askInOrder(std::move(asked), call, memory_->loaded);
    std::vector<ModelEndpoint> endpoints;
    for (const ModelPod& pod : pods) {
      if (const auto has = kept.find(pod.name); has != kept.end()) {
        endpoints.push_back({pod.name, pod.addresses.front(), false, has->second.why, !has->second.failed});
        continue;
      }
      if (const auto answer = answers.find(pod.name); answer != answers.end()) {
        take(pod, answer->second, endpoints, skipped);
      } else {
        endpoints.push_back({pod.name, memory_->loaded.at(pod.name).address, true});
      }
    }
    const bool allLoaded = std::all_of(endpoints.begin(), endpoints.end(), [&](const ModelEndpoint& each) {
      return each.ready || kept.contains(each.pod);
    });
    if (!older && !memory_->outdated.empty() && allLoaded && !hasFailedToUnload_)
      again_ = std::chrono::milliseconds{0};
    co_return std::move(endpoints);
  }

  /// Asks the pods that did not answer last after all others, because each of them takes up to kModelCallTime
  /// of kModelTime. Returns the answers by pod. `call` and `given`, as of ModelCalls, must outlive the task.
  Task<std::map<std::string, ModelAnswer>> askInOrder(std::vector<ModelPod> pods, const ModelCall& call,
                                                      const Loaded& given) {
    ModelCalls calls{environment_, space(), given};
    sortBySilence(pods);
    ++memory_->asks;
    std::vector<ModelAnswer> answers = co_await calls.askAll(pods, call);
    std::map<std::string, ModelAnswer> byPod;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const Kind kind = answers[i].kind;
      if (kind == Kind::Unasked) {
        isCut_ = isCut_ || environment_.stopping;
      } else if (kind == Kind::Failed) {
        memory_->silent.insert_or_assign(pods[i].name, memory_->asks);
      } else {
        memory_->silent.erase(pods[i].name);
      }
      memory_->unusable.erase(pods[i].name);
      memory_->stopped.erase(pods[i].name);
      if (kind == Kind::Missing || kind == Kind::Gone || kind == Kind::Refused) {
        memory_->unusable.insert(pods[i].name);
      } else if (kind == Kind::Stopped) {
        memory_->stopped.insert(pods[i].name);
      }
      byPod.insert_or_assign(pods[i].name, std::move(answers[i]));
    }
    co_return std::move(byPod);
  }

  /// The pods that were silent most recently come last.
  void sortBySilence(std::vector<ModelPod>& pods) const {
    const auto lastSilence = [&](const ModelPod& pod) {
      const auto found = memory_->silent.find(pod.name);
      return found == memory_->silent.end() ? 0 : found->second;
    };
    std::stable_sort(pods.begin(), pods.end(),
                     [&](const ModelPod& a, const ModelPod& b) { return lastSilence(a) < lastSilence(b); });
  }

  /// The oldest model replaces the adapter of an earlier source, and tells the others. If it goes meanwhile,
  /// this one goes on.
  void followOlder(const OlderModel& older) {
    const auto his = environment_.models.find(older.key);
    // One that has not seen its own edit yet knows less than this one.
    if (his != environment_.models.end() && his->second->uri == memory_->uri)
      memory_->outdated = his->second->outdated;
    if (!memory_->outdated.empty()) lifecycle::requeueWithin(again_, kFollowAgain);
  }

  /// No pod is asked for the adapter. When the other model is gone, this one replaces what it has left.
  Task<std::vector<ModelEndpoint>> disputed(const std::vector<ModelPod>& pods, std::string why,
                                            std::vector<std::string>& skipped) {
    memory_->loaded.clear();
    memory_->disputed = true;
    const ModelCall look;
    const Loaded none;
    std::vector<ModelPod> unknown;
    for (const ModelPod& pod : pods) {
      if (!memory_->usable.contains(pod.name)) unknown.push_back(pod);
    }
    const std::map<std::string, ModelAnswer> answers = co_await askInOrder(std::move(unknown), look, none);
    std::vector<ModelEndpoint> endpoints;
    for (const ModelPod& pod : pods) {
      const auto answer = answers.find(pod.name);
      if (answer == answers.end() || answer->second.kind == Kind::Usable) {
        memory_->usable.insert(pod.name);
        endpoints.push_back({pod.name, pod.addresses.front(), false, why});
      } else {
        take(pod, answer->second, endpoints, skipped);
      }
    }
    co_return std::move(endpoints);
  }

  /// The runtime knows an adapter by its name: it answers "already loaded" whatever the source is, and keeps
  /// the adapter of a model that has another name now (decision ctl-Q94).
  Task<void> noticeEdit(const std::vector<ModelPod>& pods) {
    const std::string name{lifecycle::modelNameOf(model_)};
    const std::string uri{lifecycle::sourceUriOf(model_)};
    const std::string former = std::exchange(memory_->name, name);
    const std::string source = std::exchange(memory_->uri, uri);
    const bool isKnown = !former.empty();
    if (isKnown && former != name) {
      memory_->loaded.clear();
      memory_->outdated.clear();
      if (users_.isShared(former)) {
        queueOtherUsers(former);
      } else {
        unloaded_ = co_await unload(pods, former, source, true);
      }
    }
    const bool isNew = isKnown ? former != name : !lifecycle::wasObserved(model_);
    if (isNew) {
      // A younger model may have loaded its own source.
      if (users_.wantAnotherSource(name)) markOutdated(pods);
    } else if (isKnown ? source != uri : lifecycle::isAdapterEdited(model_)) {
      memory_->loaded.clear();
      markOutdated(pods);
    }
  }

  void markOutdated(const std::vector<ModelPod>& pods) {
    for (const ModelPod& pod : pods) {
      if (!memory_->unusable.contains(pod.name)) memory_->outdated.insert(pod.name);
    }
  }

  /// Unloads the adapter of an earlier source from half of the pods, so that the others serve meanwhile. Goes
  /// on when those have the new one. Returns what is told of the pods that keep the earlier one.
  Task<std::map<std::string, Outdated>> unloadOutdated(const std::vector<ModelPod>& pods, bool mayUnload) {
    std::vector<ModelPod> outdated;
    bool othersHaveIt = true;
    std::size_t usable = 0;
    for (const ModelPod& pod : pods) {
      // What does not run has lost its adapters, and says nothing about the new source.
      if (memory_->unusable.contains(pod.name) || memory_->stopped.contains(pod.name)) {
        memory_->outdated.erase(pod.name);
        continue;
      }
      ++usable;
      if (memory_->outdated.contains(pod.name)) {
        outdated.push_back(pod);
      } else {
        // Not isLoaded: the cache may be late, or may never have the pod, and this is asked again at once.
        othersHaveIt = othersHaveIt && memory_->loaded.contains(pod.name);
      }
    }
    std::map<std::string, Outdated> kept;
    for (const ModelPod& pod : outdated) kept[pod.name] = {"it has the adapter of an earlier source"};
    if (outdated.empty() || !othersHaveIt || !mayUnload) co_return std::move(kept);
    sortBySilence(outdated);
    outdated.resize(std::min(outdated.size(), (usable + 1) / 2));
    const std::string_view name = lifecycle::modelNameOf(model_);
    const ModelCall call{"DELETE", lifecycle::unloadPath(name), ""};
    const Loaded none;
    const std::map<std::string, ModelAnswer> answers = co_await askInOrder(std::move(outdated), call, none);
    for (const auto& [pod, answer] : answers) {
      const std::string problem = unloadProblemOf(answer);
      if (problem.empty()) {
        environment_.leftAdapters.erase(leftIn(pod, name));
        memory_->outdated.erase(pod);
        kept.erase(pod);
      } else {
        kept[pod] = {"the adapter of an earlier source is not unloaded: " + problem, true};
        hasFailedToUnload_ = true;
        memory_->silent.insert_or_assign(pod, memory_->asks);  // it comes last next time
      }
    }
    tellOtherUsers(name);
    co_return std::move(kept);
  }

  PodAdapter leftIn(std::string_view pod, std::string_view modelName) const {
    return {keyIn(resourceOf("", "Pod"), space(), pod), std::string{modelName}};
  }

  /// Whether the pod has the adapter that a model has left there, from another source.
  bool hasLeftAdapter(const ModelPod& pod) const {
    const auto left = environment_.leftAdapters.find(leftIn(pod.name, lifecycle::modelNameOf(model_)));
    if (left == environment_.leftAdapters.end() || left->second.uri == lifecycle::sourceUriOf(model_))
      return false;
    const auto cached = environment_.cache.find(left->first.pod);
    return cached &&
           (left->second.pod.uid.empty() || lifecycle::hasAdapter(left->second.pod, cached->object));
  }

  void forgetLeftInGonePods() {
    std::erase_if(environment_.leftAdapters,
                  [&](const auto& each) { return !environment_.cache.find(each.first.pod); });
  }

  /// Why a pod still has the adapter; empty: it has not, or nobody asks it for one.
  static std::string unloadProblemOf(const ModelAnswer& answer) {
    if (answer.kind == Kind::Failed || answer.kind == Kind::Unasked) return answer.text;
    return answer.kind == Kind::Answered ? lifecycle::unloadProblem(answer.status, answer.text)
                                         : std::string{};
  }

  void take(const ModelPod& pod, const ModelAnswer& answer, std::vector<ModelEndpoint>& endpoints,
            std::vector<std::string>& skipped) {
    std::string problem = answer.text;
    if (answer.kind != Kind::Missing) memory_->missing.erase(pod.name);
    switch (answer.kind) {
      case Kind::Missing: {
        memory_->loaded.erase(pod.name);
        // Slices are updated after a pod is gone, which is nothing to tell.
        const lifecycle::Time now = environment_.now();
        const auto since = memory_->missing.try_emplace(pod.name, now).first->second;
        if (now >= since + kSliceMayBeLate) {
          skipped.push_back(answer.text);
        } else {
          lifecycle::requeueWithin(again_, kSliceMayBeLate);
        }
        return;
      }
      case Kind::Gone:
        memory_->loaded.erase(pod.name);
        return;
      case Kind::Refused:
        memory_->loaded.erase(pod.name);
        skipped.push_back(answer.text);
        if (answer.mayChange) lifecycle::requeueWithin(again_, kAskRefusedAgain);
        return;
      case Kind::Stopped:
        problem = "its main container does not run";
        break;
      case Kind::Answered:
        problem = lifecycle::loadProblem(answer.status, answer.text);
        break;
      case Kind::Kept:
      case Kind::Usable:
      case Kind::Failed:
      case Kind::Unasked:
        break;
    }
    const std::string& address = answer.pod.address.empty() ? pod.addresses.front() : answer.pod.address;
    endpoints.push_back({pod.name, address, problem.empty(), problem});
    if (problem.empty()) {
      memory_->loaded.insert_or_assign(pod.name, answer.pod);
    } else {
      memory_->loaded.erase(pod.name);
    }
  }

  void queueOtherUsers(std::string_view modelName) {
    for (const k8s::ObjectKey& key : users_.of(modelName)) others_.push_back({key.namespaceName, key.name});
  }

  /// Pods have unloaded the adapter. A model that was created meanwhile may have found it loaded. A reconcile
  /// of it may be in progress, so its memory of pods is not changed here.
  void tellOtherUsers(std::string_view modelName) {
    for (const k8s::ObjectKey& key : users_.of(modelName)) {
      if (const auto memory = environment_.models.find(key); memory != environment_.models.end())
        memory->second->mustReload = true;
    }
    queueOtherUsers(modelName);
  }

  /// The arguments must outlive the task. `uri`: the source of the adapter. `whileStopping`: as in ModelCall.
  Task<std::optional<lifecycle::Event>> unload(const std::vector<ModelPod>& pods, std::string_view modelName,
                                               const std::string& uri, bool whileStopping) {
    const ModelCall call{"DELETE", lifecycle::unloadPath(modelName), "", whileStopping};
    const Loaded none;
    const std::map<std::string, ModelAnswer> answers = co_await askInOrder(pods, call, none);
    std::vector<std::string> problems;
    std::size_t asked = 0;
    forgetLeftInGonePods();
    for (const auto& [pod, answer] : answers) {
      if (answer.kind != Kind::Answered && answer.kind != Kind::Failed && answer.kind != Kind::Unasked)
        continue;
      ++asked;
      const std::string problem = unloadProblemOf(answer);
      if (problem.empty()) {
        environment_.leftAdapters.erase(leftIn(pod, modelName));
      } else {
        environment_.leftAdapters.insert_or_assign(leftIn(pod, modelName), LeftAdapter{answer.pod, uri});
        problems.push_back(fmt::format("pod {}: {}", pod, problem));
      }
    }
    tellOtherUsers(modelName);
    std::optional<lifecycle::Event> told;
    if (asked > 0) told = lifecycle::unloadEvent(modelName, asked, problems);
    co_return std::move(told);
  }

  Environment& environment_;
  const Document& model_;
  AdapterUsers users_;
  Writer writer_;
  std::shared_ptr<lifecycle::ModelMemory> memory_;
  std::optional<std::chrono::milliseconds> again_;  ///< when the pods are looked at again
  std::optional<lifecycle::Event> unloaded_;        ///< what came of unloading an adapter of an earlier name
  std::vector<k8s::NamespacedName> others_;         ///< models that must load the adapter again
  bool hasFailedToUnload_ = false;
  bool isCut_ = false;  ///< pods were not asked because the process stops
};

}  // namespace

Task<ReconcileResult> reconcileModel(Environment& environment, k8s::ObjectKey key) {
  const Writer writer = writerOf(key);
  std::optional<kube::Cached> cached = environment.cache.find(key);
  if (!cached) co_return ReconcileResult{};
  Document model = std::move(cached->object);
  Document memory;
  if (auto deletion = lifecycle::deletionOutcome(model, memory.GetAllocator())) {
    ModelReconcile reconcile{environment, key, model};
    co_return co_await reconcile.remove(std::move(*deletion));
  }
  if (auto write = lifecycle::finalizerWrite(model, memory.GetAllocator())) {
    Outcome first;
    first.writes.push_back(std::move(*write));
    Ending ended = co_await carryOut(environment, model, first, writer);
    if (!isDone(ended)) co_return ReconcileResult{.ending = std::move(ended)};
    cached = environment.cache.find(key);
    if (!cached) co_return ReconcileResult{};
    model = std::move(cached->object);
  }
  ModelReconcile reconcile{environment, key, model};
  co_return co_await reconcile.run();
}

}  // namespace dynamo::controller
