#include "controller/reconcile/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <variant>

#include "common/api/kinds.h"
#include "common/lifecycle/object.h"
#include "common/observability/log.h"
#include "controller/reconcile/apply.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/triggers.h"

namespace dynamo::controller {
namespace {

using namespace std::chrono_literals;
using runtime::Task;

constexpr log::Logger kLog{"manager"};

/// The interval between discoveries, which find CRDs that are installed later. A discovery is one request to
/// /apis.
constexpr std::chrono::seconds kDiscoveryInterval{10};
constexpr std::chrono::milliseconds kSyncPoll{20};
/// The reference fails if its caches are not in sync after this time. This process logs an error, continues
/// to wait, and is not ready.
constexpr std::chrono::seconds kSyncWarning{120};
constexpr std::chrono::seconds kMetricsInterval{1};
/// The name of the Secret in the reference's chart.
constexpr std::string_view kDefaultSshSecret = "mpi-run-ssh-secret";

runtime::Deadline after(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

lifecycle::Time wallTime() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

const kube::Resource& secrets() {
  static const kube::Resource kSecrets{"", "v1", "secrets", "Secret"};
  return kSecrets;
}
const kube::Resource& serviceAccounts() {
  static const kube::Resource kAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
  return kAccounts;
}

/// A sink that ignores the objects of other shards, so that the shards divide the memory of the caches, too.
kube::Sink ofShard(kube::Sink sink, kube::Shard shard) {
  if (shard.count == 1) return sink;
  const auto ours = [shard](const json::Value& object) {
    return kube::inShard(json::findText(lifecycle::metadataOf(object), "namespace"), shard);
  };
  sink.present = [ours, present = std::move(sink.present)](const json::Value& object) {
    if (ours(object)) present(object);
  };
  sink.deleted = [ours, deleted = std::move(sink.deleted)](const json::Value& object) {
    if (ours(object)) deleted(object);
  };
  return sink;
}

}  // namespace

Manager::Manager(runtime::EventLoop& loop, kube::Client& client, const config::OperatorConfig& config,
                 observability::Registry& metrics, ManagerOptions options)
    : loop_(loop),
      client_(client),
      config_(config),
      options_(std::move(options)),
      defaults_(config.defaults.get()),
      cache_(storedKinds()),
      events_(loop, client, &metrics),
      mode_(loop, client, config, options_.own, &metrics),
      sshKeys_(client,
               config.mpi.sshSecretName.empty() ? std::string{kDefaultSshSecret} : config.mpi.sshSecretName),
      gpus_(loop, client,
            {config::exporterNamespaces(config, options_.own.namespaceName), options_.metricsUrl,
             config.restricted()}),
      watches_(loop, client, mode_.watchedNamespace()),
      environment_{loop, client, cache_, events_, config, defaults_, facts_.facts(), sshKeys_, &wallTime},
      counts_(metrics),
      stopped_(loop) {
  environment_.gpus = &gpus_;
  for (const WatchedKind& kind : watchedKinds()) {
    if (!kind.reconciler) continue;
    loops_.push_back(std::make_unique<ReconcileLoop>(
        environment_, kind, metrics, [this](std::string_view name) { return handles(name); }));
  }
  addWatches();
  cache_.onChange([this](const kube::Change& change) { changed(change); });
  if (!options_.own.namespaceName.empty())
    factsWriter_.emplace(loop, client, facts_.facts(), options_.own.namespaceName);
  // A restricted operator has no rights to objects of the cluster.
  if (!config.restricted()) environment_.queues = &defaultQueues_.emplace(loop, client, facts_.facts());
  facts_.onChange([this](const render::FactKeys& keys) {
    for (const auto& each : loops_) each->factsChanged(keys);
    if (factsWriter_) factsWriter_->factsChanged();
    if (defaultQueues_) defaultQueues_->factsChanged();
  });
  mode_.onHandedBack([this](const std::string& namespaceName) { reconcileNamespace(namespaceName); });
  mode_.onFailure([this](const std::string& reason) { fail(reason); });
  sshKeys_.onDeleted([this](const std::string& namespaceName) { reconcileNamespace(namespaceName); });
  if (config.leaderElection.enabled) {
    kube::LeaseOptions lease;
    lease.namespaceName = options_.leaseNamespace;
    lease.name = kube::shardLeaseName(config.leaderElection.id, options_.shard);
    lease.identity = options_.identity;
    elector_.emplace(loop, lease, kube::leaseAccess(client, lease), &metrics);
  }
  client.setWriteGate([this](std::string_view namespaceName) {
    return (!elector_ || elector_->leading()) && mode_.mayWrite(namespaceName);
  });
}

bool Manager::handles(std::string_view namespaceName) const {
  return mode_.handles(namespaceName) && kube::inShard(namespaceName, options_.shard);
}

ReconcileLoop* Manager::loopOf(std::string_view kind) {
  const auto found = std::find_if(loops_.begin(), loops_.end(),
                                  [&](const auto& each) { return each->resource().kind == kind; });
  return found == loops_.end() ? nullptr : found->get();
}

void Manager::reconcileNamespace(const std::string& namespaceName) {
  if (!reconciling_) return;
  for (const auto& each : loops_) {
    const kube::Resource& resource = each->resource();
    const std::string version = kube::apiVersionOf(resource);
    for (const k8s::ObjectKey& key : cache_.keysInNamespace(version, resource.kind, namespaceName))
      each->add(key);
  }
}

void Manager::changed(const kube::Change& change) {
  counts_.changed(change);
  environment_.endedJobs.changed(change, cache_);
  if (change.key.kind == api::kDynamoCheckpoint) facts_.checkpointChanged(change);
  if (change.kind == kube::Change::Kind::Deleted) {
    environment_.settled.erase(change.key);
    environment_.applied.forget(change.key);
    environment_.failingSince.erase(change.key);
    environment_.models.erase(change.key);
    forgetTold(environment_.told, *change.before);
  }
  ReconcileLoop* own = loopOf(change.key.kind);
  if (own != nullptr && change.kind == kube::Change::Kind::Deleted) own->forget(change.key);
  // Nothing takes keys out of the queues before this process leads. Then all objects are queued.
  if (!reconciling_) return;
  for (const k8s::ObjectKey& key : triggeredBy(change, cache_)) {
    ReconcileLoop* loop = loopOf(key.kind);
    if (loop == nullptr) continue;
    if (key.kind == change.key.kind || change.kind == kube::Change::Kind::Deleted) {
      loop->add(key);
    } else {
      loop->addForChild(key);
    }
  }
}

Task<std::string> Manager::run() {
  setProblem("API discovery has not succeeded yet");
  co_await waitForDiscovery();
  if (std::string error = missingApi(); !error.empty() || stopping_) co_return error;
  if (factsWriter_) co_await factsWriter_->writeIfAbsent();
  triedFacts_ = true;
  loop_.spawn(rediscover());
  loop_.spawn(events_.run());
  loop_.spawn(refreshMetrics());
  if (std::string error = co_await mode_.start(); !error.empty() || stopping_) co_return error;
  co_await waitForSync();
  if (stopping_) co_return failure_;
  // A standby is ready, because its caches are in sync.
  setProblem("");
  if (elector_) {
    kLog.info("waiting for the lease",
              {{"namespace", options_.leaseNamespace},
               {"name", kube::shardLeaseName(config_.leaderElection.id, options_.shard)},
               {"identity", options_.identity}});
    const bool acquired = co_await elector_->acquire();
    if (!acquired || stopping_) {
      co_await elector_->release();
      co_return failure_;
    }
    loop_.spawn(hold());
  }
  kLog.info("reconciling", {{"objects", cache_.size()}});
  startLoops();
  mode_.lead();
  if (factsWriter_) loop_.spawn(factsWriter_->run());
  if (defaultQueues_) loop_.spawn(defaultQueues_->run());
  // The loop stops first if `stop` takes too long. A wait then returns at once.
  while (!stopping_ && !loop_.stopping()) co_await stopped_.wait();
  // After a failure another process can lead at once. After `stop` the lease has been released.
  if (elector_) co_await elector_->release();
  co_return failure_;
}

void Manager::startLoops() {
  reconciling_ = true;
  for (const auto& each : loops_) {
    each->start();
    const kube::Resource& resource = each->resource();
    const std::string version = kube::apiVersionOf(resource);
    for (const k8s::ObjectKey& key : cache_.keysOfKind(version, resource.kind)) each->add(key);
  }
}

Task<std::string> Manager::discover() {
  auto found = co_await kube::discover(client_);
  if (const auto* error = std::get_if<kube::ApiError>(&found))
    co_return "API discovery failed: " + error->message;
  const kube::ApiGroups& groups = std::get<kube::ApiGroups>(found);
  if (groups.find(api::kGroup) == nullptr)
    co_return "the CustomResourceDefinitions of nvidia.com are not installed";
  const Watches::Started started = co_await watches_.start(groups);
  if (started.error) co_return "API discovery failed: " + started.error->message;
  // The reconciles that new facts trigger read the caches of these kinds. At the start none runs yet.
  if (synced_) co_await waitForNewWatches();
  // An API server that is upgraded learns the action, so an older one is asked again.
  if (!facts_.facts().api(render::Api::SleepAction).value_or(false)) {
    auto version = co_await kube::serverVersion(client_);
    if (auto* known = std::get_if<std::string>(&version)) serverVersion_ = std::move(*known);
  }
  facts_.discovered(synced_ ? watches_.syncedOf(started.groups) : started.groups, serverVersion_);
  co_return "";
}

Task<void> Manager::waitForNewWatches() {
  const runtime::Deadline end = after(kDiscoveryInterval);
  while (!watches_.unsynced().empty() && std::chrono::steady_clock::now() < end && !loop_.stopping())
    co_await loop_.sleepUntil(after(kSyncPoll));
}

Task<void> Manager::waitForDiscovery() {
  for (std::chrono::milliseconds pause = 500ms; !stopping_ && !loop_.stopping();
       pause = std::min<std::chrono::milliseconds>(pause * 2, 10s)) {
    std::string problem = co_await discover();
    if (problem.empty() || loop_.stopping()) co_return;
    kLog.warn("waiting for the API server", {{"reason", problem}});
    setProblem(std::move(problem));
    co_await loop_.sleepUntil(after(pause));
  }
}

Task<void> Manager::rediscover() {
  while (!stopping_ && !loop_.stopping()) {
    co_await loop_.sleepUntil(after(kDiscoveryInterval));
    if (stopping_ || loop_.stopping()) break;
    const std::string problem = co_await discover();
    if (!problem.empty() && !loop_.stopping()) kLog.warn("discovery failed", {{"reason", problem}});
  }
}

std::string Manager::missingApi() const {
  const auto required = [&](std::optional<bool> enabled, render::Api api, std::string_view field) {
    if (!enabled.value_or(false) || facts_.facts().api(api).value_or(false)) return std::string{};
    return fmt::format("orchestrators.{}.enabled is true, but the API server does not serve its API", field);
  };
  for (const auto& [enabled, api, field] :
       {std::tuple{config_.orchestrators.grove.enabled, render::Api::Grove, "grove"},
        std::tuple{config_.orchestrators.lwsEnabled, render::Api::LeaderWorkerSet, "lws"},
        std::tuple{config_.orchestrators.kaiSchedulerEnabled, render::Api::KaiScheduler, "kaiScheduler"}}) {
    if (std::string error = required(enabled, api, field); !error.empty()) return error;
  }
  return "";
}

void Manager::addWatches() {
  for (const WatchedKind& kind : watchedKinds()) {
    for (const kube::LabelSelector& selector : kind.selectors)
      watches_.add(kind.resource, selector.text(), kind.fieldSelector,
                   ofShard(cache_.sinkFor(kind.resource, mode_.watchedNamespace(), selector), options_.shard),
                   kind.with);
  }
  watches_.add(secrets(), "", "type=kubernetes.io/dockerconfigjson",
               ofShard(facts_.pullSecretSink(), options_.shard));
  watches_.add(secrets(), "", "metadata.name=" + sshKeys_.name(), sshKeys_.sink());
  watches_.add(serviceAccounts(), "nvidia.com/dynamo-component-pod=true", "",
               ofShard(facts_.componentAccountSink(), options_.shard));
  if (config_.orchestrators.kaiSchedulerEnabled.value_or(true))
    watches_.add(queues(), "", "", facts_.queueSink());
}

Task<void> Manager::waitForSync() {
  const auto start = std::chrono::steady_clock::now();
  bool warned = false;
  for (std::string problem = watches_.unsynced(); !problem.empty(); problem = watches_.unsynced()) {
    if (!warned && std::chrono::steady_clock::now() - start > kSyncWarning) {
      kLog.error("caches are still not in sync", {{"reason", problem}});
      warned = true;
    }
    setProblem(std::move(problem));
    co_await loop_.sleepUntil(after(kSyncPoll));
    if (stopping_ || loop_.stopping()) co_return;
  }
  synced_ = true;
}

Task<void> Manager::hold() {
  co_await elector_->hold();
  if (stopping_ || loop_.stopping() || elector_->released()) co_return;
  // Another process may lead now, so this process must not write. A restart discards its state.
  fail("leadership was lost");
}

void Manager::fail(const std::string& reason) {
  if (stopping_) return;
  failure_ = reason;
  setProblem(reason);
  stopping_ = true;
  stopped_.notify();
  // A standby waits for the lease.
  if (elector_ && !elector_->leading()) loop_.spawn(elector_->release());
}

Task<void> Manager::refreshMetrics() {
  while (!stopping_ && !loop_.stopping()) {
    for (const auto& each : loops_) each->updateMetrics();
    // A standby would count every object a second time.
    if (synced_ && (!elector_ || elector_->leading()))
      counts_.publish([this](std::string_view name) { return handles(name); });
    co_await loop_.sleepUntil(after(kMetricsInterval));
  }
}

Task<void> Manager::stop() {
  setProblem("stopping");
  environment_.stopping = true;
  if (factsWriter_) factsWriter_->stop();
  if (defaultQueues_) defaultQueues_->stop();
  for (const auto& each : loops_) co_await each->stop();
  events_.stop();
  for (int i = 0; i < 100 && events_.queued() != 0; ++i) co_await loop_.sleepUntil(after(10ms));
  co_await mode_.release();
  if (elector_) co_await elector_->release();
  stopping_ = true;
  stopped_.notify();
}

void Manager::setProblem(std::string problem) {
  const std::lock_guard lock{mutex_};
  problem_ = std::move(problem);
}

std::string Manager::problem() const {
  const std::lock_guard lock{mutex_};
  return problem_;
}

}  // namespace dynamo::controller
