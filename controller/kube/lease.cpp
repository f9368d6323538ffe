#include "controller/kube/lease.h"

#include <utility>

#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/observability/log.h"

namespace dynamo::kube {
namespace {

constexpr log::Logger kLog{"lease"};

using json::Value;
using runtime::Deadline;
using runtime::Task;

const Resource& leases() {
  static const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
  return kLeases;
}

std::int64_t numberOf(const Value* object, std::string_view key) {
  const Value* value = json::find(object, key);
  return value != nullptr && value->IsInt64() ? value->GetInt64() : 0;
}

}  // namespace

LeaseAccess leaseAccess(Client& client, const LeaseOptions& options) {
  // The timeout is shorter than the renew time, so that a request that hangs does not delay the next attempt.
  const CallOptions call{options.renewTime / 2, true};
  LeaseAccess access;
  access.get = [&client, options, call] {
    return client.get(leases(), options.namespaceName, options.name, call);
  };
  access.create = [&client, options, call](std::string body) {
    return client.create(leases(), options.namespaceName, std::move(body), false, call);
  };
  access.replace = [&client, options, call](std::string body) {
    return client.replace(leases(), options.namespaceName, options.name, std::move(body), {}, call);
  };
  return access;
}

LeaseRecord readLease(const Value& lease) {
  const Value* spec = json::findObject(&lease, "spec");
  LeaseRecord record;
  record.resourceVersion = json::findText(json::find(lease, "metadata"), "resourceVersion");
  record.holder = json::findText(spec, "holderIdentity");
  record.duration = std::chrono::seconds{numberOf(spec, "leaseDurationSeconds")};
  record.acquireTime = json::findText(spec, "acquireTime");
  record.renewTime = json::findText(spec, "renewTime");
  record.transitions = numberOf(spec, "leaseTransitions");
  const auto textOf = [&](std::string_view member) {
    const Value* value = json::findObject(json::find(lease, "metadata"), member);
    return value == nullptr ? std::string{} : json::dump(*value);
  };
  record.labels = textOf("labels");
  record.annotations = textOf("annotations");
  return record;
}

LeaderElector::LeaderElector(runtime::EventLoop& loop, LeaseOptions options, LeaseAccess access,
                             observability::Registry* metrics)
    : LeaderElector(loop, std::move(options), std::move(access), metrics, Clocks{}) {}

LeaderElector::LeaderElector(runtime::EventLoop& loop, LeaseOptions options, LeaseAccess access,
                             observability::Registry* metrics, Clocks clocks)
    : loop_(loop),
      options_(std::move(options)),
      access_(std::move(access)),
      clocks_(std::move(clocks)),
      changed_(loop) {
  if (metrics == nullptr) return;
  status_ = metrics->gauge("leader_election_master_status", "1 if this process is the leader.",
                           {{"name", options_.name}});
  status_.set(0);
  slowPath_ = metrics->counter("leader_election_slowpath_total",
                               "Renewals that had to read the Lease, because another process had changed it.",
                               {{"name", options_.name}});
}

bool LeaderElector::leading() const {
  return !released_ && renewedAt_ && seen_.holder == options_.identity &&
         clocks_.steady() < *renewedAt_ + options_.renewTime;
}

void LeaderElector::setLeading(bool leading) {
  status_.set(leading ? 1 : 0);
}

void LeaderElector::observe(LeaseRecord record) {
  const bool same = record.resourceVersion == seen_.resourceVersion && record.holder == seen_.holder;
  // Clocks of other machines are not used: a lease expires when it has not changed for its duration.
  if (!same) seenAt_ = clocks_.steady();
  seen_ = std::move(record);
}

std::string LeaderElector::leaseBody(const LeaseRecord* old, bool released) const {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  const bool ours = old != nullptr && old->holder == options_.identity;
  const std::string now = k8s::formatMicroTime(clocks_.wall());
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.duration).count();
  Value metadata = make.object("name", options_.name, "namespace", options_.namespaceName);
  if (old != nullptr) {
    make.set(metadata, "resourceVersion", old->resourceVersion);
    for (const auto& [member, text] :
         {std::pair{"labels", &old->labels}, std::pair{"annotations", &old->annotations}}) {
      json::Document value;
      if (!text->empty() && !json::parse(*text, value)) make.set(metadata, member, make.value(value));
    }
  }
  Value spec =
      make.object("holderIdentity", released ? std::string{} : options_.identity, "leaseDurationSeconds",
                  released ? 1 : seconds, "acquireTime",
                  ours && !old->acquireTime.empty() ? old->acquireTime : now, "renewTime", now,
                  "leaseTransitions", old == nullptr ? 0 : old->transitions + (ours || released ? 0 : 1));
  return json::dump(make.object("apiVersion", "coordination.k8s.io/v1", "kind", "Lease", "metadata",
                                std::move(metadata), "spec", std::move(spec)));
}

