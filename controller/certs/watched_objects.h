#pragma once
// The objects that certificate provisioning reads. Watches and own writes keep them up to date.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/json/value.h"
#include "common/runtime/event_loop.h"
#include "controller/certs/settings.h"
#include "controller/kube/cache.h"
#include "controller/kube/client.h"
#include "controller/kube/reflector.h"

namespace dynamo::provisioning {

/// Watches the Secret and the CRD by name and the webhook configurations by label. All functions must be
/// called on the loop's thread. The loop must outlive the object.
class WatchedObjects {
 public:
  /// `changed` is called after each change of an object, and when the first list of a resource is complete.
  WatchedObjects(runtime::EventLoop& loop, kube::Client& client, const Settings& settings,
                 std::function<void()> changed);
  WatchedObjects(const WatchedObjects&) = delete;
  WatchedObjects& operator=(const WatchedObjects&) = delete;

  /// Starts the watches. They end when the loop stops.
  void start();

  /// Returns true once the objects of the resource have been listed completely.
  bool synced(const kube::Resource& resource) const;
  /// Returns the first resource that has not been listed yet and the error, or an empty text if all resources
  /// have been listed.
  std::string problem() const;

  std::optional<json::Document> find(const k8s::ObjectKey& key) const;
  std::vector<k8s::ObjectKey> keysOf(const kube::Resource& resource) const;

  /// Stores an object from the reply to an own read or write.
  void received(const json::Value& object);
  /// Removes an object after an own request returned NotFound.
  void notFound(const k8s::ObjectKey& key);

 private:
  void add(const kube::Resource& resource, kube::WatchedSet set);

  runtime::EventLoop& loop_;
  kube::Client& client_;
  std::function<void()> changed_;
  kube::Cache cache_;
  std::vector<std::unique_ptr<kube::Reflector>> reflectors_;
};

}  // namespace dynamo::provisioning
