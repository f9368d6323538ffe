#include "controller/kube/work_queue.h"

#include <algorithm>
#include <array>

namespace dynamo::kube {
namespace {

// Powers of ten in seconds from 10 ns to 10 s, as in client-go.
constexpr std::array<double, 10> kBuckets = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10};

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

WorkQueue::WorkQueue(runtime::EventLoop& loop, std::string_view name, observability::Registry* metrics)
    : WorkQueue(loop, name, metrics, Options{}) {}

WorkQueue::WorkQueue(runtime::EventLoop& loop, std::string_view name, observability::Registry* metrics,
                     Options options)
    : loop_(loop), options_(std::move(options)), changed_(loop), due_(options_.workers) {
  if (metrics == nullptr) return;
  const observability::Label label{"name", name};
  depthMetric_ = metrics->gauge("workqueue_depth", "Keys that wait for a worker.", {label});
  adds_ = metrics->counter("workqueue_adds_total", "Keys that were queued.", {label});
  retries_ =
      metrics->counter("workqueue_retries_total", "Keys that were queued again after a failure.", {label});
  queueSeconds_ = metrics->histogram("workqueue_queue_duration_seconds",
                                     "Time that keys waited for a worker, in seconds.", kBuckets, {label});
  workSeconds_ = metrics->histogram("workqueue_work_duration_seconds",
                                    "Time that workers took for a key, in seconds.", kBuckets, {label});
  unfinished_ =
      metrics->gauge("workqueue_unfinished_work_seconds",
                     "Total time that workers have spent on their current keys, in seconds.", {label});
  longest_ = metrics->gauge("workqueue_longest_running_processor_seconds",
                            "Longest time that a worker has spent on its current key, in seconds.", {label});
}

void WorkQueue::push(const Key& key) {
  adds_.increment();
  waiting_.emplace(key, options_.clock());
  due_.push(key.namespaceName, key);
  depthMetric_.set(static_cast<double>(due_.waiting()));
  changed_.notify();
}

void WorkQueue::add(const Key& key) {
  if (shutDown_ || waiting_.contains(key)) return;
  if (processing_.contains(key)) {
    again_.insert(key);
    return;
  }
  push(key);
}

void WorkQueue::addAfter(const Key& key, std::chrono::milliseconds delay) {
  if (shutDown_) return;
  if (delay <= delay.zero()) return add(key);
  const TimePoint when = options_.clock() + delay;
  const auto known = delayed_.find(key);
  if (known != delayed_.end()) {
    if (known->second <= when) return;
    byTime_.erase({known->second, key});
  }
  delayed_.insert_or_assign(key, when);
  byTime_.emplace(when, key);
  changed_.notify();
}

void WorkQueue::addRateLimited(const Key& key, std::chrono::milliseconds atLeast) {
  const unsigned failures = failures_[key]++;
  retries_.increment();
  // With this exponent the delay exceeds the default of maxRetry.
  constexpr unsigned kMaxExponent = 30;
  const auto delay = options_.firstRetry * (1LL << std::min(failures, kMaxExponent));
  addAfter(key, std::max(atLeast, std::min<std::chrono::milliseconds>(delay, options_.maxRetry)));
}

void WorkQueue::moveDue() {
  const TimePoint now = options_.clock();
  while (!byTime_.empty() && byTime_.begin()->first <= now) {
    const Key key = byTime_.begin()->second;
    byTime_.erase(byTime_.begin());
    delayed_.erase(key);
    add(key);
  }
}

std::optional<WorkQueue::Key> WorkQueue::tryNext() {
  moveDue();
  if (shutDown_) return std::nullopt;
  std::optional<Key> key = due_.take();
  if (!key) return std::nullopt;
  depthMetric_.set(static_cast<double>(due_.waiting()));
  const TimePoint now = options_.clock();
  if (const auto since = waiting_.find(*key); since != waiting_.end()) {
    queueSeconds_.observe(seconds(now - since->second));
    waiting_.erase(since);
  }
  processing_.emplace(*key, now);
  return key;
}

runtime::Task<std::optional<WorkQueue::Key>> WorkQueue::next() {
  while (!shutDown_ && !loop_.stopping()) {
    std::optional<Key> key = tryNext();
    if (key) co_return key;
    const runtime::Deadline until = byTime_.empty() ? runtime::kNoDeadline : byTime_.begin()->first;
    co_await changed_.wait(until);
  }
  co_return std::nullopt;
}

void WorkQueue::done(const Key& key) {
  const auto since = processing_.find(key);
  if (since == processing_.end()) return;
  workSeconds_.observe(seconds(options_.clock() - since->second));
  processing_.erase(since);
  due_.release(key.namespaceName);
  if (again_.erase(key) != 0) push(key);
  // A key of any namespace may have waited for this worker.
  if (due_.waiting() > 0) changed_.notify();
}

void WorkQueue::shutDown() {
  shutDown_ = true;
  changed_.notify();
}

void WorkQueue::updateMetrics() {
  moveDue();  // keys that are due wait for a worker
  double sum = 0;
  double longest = 0;
  for (const auto& [key, since] : processing_) {
    const double busy = seconds(options_.clock() - since);
    sum += busy;
    longest = std::max(longest, busy);
  }
  unfinished_.set(sum);
  longest_.set(longest);
}

}  // namespace dynamo::kube
