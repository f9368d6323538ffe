#pragma once
// The watches of the controller. Each starts when the API server serves its resource.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/runtime/event_loop.h"
#include "controller/kube/client.h"
#include "controller/kube/discovery.h"
#include "controller/kube/reflector.h"

namespace dynamo::controller {

/// All functions must be called on the loop's thread. The loop and the client must outlive the watches, and
/// the watches must outlive the run of the loop.
class Watches {
 public:
  Watches(runtime::EventLoop& loop, kube::Client& client, std::string namespaceName)
      : loop_(loop), client_(client), namespace_(std::move(namespaceName)) {}

  /// Adds a watch. The sink must outlive the run of the loop. The watch starts when `resource` is served. If
  /// `with` is given, it starts when that resource is served, and nothing depends on it: `unsynced` ignores
  /// it if it fails.
  void add(const kube::Resource& resource, std::string labelSelector, std::string fieldSelector,
           kube::Sink sink, const std::optional<kube::Resource>& with = {});

  /// What the API server serves, and the error of a request that failed. The watches that depend on such a
  /// request are not started.
  struct Started {
    /// Without versions that are listed but answered with 404, as while an API is installed or removed.
    kube::ApiGroups groups;
    std::optional<kube::ApiError> error;
  };
  /// Starts the watches that do not run yet and whose resources are served.
  runtime::Task<Started> start(kube::ApiGroups groups);

  /// Returns the first running watch that has not received its complete list yet, or an empty text.
  std::string unsynced() const;
  /// Returns the groups without those that have a running watch that has not received its complete list yet.
  kube::ApiGroups syncedOf(kube::ApiGroups groups) const;

 private:
  struct Watch {
    kube::Resource resource;
    kube::Resource needed;  ///< the resource that must be served
    std::string labelSelector;
    std::string fieldSelector;
    kube::Sink sink;
    std::unique_ptr<kube::Reflector> reflector;  ///< nullptr: not started
  };

  void run(Watch& watch);
  static bool isUnsynced(const Watch& watch);

  runtime::EventLoop& loop_;
  kube::Client& client_;
  std::string namespace_;
  std::vector<Watch> watches_;
};

}  // namespace dynamo::controller
