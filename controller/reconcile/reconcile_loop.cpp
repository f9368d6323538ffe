#include "controller/reconcile/reconcile_loop.h"

#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include "common/api/kinds.h"
#include "common/observability/log.h"
#include "common/runtime/exception_type.h"
#include "controller/reconcile/default_queues.h"

namespace dynamo::controller {
namespace {

constexpr log::Logger kLog{"reconcile"};

using render::FactKeys;
using runtime::Task;

// The buckets of the reference and of controller-runtime.
constexpr std::array kReferenceBuckets = {.005, .01, .025, .05, .1, .25, .5, 1., 2.5, 5., 10., 30., 60.};
constexpr std::array kRuntimeBuckets = {
    .005, .01, .025, .05, .1,  .15, .2,  .25, .3, .35, .4, .45, .5,  .6,  .7,  .8,  .9,  1.,  1.25, 1.5,
    1.75, 2.,  2.5,  3.,  3.5, 4.,  4.5, 5.,  6., 7.,  8., 9.,  10., 15., 20., 25., 30., 40., 50.,  60.};

// By kind and namespace.
constexpr std::string_view kDuration = "dynamo_operator_reconcile_duration_seconds";
constexpr std::string_view kReconciles = "dynamo_operator_reconcile_total";
constexpr std::string_view kErrors = "dynamo_operator_reconcile_errors_total";

/// The end of some failures causes no event, for example when an object of somebody else that had the name of
/// a child is renamed. A retry is little work, so it is not delayed for a quarter of an hour as in client-go.
constexpr std::chrono::minutes kMaxRetry{2};
constexpr std::chrono::milliseconds kRestorePoll{20};

k8s::NamespacedName nameOf(const k8s::ObjectKey& key) {
  return {key.namespaceName, key.name};
}

}  // namespace

ReconcileLoop::ReconcileLoop(Environment& environment, const WatchedKind& kind,
                             observability::Registry& metrics, std::function<bool(std::string_view)> handles)
    : environment_(environment),
      kind_(kind),
      metrics_(metrics),
      handles_(std::move(handles)),
      queue_(environment.loop, kind.resource.kind, &metrics, {.maxRetry = kMaxRetry, .workers = kWorkers}),
      workers_(environment.loop),
      activeWorkers_(metrics.gauge("controller_runtime_active_workers", "Workers that reconcile an object.",
                                   {{"controller", kind.resource.kind}})),
      errors_(metrics.counter("controller_runtime_reconcile_errors_total", "Failed reconciles.",
                              {{"controller", kind.resource.kind}})),
      panics_(metrics.counter("controller_runtime_reconcile_panics_total",
                              "Reconciles that threw an exception.", {{"controller", kind.resource.kind}})) {
  // All failed reconciles are retried. Reconciles have no deadline; each of their requests has one. The two
  // series exist for dashboards.
  metrics.counter("controller_runtime_terminal_reconcile_errors_total",
                  "Failed reconciles that are not retried.", {{"controller", kind.resource.kind}});
  metrics.counter("controller_runtime_reconcile_timeouts_total", "Reconciles that exceeded their deadline.",
                  {{"controller", kind.resource.kind}});
  metrics
      .gauge("controller_runtime_max_concurrent_reconciles", "Workers of the controller.",
             {{"controller", kind.resource.kind}})
      .set(static_cast<double>(kWorkers));
}

void ReconcileLoop::add(const k8s::ObjectKey& key) {
  if (handles_(key.namespaceName)) queue_.add(nameOf(key));
}

void ReconcileLoop::addForChild(const k8s::ObjectKey& key) {
  if (handles_(key.namespaceName)) queue_.addAfter(nameOf(key), kChildDelay);
}

void ReconcileLoop::factsChanged(const FactKeys& keys) {
  for (const auto& [name, facts] : lookedUp_) {
    if (render::intersect(*facts, keys)) queue_.add(name);
  }
}

void ReconcileLoop::forget(const k8s::ObjectKey& key) {
  setLookedUp(nameOf(key), {});
  emptied_.insert_or_assign(key.namespaceName, std::chrono::steady_clock::now());
}

void ReconcileLoop::updateMetrics(std::chrono::steady_clock::time_point now) {
  queue_.updateMetrics();
  std::erase_if(emptied_, [&](const auto& each) {
    const auto& [namespaceName, since] = each;
    if (now < since + kKeepMetrics) return false;
    const bool used = handles_(namespaceName) && !environment_.cache
                                                      .keysInNamespace(kube::apiVersionOf(kind_.resource),
                                                                       kind_.resource.kind, namespaceName)
                                                      .empty();
    if (!used) removeMetrics(namespaceName);
    return true;
  });
}

void ReconcileLoop::removeMetrics(const std::string& namespaceName) {
  const observability::Label kind{"resource_type", kind_.resource.kind};
  const observability::Label inNamespace{"namespace", namespaceName};
  for (const std::string_view name : {kReconciles, kErrors})
    metrics_.removeCounters(name, {kind, inNamespace});
  metrics_.removeHistograms(kDuration, {kind, inNamespace});
}

void ReconcileLoop::setLookedUp(const k8s::NamespacedName& name, FactKeys keys) {
  const auto stored = lookedUp_.find(name);
  if (stored != lookedUp_.end()) {
    if (*stored->second == keys) return;
    const auto set = factSets_.find(*stored->second);
    if (--set->second == 0) factSets_.erase(set);
    lookedUp_.erase(stored);
  }
  if (keys.empty()) return;
  const auto set = factSets_.try_emplace(std::move(keys), 0).first;
  ++set->second;
  lookedUp_.emplace(name, &set->first);
}

void ReconcileLoop::start() {
  for (std::size_t i = 0; i < kWorkers; ++i) workers_.spawn(work());
}

Task<void> ReconcileLoop::stop() {
  stopping_ = true;
  queue_.shutDown();
  co_await workers_.join();
}

Task<void> ReconcileLoop::work() {
  while (std::optional<k8s::NamespacedName> name = co_await queue_.next()) {
    co_await awaitRestore();
    activeWorkers_.add(1);
    co_await reconcile(*name);
    activeWorkers_.add(-1);
    queue_.done(*name);
  }
}

Task<void> ReconcileLoop::awaitRestore() {
  const auto& restores = environment_.client.restores();
  while (restores->inProgress() && !stopping_ && !environment_.loop.stopping())
    co_await environment_.loop.sleepUntil(std::chrono::steady_clock::now() + kRestorePoll);
}

Task<void> ReconcileLoop::reconcile(k8s::NamespacedName name) {
  const k8s::ObjectKey key = keyIn(kind_.resource, name.namespaceName, name.name);
  // Another operator may have taken over the namespace while the key was queued.
  if (!handles_(key.namespaceName)) {
    queue_.forget(name);
    forget(key);
    environment_.failingSince.erase(key);
    co_return;
  }
  const auto start = std::chrono::steady_clock::now();
  ReconcileResult result;
  try {
    result = co_await kind_.reconciler->reconcile(environment_, key);
  } catch (const std::exception&) {
    // Only this object is retried. Other objects are not affected.
    panics_.increment();
    result.ending = lifecycle::Permanent{std::string{"unexpected "} + runtime::currentExceptionType()};
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  finish(name, key, result, took.count());
}

void ReconcileLoop::finish(const k8s::NamespacedName& name, const k8s::ObjectKey& key,
                           const ReconcileResult& result, double seconds) {
  setLookedUp(name, result.lookedUp);
  if (environment_.queues != nullptr) environment_.queues->lookedUp(result.lookedUp);
  for (const k8s::NamespacedName& other : result.others) queue_.add(other);
  const lifecycle::Ending& ending = result.ending;
  const bool conflict = std::holds_alternative<lifecycle::Conflict>(ending);
  const bool failed = isError(ending);
  if (failed || result.prevented) {
    environment_.failingSince.try_emplace(key, std::chrono::steady_clock::now());
  } else if (!conflict) {
    environment_.failingSince.erase(key);
  }
  const bool requeued = isDone(ending) && result.requeueAfter.has_value();
  if (isDone(ending)) {
    queue_.forget(name);
    if (requeued) queue_.addAfter(name, *result.requeueAfter);
  } else {
    const auto* transient = std::get_if<lifecycle::Transient>(&ending);
    queue_.addRateLimited(name, transient == nullptr ? std::chrono::seconds{0} : transient->retryAfter);
  }
  const bool again = requeued || !isDone(ending);
  const std::string_view ended = failed ? "error" : again ? "requeue" : "success";
  if (failed) {
    kLog.warn("reconcile failed, retrying", {{"object", k8s::toText(key)}, {"error", messageOf(ending)}});
  } else if (!isDone(ending)) {
    kLog.debug(conflict ? "conflict, retrying" : "waiting",
               {{"object", k8s::toText(key)}, {"error", messageOf(ending)}});
  }
  const std::string_view kind = kind_.resource.kind;
  metrics_
      .histogram(kDuration, "Duration of reconciles.", kReferenceBuckets,
                 {{"resource_type", kind}, {"namespace", key.namespaceName}, {"result", ended}})
      .observe(seconds);
  metrics_
      .counter(kReconciles, "Reconciles.",
               {{"resource_type", kind}, {"namespace", key.namespaceName}, {"result", ended}})
      .increment();
  metrics_
      .histogram("controller_runtime_reconcile_time_seconds", "Duration of reconciles.", kRuntimeBuckets,
                 {{"controller", kind}})
      .observe(seconds);
  metrics_
      .counter("controller_runtime_reconcile_total", "Reconciles.",
               {{"controller", kind}, {"result", requeued && !failed ? "requeue_after" : ended}})
      .increment();
  if (!failed) return;
  errors_.increment();
  metrics_
      .counter(
          kErrors, "Failed reconciles by type of the error.",
          {{"resource_type", kind}, {"namespace", key.namespaceName}, {"error_type", errorTypeOf(ending)}})
      .increment();
}

}  // namespace dynamo::controller
