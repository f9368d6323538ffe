#pragma once
// A cache of cluster objects, updated by watches and by the replies to this process's writes. It is never
// older than those writes, so a reconciler never acts on a state that it has already changed.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/k8s/object_store.h"
#include "controller/kube/label_selector.h"
#include "controller/kube/reflector.h"
#include "controller/kube/resource_version.h"

namespace dynamo::kube {

/// A change of a cached object. Predicates use it to decide whether the owner must be reconciled.
struct Change {
  enum class Kind { Added, Changed, Deleted };

  Kind kind = Kind::Added;
  k8s::ObjectKey key;
  const json::Value* before = nullptr;  ///< the object before the change; nullptr if it was not cached
  const json::Value* now = nullptr;     ///< the object after the change; nullptr if it was deleted
  /// The writer passed to Cache::wrote or Cache::deleted; empty if a watch reported the change.
  std::string_view writer;
};

/// An object in the cache. The document contains the fields that the cache keeps.
struct Cached {
  json::Document object;
  std::string ownedFields;         ///< fieldsV1 of the controller's field manager; may be empty
  std::string replicasOwner = {};  ///< k8s::replicasOwner; may be empty
};

/// Not thread-safe: all functions must be called on the thread of one event loop.
class Cache {
 public:
  explicit Cache(const std::vector<k8s::StoredKind>& kinds) : store_(kinds) {}

  /// Returns a sink for a reflector of `resource`. Several reflectors of one resource must not select the
  /// same object.
  Sink sinkFor(const Resource& resource, std::string namespaceName, LabelSelector selector);

  /// Adds a listener that is called after each change. It must not change the cache.
  void onChange(std::function<void(const Change&)> listener) { listeners_.push_back(std::move(listener)); }

  std::optional<Cached> find(const k8s::ObjectKey& key) const;
  bool contains(const k8s::ObjectKey& key) const { return store_.find(key).has_value(); }
  /// k8s::ObjectStore::ownedBy
  std::vector<Cached> ownedBy(std::string_view namespaceName, std::string_view uid) const;
  std::vector<Cached> labelled(std::string_view namespaceName, std::string_view key,
                               std::string_view value) const;
  std::vector<k8s::ObjectKey> keysOfKind(std::string_view apiVersion, std::string_view kind) const;
  /// The kind must be listed (k8s::StoredKind).
  std::vector<k8s::ObjectKey> keysInNamespace(std::string_view apiVersion, std::string_view kind,
                                              std::string_view namespaceName) const;
  std::vector<k8s::ObjectKey> keysOwnedBy(std::string_view namespaceName, std::string_view uid) const;
  std::vector<k8s::ObjectKey> keysLabelled(std::string_view namespaceName, std::string_view key,
                                           std::string_view value) const;

  /// Stores the reply of the API server to a write by this process. The reply is ignored if the object is not
  /// in the cache and a watch has already reported a later version, because the object was then deleted
  /// before the reply arrived.
  void wrote(const json::Value& answer, std::string_view writer);
  /// Removes an object that this process deleted and that the API server removed immediately. Later watch
  /// events for the object with that uid are ignored.
  void deleted(const k8s::ObjectKey& key, std::string_view uid, std::string_view writer);

  /// While it exists, this process writes an object, and changes that watches report of the object wait. They
  /// are stored when the Writing ends, after the reply. Otherwise the watch event of the write, which often
  /// arrives before the reply, would be a change by an unknown writer, and would trigger the writer again.
  /// The cache must outlive it.
  class Writing {
   public:
    Writing(Cache& cache, const k8s::ObjectKey& key);
    ~Writing();
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    Cache& cache_;
    k8s::ObjectKey key_;
  };

  /// Returns true while a Writing of the object exists.
  bool isBeingWritten(const k8s::ObjectKey& key) const { return written_.contains(key); }

  std::size_t size() const { return store_.size(); }
  const k8s::ObjectStore& store() const { return store_; }

 private:
  struct Listing;
  /// A change that waits for the reply to a write.
  struct Waiting {
    bool deleted = false;
    bool wentBack = false;
    json::Document object;
  };
  struct WrittenObject {
    int writes = 0;  ///< whose replies have not arrived
    std::vector<Waiting> changes;
  };

  /// Stores the change of a watch, or keeps it while the object is written.
  /// `wentBack`: it replaces an object with a later version.
  void reported(const json::Value& object, bool deleted, bool wentBack);
  void store(const json::Value& object, bool deleted, bool wentBack);
  void ended(const k8s::ObjectKey& key);
  void present(const json::Value& object, std::string_view writer, bool wentBack = false);
  void remove(const k8s::ObjectKey& key, std::string_view uid, std::string_view writer);
  /// A watch has reported the deletion of an object by this process.
  void forgetGone(const k8s::ObjectKey& key, std::string_view uid);
  void removeUnlisted(const Listing& listing, std::string_view resourceVersion);
  bool isSuperseded(const json::Value& answer) const;
  void notify(const Change& change) const;
  Cached cached(k8s::ObjectStore::Slot slot) const;

  k8s::ObjectStore store_;
  std::vector<std::function<void(const Change&)>> listeners_;
  std::vector<std::shared_ptr<Listing>> listings_;
  /// Objects that this process deleted and whose deletion no watch has reported yet: key -> uid.
  std::map<k8s::ObjectKey, std::string> gone_;
  std::map<k8s::ObjectKey, WrittenObject> written_;
};

}  // namespace dynamo::kube
