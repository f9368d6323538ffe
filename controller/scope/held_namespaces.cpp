#include "controller/scope/held_namespaces.h"

#include <algorithm>

#include "controller/kube/cache.h"

namespace dynamo::controller {
namespace {

using std::chrono::microseconds;

/// The clocks of two holders may differ, for example those of the replicas of one operator.
bool isRenewal(const MarkerLease& before, const MarkerLease& now) {
  return before.uid == now.uid && now.renewed &&
         (!before.renewed || *now.renewed > *before.renewed || now.holder != before.holder);
}

bool isUnchanged(const MarkerLease& before, const MarkerLease& now) {
  return before.uid == now.uid && now.renewed == before.renewed;
}

/// Returns the age of the last renewal by the wall clock, limited to slightly more than the duration. Times
/// in a Lease may be centuries apart, which the monotonic clock cannot represent.
microseconds ageOf(const MarkerLease& lease, const Now& now) {
  if (!lease.renewed || *lease.renewed >= now.wall) return microseconds{0};
  const microseconds duration = lease.duration.value_or(std::chrono::seconds{0});
  return std::min(now.wall - *lease.renewed, duration + microseconds{1});
}

}  // namespace

Now currentTime() {
  return {std::chrono::steady_clock::now(),
          std::chrono::floor<microseconds>(std::chrono::system_clock::now())};
}

SeenLease seeLease(const SeenLease* before, MarkerLease lease, const Now& now) {
  SteadyTime renewedAt = now.steady;
  if (before != nullptr && isUnchanged(before->lease, lease)) {
    renewedAt = before->renewedAt;
  } else if (before == nullptr || !isRenewal(before->lease, lease)) {
    renewedAt -= ageOf(lease, now);
  }
  return {std::move(lease), renewedAt};
}

std::optional<SteadyTime> heldUntil(const SeenLease& seen) {
  if (!seen.lease.duration || !seen.lease.renewed) return std::nullopt;
  return seen.renewedAt + *seen.lease.duration;
}

bool isHeld(const SeenLease& seen, const Now& now) {
  const auto until = heldUntil(seen);
  return until && now.steady <= *until;
}

void HeldNamespaces::listBegins() {
  listed_.emplace();
}

void HeldNamespaces::present(MarkerLease lease, const Now& now) {
  const std::string name = lease.namespaceName;
  if (listed_) listed_->insert(name);
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    SeenLease seen = seeLease(nullptr, std::move(lease), now);
    Entry& entry = entries_.emplace(name, Entry{std::move(seen), false}).first->second;
    setHeld(name, entry, isHeld(entry.seen, now));
    return;
  }
  Entry& entry = found->second;
  // A list that confirms an expiry may be older than the last event of the watch.
  if (lease.uid == entry.seen.lease.uid &&
      kube::isOlder(lease.resourceVersion, entry.seen.lease.resourceVersion))
    return;
  entry.seen = seeLease(&entry.seen, std::move(lease), now);
  setHeld(name, entry, isHeld(entry.seen, now));
}

void HeldNamespaces::deleted(std::string_view namespaceName) {
  const auto found = entries_.find(namespaceName);
  if (found == entries_.end()) return;
  const std::string name = found->first;
  Entry entry = std::move(found->second);
  entries_.erase(found);
  setHeld(name, entry, false);
}

void HeldNamespaces::listEnds() {
  if (!listed_) return;
  std::vector<std::string> gone;
  for (const auto& [name, entry] : entries_) {
    if (!listed_->contains(name)) gone.push_back(name);
  }
  listed_.reset();
  for (const std::string& name : gone) deleted(name);
}

void HeldNamespaces::setLabelled(std::string_view namespaceName, bool labelled) {
  const auto found = labelled_.find(namespaceName);
  if ((found != labelled_.end()) == labelled) return;
  const std::string name{namespaceName};
  if (labelled) {
    labelled_.insert(name);
  } else {
    labelled_.erase(found);
  }
  const auto entry = entries_.find(name);
  if (labelledOnly_ && entry != entries_.end() && entry->second.held) notify(name, entry->second, labelled);
}

void HeldNamespaces::setLabelledOnes(const std::set<std::string, std::less<>>& namespaceNames) {
  std::vector<std::string> gone;
  std::set_difference(labelled_.begin(), labelled_.end(), namespaceNames.begin(), namespaceNames.end(),
                      std::back_inserter(gone));
  for (const std::string& name : gone) setLabelled(name, false);
  for (const std::string& name : namespaceNames) setLabelled(name, true);
}

bool HeldNamespaces::counts(std::string_view namespaceName) const {
  return !labelledOnly_ || labelled_.contains(namespaceName);
}

bool HeldNamespaces::excludes(std::string_view namespaceName) const {
  const auto found = entries_.find(namespaceName);
  return found != entries_.end() && found->second.held && counts(namespaceName);
}

std::vector<std::string> HeldNamespaces::excluded() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries_) {
    if (entry.held && counts(name)) out.push_back(name);
  }
  return out;
}

std::string_view HeldNamespaces::holder(std::string_view namespaceName) const {
  const auto found = entries_.find(namespaceName);
  return found == entries_.end() ? std::string_view{} : std::string_view{found->second.seen.lease.holder};
}

std::vector<std::string> HeldNamespaces::due(const Now& now) const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries_) {
    if (entry.held && !isHeld(entry.seen, now)) out.push_back(name);
  }
  return out;
}

std::optional<SteadyTime> HeldNamespaces::nextExpiry() const {
  std::optional<SteadyTime> next;
  for (const auto& [name, entry] : entries_) {
    const auto until = entry.held ? heldUntil(entry.seen) : std::nullopt;
    if (until && (!next || *until < *next)) next = until;
  }
  return next;
}

void HeldNamespaces::expire(const std::vector<std::string>& namespaceNames, const Now& now) {
  for (const std::string& name : namespaceNames) {
    const auto found = entries_.find(name);
    if (found != entries_.end() && !isHeld(found->second.seen, now)) setHeld(name, found->second, false);
  }
}

void HeldNamespaces::setHeld(const std::string& namespaceName, Entry& entry, bool held) {
  if (entry.held == held) return;
  entry.held = held;
  if (counts(namespaceName)) notify(namespaceName, entry, held);
}

void HeldNamespaces::notify(const std::string& namespaceName, const Entry& entry, bool excluded) const {
  const Change change{namespaceName, excluded, entry.seen.lease.holder};
  for (const auto& listener : listeners_) listener(change);
}

}  // namespace dynamo::controller
