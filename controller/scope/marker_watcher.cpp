#include "controller/scope/marker_watcher.h"

#include <algorithm>
#include <memory>
#include <set>

#include "common/observability/log.h"
#include "controller/kube/decode.h"

namespace dynamo::controller {
namespace {

constexpr log::Logger kLog{"scope"};

using json::Value;
using kube::ApiError;
using runtime::Deadline;
using runtime::Task;
using std::chrono::milliseconds;

constexpr std::string_view kMetric = "dynamo_operator_excluded_namespaces";
constexpr std::string_view kMetricHelp = "1 if a namespace-restricted operator holds the namespace.";
/// The timeout of a list of the Leases and of the start of a watch. They take milliseconds, or seconds in a
/// cluster with thousands of nodes, each of which has a Lease. A request that hangs is retried on another
/// connection.
constexpr milliseconds kLeaseTimeout{10'000};
constexpr milliseconds kConfirmRetry{1000};
/// The maximum length of a holder label. Prefix, version and pod name are shorter.
constexpr std::size_t kMaxHolderLabel = 128;
/// Bounds of the time for which a broken connection can hide that a restricted operator has taken a
/// namespace. Until then both operators change it.
constexpr std::chrono::seconds kMarkerWatchTime{25};
constexpr milliseconds kMarkerMaxDelay{3000};
/// Added to the end of a lease, because a lease is still valid in its last moment.
constexpr milliseconds kTick{1};

const kube::Resource& namespaceResource() {
  static const kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
  return kNamespaces;
}

std::string equalLabels(const std::map<std::string, std::string>& labels) {
  std::string out;
  for (const auto& [key, value] : labels) {
    if (!out.empty()) out += ',';
    out.append(key).append("=").append(value);
  }
  return out;
}

kube::WatchedSet markerLeases() {
  kube::WatchedSet set;
  set.fieldSelector = kMarkerLeaseFieldSelector;
  set.watchTime = kMarkerWatchTime;
  set.maxDelay = kMarkerMaxDelay;
  return set;
}

kube::WatchedSet labelledNamespaces(const std::map<std::string, std::string>& labels) {
  kube::WatchedSet set;
  set.labelSelector = equalLabels(labels);
  return set;
}

/// Returns the holder as a label value, without the name of the pod: the replicas of an operator renew the
/// Lease in turn. A tenant may write arbitrary text into a Lease.
std::string holderLabel(std::string_view holder) {
  std::string out{holder.substr(0, std::min(holder.find('_'), kMaxHolderLabel))};
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

std::string_view nameOf(const Value& object) {
  return json::findText(json::find(object, "metadata"), "name");
}

}  // namespace

MarkerSource markerSource(kube::Client& client) {
  MarkerSource source;
  kube::CallOptions call{kube::Slots::Cluster};
  call.timeout = kLeaseTimeout;
  source.leases = kube::listWatchOf(client, leaseResource(), {}, call);
  source.namespaces = kube::listWatchOf(client, namespaceResource(), {});
  source.confirm = [&client, call](const kube::ListOptions& options) {
    return client.list(leaseResource(), {}, options, call);
  };
  return source;
}

MarkerLeaseWatcher::MarkerLeaseWatcher(runtime::EventLoop& loop, MarkerSource source,
                                       const std::map<std::string, std::string>& namespaceLabels,
                                       observability::Registry* metrics)
    : loop_(loop),
      source_(std::move(source)),
      labelledOnly_(!namespaceLabels.empty()),
      held_(labelledOnly_),
      leases_(loop, leaseResource(), markerLeases(), source_.leases, leaseSink()),
      namespaces_(loop, namespaceResource(), labelledNamespaces(namespaceLabels), source_.namespaces,
                  namespaceSink()),
      changed_(loop),
      metrics_(metrics) {
  held_.onChange([this](const HeldNamespaces::Change& change) { report(change); });
}

void MarkerLeaseWatcher::onChange(std::function<void(const std::string&, bool)> listener) {
  held_.onChange([listener = std::move(listener)](const HeldNamespaces::Change& change) {
    listener(change.namespaceName, change.excluded);
  });
}

kube::Sink MarkerLeaseWatcher::leaseSink() {
  kube::Sink sink;
  sink.listBegins = [this] { held_.listBegins(); };
  sink.present = [this](const Value& object) {
    MarkerLease lease = readMarkerLease(object);
    const std::string name = lease.namespaceName;
    held_.present(std::move(lease), currentTime());
    exportHolder(name);
    changed_.notify();
  };
  sink.deleted = [this](const Value& lease) { held_.deleted(readMarkerLease(lease).namespaceName); };
  sink.listEnds = [this](std::string_view) {
    held_.listEnds();
    changed_.notify();
  };
  return sink;
}

kube::Sink MarkerLeaseWatcher::namespaceSink() {
  using Names = std::set<std::string, std::less<>>;
  auto listed = std::make_shared<std::optional<Names>>();
  kube::Sink sink;
  sink.listBegins = [listed] { listed->emplace(); };
  sink.present = [this, listed](const Value& object) {
    if (*listed) {
      (*listed)->insert(std::string{nameOf(object)});
    } else {
      held_.setLabelled(nameOf(object), true);
    }
  };
  sink.deleted = [this](const Value& object) { held_.setLabelled(nameOf(object), false); };
  sink.listEnds = [this, listed](std::string_view) {
    held_.setLabelledOnes(**listed);
    listed->reset();
    changed_.notify();
  };
  return sink;
}

bool MarkerLeaseWatcher::synced() const {
  return leases_.synced() && (!labelledOnly_ || namespaces_.synced());
}

Task<void> MarkerLeaseWatcher::run() {
  loop_.spawn(leases_.run());
  if (labelledOnly_) loop_.spawn(namespaces_.run());
  co_await expire();
}

Task<std::optional<std::string>> MarkerLeaseWatcher::waitSynced(Deadline deadline) {
  while (!synced()) {
    const auto waited = co_await changed_.wait(deadline);
    if (waited == runtime::WaitResult::Ready || synced()) continue;
    const bool leasesMissing = !leases_.synced();
    const std::string& problem = leasesMissing ? leases_.problem() : namespaces_.problem();
    std::optional<std::string> error{leasesMissing ? "cannot list the marker leases of restricted operators"
                                                   : "cannot list namespaces"};
    if (!problem.empty()) error->append(": ").append(problem);
    co_return error;
  }
  co_return std::nullopt;
}

Task<void> MarkerLeaseWatcher::expire() {
  Deadline retry = Deadline::min();
  while (!loop_.stopping()) {
    const auto next = held_.nextExpiry();
    const Deadline wake = next ? std::max(*next + kTick, retry) : runtime::kNoDeadline;
    if (wake > std::chrono::steady_clock::now()) {
      co_await changed_.wait(wake);
      continue;
    }
    const std::vector<std::string> due = held_.due(currentTime());
    if (due.empty()) continue;
    // The watch may lag behind. A renewal that it has not reported yet must prevent the end of an exclusion.
    kube::ListOptions options;
    options.fieldSelector = kMarkerLeaseFieldSelector;
    auto listed = co_await source_.confirm(options);
    auto page = std::holds_alternative<ApiError>(listed)
                    ? kube::Result<kube::ListPage>{std::get<ApiError>(listed)}
                    : kube::decodeList(std::move(std::get<json::Document>(listed)));
    if (const auto* error = std::get_if<ApiError>(&page)) {
      if (loop_.stopping()) co_return;
      kLog.warn("cannot confirm that a marker lease has run out", {{"error", error->message}});
      retry = std::chrono::steady_clock::now() + kConfirmRetry;
      continue;
    }
    const Now now = currentTime();
    for (const Value& item : std::get<kube::ListPage>(page).items()) {
      MarkerLease lease = readMarkerLease(item);
      if (std::find(due.begin(), due.end(), lease.namespaceName) != due.end())
        held_.present(std::move(lease), now);
    }
    held_.expire(due, now);
  }
}

void MarkerLeaseWatcher::report(const HeldNamespaces::Change& change) {
  kLog.info(
      change.excluded ? "a restricted operator holds the namespace" : "the namespace is no longer excluded",
      {{"namespace", change.namespaceName}, {"holder", change.holder}});
  exportHolder(change.namespaceName);
}

void MarkerLeaseWatcher::exportHolder(const std::string& namespaceName) {
  if (metrics_ == nullptr) return;
  const bool excluded = held_.excludes(namespaceName);
  const std::string holder = holderLabel(held_.holder(namespaceName));
  const auto found = gauges_.find(namespaceName);
  if (found != gauges_.end()) {
    if (excluded && found->second.holder == holder) return;
    metrics_->removeGauge(kMetric, found->second.gauge);
    gauges_.erase(found);
  }
  if (!excluded) return;
  Exported exported{
      holder, metrics_->gauge(kMetric, kMetricHelp, {{"namespace", namespaceName}, {"holder", holder}})};
  exported.gauge.set(1);
  gauges_.emplace(namespaceName, std::move(exported));
}

}  // namespace dynamo::controller
