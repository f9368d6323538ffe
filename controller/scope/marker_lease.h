#pragma once
// The Lease by which a namespace-restricted operator marks its namespace. The reference operator writes and
// reads the same Lease, so both operators can run in one cluster. Pure.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/k8s/timestamp.h"
#include "controller/kube/resource.h"

namespace dynamo::controller {

inline constexpr std::string_view kMarkerLeaseName = "dynamo-operator-namespace-scope";
/// Selects marker Leases in lists and watches (scope-S11).
inline constexpr std::string_view kMarkerLeaseFieldSelector = "metadata.name=dynamo-operator-namespace-scope";

const kube::Resource& leaseResource();

/// The fields of a marker Lease that are read.
struct MarkerLease {
  std::string namespaceName;
  std::string uid;
  std::string resourceVersion;
  std::string holder;
  std::optional<std::chrono::seconds> duration;  ///< nullopt: absent, or not positive
  /// The first of renewTime, acquireTime and creationTimestamp that is set (scope-S1).
  std::optional<k8s::Timestamp> renewed;
};

MarkerLease readMarkerLease(const json::Value& lease);

/// Returns the holder identity, such as "namespace-restricted-operator-1.0.0_POD". The reference's identity
/// does not contain the pod (scope-S7).
std::string markerHolderIdentity(std::string_view operatorVersion, std::string_view podName);

/// Returns true if the holder is a pod of the Deployment of `identity`. Both are of markerHolderIdentity.
bool isReplicaOf(std::string_view holder, std::string_view identity);

struct MarkerTimes {
  MarkerTimes() = default;
  MarkerTimes(std::chrono::milliseconds duration_, std::chrono::milliseconds renewInterval_)
      : duration(duration_), renewInterval(renewInterval_) {}

  std::chrono::milliseconds duration{30'000};
  std::chrono::milliseconds renewInterval{10'000};
};

/// Returns the number of consecutive renewals that may fail before the operator exits: one less than fit
/// between a renewal and the end of the lease, but at least one.
unsigned maxRenewalFailures(const MarkerTimes& times);

/// Returns the time after its last renewal during which an operator may act on its namespace (scope-S8).
std::chrono::milliseconds actingTime(const MarkerTimes& times);

/// Returns the body of a Lease to create.
std::string newMarkerLease(std::string_view namespaceName, std::string_view holder,
                           std::chrono::milliseconds duration, k8s::Timestamp now);

/// Sets the fields that a renewal changes. All other fields are kept, including acquireTime and
/// leaseTransitions of another holder, as in the reference.
void renewMarkerLease(json::Document& lease, std::string_view holder, std::chrono::milliseconds duration,
                      k8s::Timestamp now);

}  // namespace dynamo::controller