Task<LeaderElector::Written> LeaderElector::write() {
  const auto started = clocks_.steady();
  // The resourceVersion makes the update fail if another process has changed the Lease.
  std::string body = leaseBody(&seen_, false);
  auto replaced = co_await access_.replace(std::move(body));
  if (released_) co_return Written::No;
  if (auto* error = std::get_if<ApiError>(&replaced)) {
    if (error->reason == Reason::Conflict || error->reason == Reason::NotFound) co_return Written::Outdated;
    kLog.warn("cannot write the lease", {{"name", options_.name}, {"error", error->message}});
    co_return Written::No;
  }
  observe(readLease(std::get<json::Document>(replaced)));
  renewedAt_ = started;
  co_return Written::Yes;
}

Task<bool> LeaderElector::tryOnce() {
  if (leading() && seen_.holder == options_.identity) {
    const Written renewed = co_await write();
    if (renewed != Written::Outdated) co_return renewed == Written::Yes;
    slowPath_.increment();
  }
  const auto started = clocks_.steady();
  auto got = co_await access_.get();
  if (released_) co_return false;
  if (auto* error = std::get_if<ApiError>(&got)) {
    if (error->reason != Reason::NotFound) {
      kLog.warn("cannot read the lease", {{"name", options_.name}, {"error", error->message}});
      co_return false;
    }
    std::string body = leaseBody(nullptr, false);
    auto created = co_await access_.create(std::move(body));
    if (released_) co_return false;
    if (const auto* refused = std::get_if<ApiError>(&created)) {
      if (refused->reason != Reason::AlreadyExists)
        kLog.warn("cannot create the lease", {{"name", options_.name}, {"error", refused->message}});
      co_return false;
    }
    observe(readLease(std::get<json::Document>(created)));
    renewedAt_ = started;
    co_return true;
  }
  observe(readLease(std::get<json::Document>(got)));
  const bool ours = seen_.holder == options_.identity;
  const bool expired =
      clocks_.steady() >= seenAt_ + std::max<std::chrono::milliseconds>(seen_.duration, options_.retry);
  if (!ours && !seen_.holder.empty() && !expired) co_return false;
  const Written written = co_await write();
  co_return written == Written::Yes;
}

Task<bool> LeaderElector::acquire() {
  std::string reported;
  while (!loop_.stopping() && !released_) {
    const bool got = co_await tryOnce();
    if (got) {
      setLeading(true);
      kLog.info("acquired the lease", {{"name", options_.name}, {"identity", options_.identity}});
      co_return true;
    }
    if (!seen_.holder.empty() && seen_.holder != reported) {
      reported = seen_.holder;
      kLog.info("another process holds the lease", {{"name", options_.name}, {"holder", reported}});
    }
    const Deadline until = std::chrono::steady_clock::now() + options_.retry;
    co_await changed_.wait(until);
  }
  co_return false;
}

Task<void> LeaderElector::hold() {
  while (!loop_.stopping() && !released_) {
    const Deadline until = std::chrono::steady_clock::now() + options_.retry;
    co_await loop_.sleepUntil(until);
    if (loop_.stopping() || released_) break;
    co_await tryOnce();
    if (seen_.holder != options_.identity || !leading()) break;
  }
  setLeading(false);
  if (!released_ && !loop_.stopping())
    kLog.error("lost the lease", {{"name", options_.name}, {"holder", seen_.holder}});
}

Task<void> LeaderElector::release() {
  const bool held = leading();
  released_ = true;
  setLeading(false);
  changed_.notify();
  if (!held) co_return;
  // A renewal in progress may have changed the Lease. The second attempt uses the new resourceVersion.
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::string body = leaseBody(&seen_, true);
    auto replaced = co_await access_.replace(std::move(body));
    const auto* error = std::get_if<ApiError>(&replaced);
    if (error == nullptr) co_return;
    if (error->reason != Reason::Conflict || attempt == 1) {
      kLog.warn("cannot release the lease", {{"name", options_.name}, {"error", error->message}});
      co_return;
    }
    auto got = co_await access_.get();
    if (std::holds_alternative<ApiError>(got)) co_return;
    observe(readLease(std::get<json::Document>(got)));
    if (seen_.holder != options_.identity) co_return;
  }
}

}  // namespace dynamo::kube
