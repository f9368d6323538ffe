#pragma once
// Decides which namespaces restricted operators hold, from their marker Leases and the time. Pure: times are
// arguments.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/scope/marker_lease.h"

namespace dynamo::controller {

using SteadyTime = std::chrono::steady_clock::time_point;

/// The current time of both clocks.
struct Now {
  SteadyTime steady;
  k8s::Timestamp wall;
};
Now currentTime();

/// A marker Lease, and the time of its last renewal on this machine's monotonic clock.
struct SeenLease {
  MarkerLease lease;
  SteadyTime renewedAt;
};

/// Returns the observation of a Lease. `before` is the previous observation; nullptr for the first one.
///
/// A renewal counts from its observation, so clocks of other machines do not matter. For the first
/// observation, or if the same holder has moved renewTime back, the age of the renewal is taken from the wall
/// clock. A renewal in the future counts from now, so that no operator can hold a namespace for longer than
/// the duration.
SeenLease seeLease(const SeenLease* before, MarkerLease lease, const Now& now);

/// Returns the last moment at which the lease is valid, or nullopt if it has no duration or no time.
std::optional<SteadyTime> heldUntil(const SeenLease& seen);
bool isHeld(const SeenLease& seen, const Now& now);

/// The marker Leases of the cluster.
class HeldNamespaces {
 public:
  struct Change {
    std::string namespaceName;
    bool excluded = false;
    std::string holder;
  };

  /// If `labelledOnly` is true, only Leases in namespaces passed to `setLabelled` count (scope-S14).
  explicit HeldNamespaces(bool labelledOnly) : labelledOnly_(labelledOnly) {}

  /// Adds a listener that is called after each change of `excludes`.
  void onChange(std::function<void(const Change&)> listener) { listeners_.push_back(std::move(listener)); }

  void listBegins();
  void present(MarkerLease lease, const Now& now);
  void deleted(std::string_view namespaceName);
  /// Removes the Leases that were not reported since listBegins().
  void listEnds();
  /// Sets whether the namespace has the labels that make its Lease count.
  void setLabelled(std::string_view namespaceName, bool labelled);
  /// Sets all namespaces that have the labels.
  void setLabelledOnes(const std::set<std::string, std::less<>>& namespaceNames);

  /// Returns true if a restricted operator holds the namespace. The result does not depend on the time of the
  /// call (scope-S12): an exclusion ends with expire().
  bool excludes(std::string_view namespaceName) const;
  std::vector<std::string> excluded() const;  ///< sorted
  /// Returns the holder of the namespace, or an empty text if it has no Lease.
  std::string_view holder(std::string_view namespaceName) const;

  /// Returns the held namespaces whose lease has expired at `now`.
  std::vector<std::string> due(const Now& now) const;
  /// Returns the time at which the next lease expires, or nullopt if no namespace is held.
  std::optional<SteadyTime> nextExpiry() const;
  /// Ends the exclusion of the namespaces in `namespaceNames` whose lease has still expired at `now`.
  void expire(const std::vector<std::string>& namespaceNames, const Now& now);

 private:
  struct Entry {
    SeenLease seen;
    bool held = false;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  bool counts(std::string_view namespaceName) const;
  void setHeld(const std::string& namespaceName, Entry& entry, bool held);
  void notify(const std::string& namespaceName, const Entry& entry, bool excluded) const;

  bool labelledOnly_;
  Entries entries_;
  std::set<std::string, std::less<>> labelled_;
  std::optional<std::set<std::string, std::less<>>> listed_;  ///< namespaces reported since listBegins()
  std::vector<std::function<void(const Change&)>> listeners_;
};

}  // namespace dynamo::controller
