#include "controller/reconcile/resource_counts.h"

#include <iterator>

#include "common/api/kinds.h"
#include "common/lifecycle/component_status.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using json::Value;

constexpr ObjectGauge kResources{
    "dynamo_operator_resources_total", "Custom resources by status.", {"resource_type", "status"}};

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
    addFigures(change.key, kind->countedStatus(*change.before), *change.before, -1);
  if (change.now != nullptr) addFigures(change.key, kind->countedStatus(*change.now), *change.now, 1);
}

void ResourceCounts::addFigures(const k8s::ObjectKey& key, std::string_view status, const Value& object,
                                int sign) {
  const AddFigure addFigure = [&](const ObjectGauge& gauge, std::string_view first, std::string_view second,
                                  double value) {
    Series& series = series_[Key{&gauge, key.namespaceName, std::string{first}, std::string{second}}];
    series.objects += sign;
    series.value += sign * value;
  };
  addFigure(kResources, key.kind, status, 1);
  if (key.kind == api::kDynamoGraphDeployment) addGraphFigures(object, addFigure);
}

observability::Gauge ResourceCounts::gaugeOf(const Key& key) {
  const auto& [gauge, namespaceName, first, second] = key;
  const observability::Label inNamespace{"namespace", namespaceName};
  if (gauge->labels[0].empty()) return metrics_.gauge(gauge->name, gauge->help, {inNamespace});
  return metrics_.gauge(gauge->name, gauge->help,
                        {inNamespace, {gauge->labels[0], first}, {gauge->labels[1], second}});
}

void ResourceCounts::publish(const std::function<bool(std::string_view)>& handles) {
  for (auto each = series_.begin(); each != series_.end();) {
    const Key& key = each->first;
    Series& series = each->second;
    const bool wanted = series.objects > 0 && handles(std::get<1>(key));
    if (wanted && !series.published) series.gauge = gaugeOf(key);
    if (wanted) series.gauge.set(series.value);
    if (!wanted && series.published) metrics_.removeGauge(std::get<0>(key)->name, series.gauge);
    series.published = wanted;
    each = series.objects == 0 ? series_.erase(each) : std::next(each);
  }
}

}  // namespace dynamo::controller
