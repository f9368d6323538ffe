#include "controller/reconcile/resource_counts.h"

#include <iterator>

#include "common/lifecycle/component_status.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using json::Value;

constexpr std::string_view kMetric = "dynamo_operator_resources_total";
constexpr std::string_view kHelp = "Custom resources by status.";

std::string_view readiness(bool ready) {
  return ready ? "ready" : "not_ready";
}

}  // namespace

std::string_view graphState(const Value& graph) {
  return json::findText(lifecycle::statusOf(graph), "state");
}

std::string_view componentReadiness(const Value& deployment) {
  const Value* status = lifecycle::statusOf(deployment);
  return readiness(lifecycle::isTrue(lifecycle::findCondition(status, lifecycle::condition::kAvailable)));
}

std::string_view adapterReadiness(const Value& adapter) {
  const Value* status = lifecycle::statusOf(adapter);
  return readiness(!json::findText(status, "selector").empty() && lifecycle::countAt(status, "replicas") > 0);
}

/// Decision ctl-Q24.
std::string_view modelReadiness(const Value& model) {
  return readiness(lifecycle::isTrue(lifecycle::findCondition(lifecycle::statusOf(model), "EndpointsReady")));
}

std::string_view phaseOf(const Value& checkpoint) {
  return json::findText(lifecycle::statusOf(checkpoint), "phase");
}

void ResourceCounts::changed(const kube::Change& change) {
  const WatchedKind* kind = findWatchedKind(change.key);
  if (kind == nullptr || kind->countedStatus == nullptr) return;
  if (change.before != nullptr)
    subtract(change.key.kind, change.key.namespaceName, kind->countedStatus(*change.before));
  if (change.now != nullptr) add(change.key.kind, change.key.namespaceName, kind->countedStatus(*change.now));
}

void ResourceCounts::add(const std::string& kind, const std::string& namespaceName, std::string_view status) {
  ++series_[Key{kind, namespaceName, std::string{status}}].objects;
}

void ResourceCounts::subtract(const std::string& kind, const std::string& namespaceName,
                              std::string_view status) {
  const auto found = series_.find(Key{kind, namespaceName, std::string{status}});
  if (found != series_.end() && found->second.objects > 0) --found->second.objects;
}

void ResourceCounts::publish(const std::function<bool(std::string_view)>& handles) {
  for (auto each = series_.begin(); each != series_.end();) {
    const auto& [kind, namespaceName, status] = each->first;
    Series& series = each->second;
    const bool wanted = series.objects > 0 && handles(namespaceName);
    if (wanted && !series.published)
      series.gauge = metrics_.gauge(
          kMetric, kHelp, {{"resource_type", kind}, {"namespace", namespaceName}, {"status", status}});
    if (wanted) series.gauge.set(static_cast<double>(series.objects));
    if (!wanted && series.published) metrics_.removeGauge(kMetric, series.gauge);
    series.published = wanted;
    each = series.objects == 0 ? series_.erase(each) : std::next(each);
  }
}

}  // namespace dynamo::controller
