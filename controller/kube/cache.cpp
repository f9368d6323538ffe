#include "controller/kube/cache.h"

#include <algorithm>
#include <memory>

#include "common/json/value.h"

namespace dynamo::kube {
namespace {

using json::Value;

const Value* metadataOf(const Value& object) {
  return json::find(object, "metadata");
}
std::string_view uidOf(const Value& object) {
  return json::findText(metadataOf(object), "uid");
}
std::string_view versionOf(const Value& object) {
  return json::findText(metadataOf(object), "resourceVersion");
}

}  // namespace

/// The objects of one reflector.
struct Cache::Listing {
  /// Records that all changes up to this version have been reported.
  void reachedVersion(std::string_view resourceVersion) {
    if (reached.empty() || isOlder(reached, resourceVersion)) reached = resourceVersion;
  }

  std::string apiVersion;
  std::string kind;
  std::string namespaceName;
  LabelSelector selector;
  bool listing = false;           ///< a list is in progress
  bool wentBack = false;          ///< it replaces objects with later versions
  std::set<k8s::ObjectKey> seen;  ///< the objects in the current list
  std::string reached;
};

Sink Cache::sinkFor(const Resource& resource, std::string namespaceName, LabelSelector selector) {
  auto listing = std::make_shared<Listing>();
  listing->apiVersion = apiVersionOf(resource);
  listing->kind = resource.kind;
  listing->namespaceName = std::move(namespaceName);
  listing->selector = std::move(selector);
  listings_.push_back(listing);
  Sink sink;
  sink.wentBack = [listing] {
    listing->wentBack = true;
    listing->reached.clear();
  };
  sink.listBegins = [listing] {
    listing->seen.clear();
    listing->listing = true;
  };
  sink.present = [this, listing](const Value& object) {
    if (listing->listing) {
      listing->seen.insert(k8s::keyOf(object));
    } else {  // the objects in a list are not ordered by resourceVersion
      listing->reachedVersion(versionOf(object));
    }
    reported(object, false, listing->wentBack);
  };
  sink.deleted = [this, listing](const Value& object) {
    listing->reachedVersion(versionOf(object));
    reported(object, true, false);
  };
  sink.listEnds = [this, listing](std::string_view resourceVersion) {
    removeUnlisted(*listing, resourceVersion);
    listing->seen.clear();
    listing->listing = false;
    listing->wentBack = false;
    listing->reachedVersion(resourceVersion);
  };
  return sink;
}

void Cache::reported(const Value& object, bool deleted, bool wentBack) {
  const auto written = written_.find(k8s::keyOf(object));
  if (written == written_.end()) {
    store(object, deleted, wentBack);
    return;
  }
  Waiting change;
  change.deleted = deleted;
  change.wentBack = wentBack;
  change.object.CopyFrom(object, change.object.GetAllocator());
  written->second.changes.push_back(std::move(change));
}

void Cache::store(const Value& object, bool deleted, bool wentBack) {
  if (deleted) {
    // An object that leaves the selector of a watch is reported as deleted, with the version of the change.
    // Another watch, or the answer to a write, may have stored that version or a later one.
    const std::optional<Cached> stored = find(k8s::keyOf(object));
    const std::string_view version = versionOf(object);
    if (stored && isNumber(version) && isNumber(versionOf(stored->object)) &&
        !isOlder(versionOf(stored->object), version)) {
      forgetGone(k8s::keyOf(object), uidOf(object));
      return;
    }
    remove(k8s::keyOf(object), uidOf(object), {});
  } else {
    present(object, {}, wentBack);
  }
}

Cache::Writing::Writing(Cache& cache, const k8s::ObjectKey& key) : cache_(cache), key_(key) {
  ++cache_.written_[key_].writes;
}

Cache::Writing::~Writing() {
  cache_.ended(key_);
}

void Cache::ended(const k8s::ObjectKey& key) {
  const auto written = written_.find(key);
  if (--written->second.writes > 0) return;
  const std::vector<Waiting> changes = std::move(written->second.changes);
  written_.erase(written);
  for (const Waiting& change : changes) store(change.object, change.deleted, change.wentBack);
}

void Cache::present(const Value& object, std::string_view writer, bool wentBack) {
  const k8s::ObjectKey key = k8s::keyOf(object);
  if (wentBack) gone_.erase(key);  // it exists again
  const auto gone = gone_.find(key);
  if (gone != gone_.end()) {
    if (gone->second == uidOf(object)) return;
    gone_.erase(gone);  // a new object with the same name
  }
  std::optional<Cached> before = find(key);
  if (before && !wentBack && isOlder(versionOf(object), versionOf(before->object))) return;
  using Stored = k8s::ObjectStore::Change;
  const Stored stored = store_.put(object);
  if (stored == Stored::Same || stored == Stored::UnknownKind) return;
  const std::optional<Cached> now = find(key);
  Change change;
  change.kind = before ? Change::Kind::Changed : Change::Kind::Added;
  change.key = key;
  change.before = before ? &before->object : nullptr;
  change.now = now ? &now->object : nullptr;
  change.writer = writer;
  notify(change);
}

void Cache::remove(const k8s::ObjectKey& key, std::string_view uid, std::string_view writer) {
  if (writer.empty()) forgetGone(key, uid);
  const std::optional<Cached> before = find(key);
  // An object that was replaced by a new object with the same name is ignored.
  if (!before || (!uid.empty() && uidOf(before->object) != uid)) return;
  store_.remove(key);
  Change change;
  change.kind = Change::Kind::Deleted;
  change.key = key;
  change.before = &before->object;
  change.writer = writer;
  notify(change);
}

void Cache::forgetGone(const k8s::ObjectKey& key, std::string_view uid) {
  const auto gone = gone_.find(key);
  if (gone != gone_.end() && gone->second == uid) gone_.erase(gone);
}

void Cache::removeUnlisted(const Listing& listing, std::string_view resourceVersion) {
  for (const k8s::ObjectKey& key : keysOfKind(listing.apiVersion, listing.kind)) {
    if (listing.seen.contains(key)) continue;
    if (!listing.namespaceName.empty() && key.namespaceName != listing.namespaceName) continue;
    const std::optional<Cached> stored = find(key);
    if (!stored || !listing.selector.matches(stored->object)) continue;
    // This process wrote the object after the list was made.
    if (!listing.wentBack && isOlder(resourceVersion, versionOf(stored->object))) continue;
    remove(key, {}, {});
  }
  // The list is newer than the changes that wait.
  for (auto& [key, written] : written_) {
    if (key.kind != listing.kind || listing.seen.contains(key)) continue;
    std::erase_if(written.changes, [&](const Waiting& change) {
      return listing.selector.matches(change.object) &&
             (listing.wentBack || !isOlder(resourceVersion, versionOf(change.object)));
    });
  }
  // The list is newer than the deletions that no watch has reported.
  std::erase_if(gone_, [&](const auto& each) {
    return each.first.kind == listing.kind && !listing.seen.contains(each.first);
  });
}

void Cache::wrote(const Value& answer, std::string_view writer) {
  if (!answer.IsObject() || metadataOf(answer) == nullptr) return;
  const k8s::ObjectKey key = k8s::keyOf(answer);
  // A deletion that waits is stored after the answer.
  const auto written = written_.find(key);
  const bool waiting = written != written_.end() && !written->second.changes.empty();
  if (!waiting && !contains(key) && isSuperseded(answer)) return;
  present(answer, writer);
}

bool Cache::isSuperseded(const Value& answer) const {
  const k8s::ObjectKey key = k8s::keyOf(answer);
  const std::string_view apiVersion = json::findText(&answer, "apiVersion");
  return std::any_of(listings_.begin(), listings_.end(), [&](const auto& each) {
    return each->kind == key.kind && each->apiVersion == apiVersion &&
           (each->namespaceName.empty() || each->namespaceName == key.namespaceName) &&
           isNumber(each->reached) && !isOlder(each->reached, versionOf(answer)) &&
           each->selector.matches(answer);
  });
}

void Cache::deleted(const k8s::ObjectKey& key, std::string_view uid, std::string_view writer) {
  if (uid.empty()) return;
  const std::optional<Cached> stored = find(key);
  // If a watch has already reported the deletion, no further event will remove an entry from gone_.
  if (!stored || uidOf(stored->object) != uid) return;
  gone_.insert_or_assign(key, std::string{uid});
  remove(key, uid, writer);
}

void Cache::notify(const Change& change) const {
  for (const auto& listener : listeners_) listener(change);
}

Cached Cache::cached(k8s::ObjectStore::Slot slot) const {
  k8s::ObjectStore::Whole whole = store_.whole(slot);
  return {std::move(whole.object), std::move(whole.ownedFields), std::move(whole.replicasOwner)};
}

std::optional<Cached> Cache::find(const k8s::ObjectKey& key) const {
  const auto slot = store_.find(key);
  return slot ? std::optional{cached(*slot)} : std::nullopt;
}

std::vector<Cached> Cache::ownedBy(std::string_view namespaceName, std::string_view uid) const {
  std::vector<Cached> found;
  for (const auto slot : store_.ownedBy(namespaceName, uid)) found.push_back(cached(slot));
  return found;
}

std::vector<Cached> Cache::labelled(std::string_view namespaceName, std::string_view key,
                                    std::string_view value) const {
  std::vector<Cached> found;
  for (const auto slot : store_.labelled(namespaceName, key, value)) found.push_back(cached(slot));
  return found;
}

std::vector<k8s::ObjectKey> Cache::keysOfKind(std::string_view apiVersion, std::string_view kind) const {
  std::vector<k8s::ObjectKey> keys;
  for (const auto slot : store_.ofKind(apiVersion, kind)) keys.push_back(store_.key(slot));
  return keys;
}

std::vector<k8s::ObjectKey> Cache::keysInNamespace(std::string_view apiVersion, std::string_view kind,
                                                   std::string_view namespaceName) const {
  std::vector<k8s::ObjectKey> keys;
  for (const auto slot : store_.ofKind(apiVersion, kind, namespaceName)) keys.push_back(store_.key(slot));
  return keys;
}

std::vector<k8s::ObjectKey> Cache::keysOwnedBy(std::string_view namespaceName, std::string_view uid) const {
  std::vector<k8s::ObjectKey> keys;
  for (const auto slot : store_.ownedBy(namespaceName, uid)) keys.push_back(store_.key(slot));
  return keys;
}

std::vector<k8s::ObjectKey> Cache::keysLabelled(std::string_view namespaceName, std::string_view key,
                                                std::string_view value) const {
  std::vector<k8s::ObjectKey> keys;
  for (const auto slot : store_.labelled(namespaceName, key, value)) keys.push_back(store_.key(slot));
  return keys;
}

}  // namespace dynamo::kube
