#include "controller/scope/marker_holder.h"

#include <algorithm>

#include "common/k8s/duration.h"
#include "common/observability/log.h"

namespace dynamo::controller {
namespace {

constexpr log::Logger kLog{"scope"};

using kube::ApiError;
using kube::Reason;
using runtime::Deadline;
using runtime::Task;
using std::chrono::milliseconds;

/// The interval between attempts to write the Lease at the start.
constexpr milliseconds kStartRetry{1000};
/// The time in which a cluster-wide operator observes a new Lease. Its watch reports the Lease within
/// milliseconds, and it checks the Lease before each write. One second also covers a slow API server.
constexpr milliseconds kTakeOverTime{1000};
/// The timeout for deleting the Lease, as in the reference. It is shorter than the time after which a pod is
/// killed.
constexpr milliseconds kReleaseTime{5000};
/// The maximum number of attempts of one renewal if other processes write the Lease at the same time.
constexpr int kMaxConflicts = 3;
/// The maximum number of holders that are logged, once each. A larger number means that a tenant writes
/// arbitrary names into the Lease.
constexpr std::size_t kMaxReportedHolders = 16;

}  // namespace

MarkerAccess markerAccess(kube::Client& client, const std::string& namespaceName) {
  const std::string name{kMarkerLeaseName};
  MarkerAccess access;
  access.get = [&client, namespaceName, name](kube::CallOptions call) {
    return client.get(leaseResource(), namespaceName, name, call);
  };
  access.create = [&client, namespaceName](std::string body, kube::CallOptions call) {
    return client.create(leaseResource(), namespaceName, std::move(body), false, call);
  };
  access.replace = [&client, namespaceName, name](std::string body, kube::CallOptions call) {
    return client.replace(leaseResource(), namespaceName, name, std::move(body), {}, call);
  };
  access.remove = [&client, namespaceName, name](const kube::Preconditions& preconditions,
                                                 kube::CallOptions call) {
    return client.remove(leaseResource(), namespaceName, name, preconditions, {}, call);
  };
  return access;
}

MarkerLeaseHolder::MarkerLeaseHolder(runtime::EventLoop& loop, MarkerOptions options, MarkerAccess access,
                                     std::function<Now()> clock)
    : loop_(loop),
      options_(std::move(options)),
      access_(std::move(access)),
      clock_(std::move(clock)),
      identity_(markerHolderIdentity(options_.operatorVersion, options_.podName)),
      changed_(loop) {}

bool MarkerLeaseHolder::holding() const {
  return !released_ && renewedAt_ && clock_().steady < *renewedAt_ + actingTime(options_.times);
}

kube::CallOptions MarkerLeaseHolder::callUntil(Deadline deadline) const {
  const auto left = std::chrono::floor<milliseconds>(deadline - std::chrono::steady_clock::now());
  return kube::CallOptions{std::max(left, milliseconds{1}), true};
}

void MarkerLeaseHolder::observe(const MarkerLease& lease) {
  const Now now = clock_();
  const bool foreign = !lease.holder.empty() && lease.holder != identity_;
  const bool held = foreign && isHeld(seeLease(nullptr, lease, now), now);
  // After the first renewal only another operator can have written this. Before it, the holder of an expired
  // Lease has ended.
  sharedLease_ = renewedAt_ ? foreign : held;
  if (!foreign || isReplicaOf(lease.holder, identity_) || reportedHolders_.size() >= kMaxReportedHolders)
    return;
  if (!held || !reportedHolders_.insert(lease.holder).second) return;
  // cfg-Q9
  kLog.warn("another operator holds the marker lease of this namespace; it is taken over",
            {{"namespace", options_.namespaceName}, {"holder", lease.holder}, {"identity", identity_}});
}

Task<MarkerLeaseHolder::Written> MarkerLeaseHolder::attempt(Deadline deadline) {
  const Now started = clock_();
  retryAtOnce_ = false;
  auto got = co_await access_.get(callUntil(deadline));
  if (released_) co_return Written::No;
  if (const auto* error = std::get_if<ApiError>(&got)) {
    problem_ = error->message;
    if (error->reason != Reason::NotFound) co_return Written::No;
    sharedLease_ = false;
    std::string body =
        newMarkerLease(options_.namespaceName, identity_, options_.times.duration, started.wall);
    auto created = co_await access_.create(std::move(body), callUntil(deadline));
    if (const auto* refused = std::get_if<ApiError>(&created)) {
      problem_ = refused->message;
      retryAtOnce_ = refused->reason == Reason::AlreadyExists;
      co_return Written::No;
    }
    renewedAt_ = started.steady;
    co_return Written::TakenOver;
  }
  json::Document lease = std::move(std::get<json::Document>(got));
  const MarkerLease before = readMarkerLease(lease);
  observe(before);
  const bool valid = isHeld(seeLease(nullptr, before, started), started);
  renewMarkerLease(lease, identity_, options_.times.duration, started.wall);
  std::string body = json::dump(lease);
  auto replaced = co_await access_.replace(std::move(body), callUntil(deadline));
  if (const auto* refused = std::get_if<ApiError>(&replaced)) {
    problem_ = refused->message;
    // NotFound means that the Lease was deleted between the read and the write.
    retryAtOnce_ = refused->reason == Reason::Conflict || refused->reason == Reason::NotFound;
    co_return Written::No;
  }
  renewedAt_ = started.steady;
  co_return valid ? Written::Renewed : Written::TakenOver;
}

Task<MarkerLeaseHolder::Written> MarkerLeaseHolder::writeUntil(Deadline deadline) {
  writing_ = true;
  Written written = Written::No;
  for (int i = 0; i < kMaxConflicts && !released_; ++i) {
    written = co_await attempt(deadline);
    if (written != Written::No || !retryAtOnce_) break;
  }
  writing_ = false;
  changed_.notify();
  co_return written;
}

Task<MarkerLeaseHolder::Failure> MarkerLeaseHolder::acquire() {
  const Deadline deadline = std::chrono::steady_clock::now() + options_.times.duration;
  while (!loop_.stopping() && !released_) {
    const Deadline next =
        std::chrono::steady_clock::now() + std::max(options_.times.renewInterval, kStartRetry);
    const Written written = co_await writeUntil(std::min(next, deadline));
    if (written != Written::No) {
      kLog.info("marked the namespace", {{"namespace", options_.namespaceName}, {"identity", identity_}});
      // A lease with a short renewal interval must be renewed before kTakeOverTime has passed.
      const Deadline noticed =
          std::chrono::steady_clock::now() + std::min(kTakeOverTime, options_.times.renewInterval / 2);
      if (written == Written::TakenOver) co_await loop_.sleepUntil(noticed);
      break;
    }
    if (loop_.stopping() || released_) break;
    if (std::chrono::steady_clock::now() + kStartRetry >= deadline) {
      Failure failure =
          "cannot write the marker lease of namespace " + options_.namespaceName + ": " + problem_;
      co_return failure;
    }
    kLog.warn("cannot write the marker lease", {{"namespace", options_.namespaceName}, {"error", problem_}});
    const Deadline retry = std::chrono::steady_clock::now() + kStartRetry;
    co_await changed_.wait(retry);
  }
  co_return std::nullopt;
}

Task<MarkerLeaseHolder::Failure> MarkerLeaseHolder::hold() {
  unsigned failures = 0;
  Deadline next = renewedAt_.value_or(std::chrono::steady_clock::now()) + options_.times.renewInterval;
  for (;;) {
    while (!loop_.stopping() && !released_ && std::chrono::steady_clock::now() < next)
      co_await changed_.wait(next);
    if (loop_.stopping() || released_) co_return std::nullopt;
    const Deadline started = std::chrono::steady_clock::now();
    next = started + options_.times.renewInterval;
    const Deadline safe = renewedAt_.value_or(started) + actingTime(options_.times);
    const Written written = co_await writeUntil(std::min(next, safe));
    if (loop_.stopping() || released_) co_return std::nullopt;
    if (written != Written::No) {
      failures = 0;
      continue;
    }
    ++failures;
    kLog.warn("cannot renew the marker lease",
              {{"namespace", options_.namespaceName}, {"failures", failures}, {"error", problem_}});
    if (failures < maxRenewalFailures(options_.times) && holding()) continue;
    Failure failure = "could not renew the marker lease of namespace " + options_.namespaceName + " " +
                      std::to_string(failures) + " times in a row: " + problem_;
    co_return failure;
  }
}

Task<void> MarkerLeaseHolder::release() {
  released_ = true;
  changed_.notify();
  const Deadline deadline = std::chrono::steady_clock::now() + kReleaseTime;
  // A create request in progress would otherwise create the Lease again.
  while (writing_ && !loop_.stopping() && std::chrono::steady_clock::now() < deadline)
    co_await changed_.wait(deadline);
  if (!renewedAt_) co_return;  // the Lease was never written
  for (int i = 0; i < kMaxConflicts; ++i) {
    auto got = co_await access_.get(callUntil(deadline));
    const auto* error = std::get_if<ApiError>(&got);
    if (error != nullptr) {
      if (error->reason != Reason::NotFound)
        kLog.warn("cannot release the marker lease",
                  {{"namespace", options_.namespaceName}, {"error", error->message}});
      co_return;
    }
    const MarkerLease lease = readMarkerLease(std::get<json::Document>(got));
    if (lease.holder != identity_ || sharedLease_) {
      kLog.info("another operator renews the marker lease; it is kept",
                {{"namespace", options_.namespaceName}, {"holder", lease.holder}});
      co_return;
    }
    kube::Preconditions preconditions{lease.uid, lease.resourceVersion};
    auto removed = co_await access_.remove(preconditions, callUntil(deadline));
    const auto* refused = std::get_if<ApiError>(&removed);
    if (refused == nullptr) {
      kLog.info("released the namespace", {{"namespace", options_.namespaceName}});
      co_return;
    }
    if (refused->reason == Reason::NotFound) co_return;
    if (refused->reason != Reason::Conflict) {
      kLog.warn("cannot release the marker lease",
                {{"namespace", options_.namespaceName}, {"error", refused->message}});
      co_return;
    }
  }
}

}  // namespace dynamo::controller
