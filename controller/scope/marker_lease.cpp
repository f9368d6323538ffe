#include "controller/scope/marker_lease.h"

#include <algorithm>

#include "common/json/build.h"

namespace dynamo::controller {
namespace {

using json::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kHolderPrefix = "namespace-restricted-operator-";

/// Returns the duration in whole seconds, the unit of a Lease. It is rounded up, so that the lease is valid
/// for as long as its holder acts.
std::int64_t wholeSeconds(milliseconds duration) {
  return std::chrono::ceil<seconds>(duration).count();
}

}  // namespace

const kube::Resource& leaseResource() {
  static const kube::Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
  return kLeases;
}

MarkerLease readMarkerLease(const Value& lease) {
  const Value* metadata = json::findObject(&lease, "metadata");
  const Value* spec = json::findObject(&lease, "spec");
  MarkerLease out;
  out.namespaceName = json::findText(metadata, "namespace");
  out.uid = json::findText(metadata, "uid");
  out.resourceVersion = json::findText(metadata, "resourceVersion");
  out.holder = json::findText(spec, "holderIdentity");
  const Value* duration = json::find(spec, "leaseDurationSeconds");
  if (duration != nullptr && duration->IsInt() && duration->GetInt() > 0)
    out.duration = seconds{duration->GetInt()};
  out.renewed = k8s::parseTimestamp(json::findText(spec, "renewTime"));
  if (!out.renewed) out.renewed = k8s::parseTimestamp(json::findText(spec, "acquireTime"));
  if (!out.renewed) out.renewed = k8s::parseTimestamp(json::findText(metadata, "creationTimestamp"));
  return out;
}

std::string markerHolderIdentity(std::string_view operatorVersion, std::string_view podName) {
  std::string identity{kHolderPrefix};
  identity += operatorVersion;
  if (!podName.empty()) identity.append("_").append(podName);
  return identity;
}

bool isReplicaOf(std::string_view holder, std::string_view identity) {
  // The name of a pod ends with the hash of its ReplicaSet and a random text.
  const auto deploymentOf = [](std::string_view text) {
    if (text.find('_') == std::string_view::npos) return std::string_view{};
    for (int i = 0; i < 2; ++i) text = text.substr(0, std::min(text.rfind('-'), text.size()));
    return text;
  };
  const std::string_view deployment = deploymentOf(identity);
  return !deployment.empty() && deploymentOf(holder) == deployment;
}

unsigned maxRenewalFailures(const MarkerTimes& times) {
  const auto attempts = times.duration / times.renewInterval;
  return static_cast<unsigned>(std::max<std::int64_t>(attempts - 1, 1));
}

milliseconds actingTime(const MarkerTimes& times) {
  // With an interval of half the duration or more, duration - interval ends before the next renewal is due.
  // The operator then acts until halfway between that renewal and the end of the lease.
  return std::max(times.duration - times.renewInterval, (times.duration + times.renewInterval) / 2);
}

std::string newMarkerLease(std::string_view namespaceName, std::string_view holder, milliseconds duration,
                           k8s::Timestamp now) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  const std::string time = k8s::formatMicroTime(now);
  Value metadata = make.object("name", kMarkerLeaseName, "namespace", namespaceName);
  Value spec = make.object("holderIdentity", holder, "leaseDurationSeconds", wholeSeconds(duration),
                           "acquireTime", time, "renewTime", time);
  return json::dump(make.object("apiVersion", "coordination.k8s.io/v1", "kind", "Lease", "metadata",
                                std::move(metadata), "spec", std::move(spec)));
}

void renewMarkerLease(json::Document& lease, std::string_view holder, milliseconds duration,
                      k8s::Timestamp now) {
  const json::Maker make{lease.GetAllocator()};
  Value& spec = json::ensureObject(lease, "spec", lease.GetAllocator());
  make.set(spec, "holderIdentity", holder);
  make.set(spec, "leaseDurationSeconds", wholeSeconds(duration));
  make.set(spec, "renewTime", k8s::formatMicroTime(now));
}

}  // namespace dynamo::controller
