#pragma once
// The objects of a cluster that a command shows. They are listed once and then optionally watched.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/json/value.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/cache.h"
#include "controller/kube/client.h"
#include "controller/kube/label_selector.h"
#include "controller/kube/reflector.h"
#include "controller/kube/resource.h"

namespace dynamo::plugin {

/// The objects of one resource.
struct Selection {
  kube::Resource resource;
  kube::LabelSelector labels = {};
  std::string fieldSelector = {};
  bool required = false;  ///< load() fails if they cannot be listed
  bool optional = false;  ///< load() does not fail, whatever the API server answers
};

/// Selects all DynamoGraphDeployments, or only the one with the given name.
Selection selectGraphs(const std::string& name);
/// Selects all kinds of children of graphs and component deployments, pods and claims. If `graph` is not
/// empty, kinds whose objects have the label of their graph are restricted to that graph.
std::vector<Selection> selectChildren(const std::string& graph);

/// Returns the resource of a child, or nullopt if its kind is never rendered.
std::optional<kube::Resource> childResource(const k8s::ObjectKey& key);

/// Copies of objects, with pointers for the functions in common/.
struct LoadedObjects {
  std::deque<json::Document> documents;
  std::vector<const json::Value*> pointers;
};

/// All functions must be called on the loop's thread. The client must outlive the snapshot. After watch(),
/// and if the loop stops during load(), the snapshot must exist until the loop has ended.
class Snapshot {
 public:
  Snapshot(runtime::EventLoop& loop, kube::Client& client, std::string namespaceName,
           std::vector<Selection> selections);

  /// Lists all objects. Resources that the cluster does not serve have no objects. If the user may not list a
  /// resource, a note is added. Any other failure is returned as one line, also the end of the time.
  runtime::Task<std::optional<std::string>> load(runtime::Deadline end = runtime::kNoDeadline);

  /// Starts the watches, which run until the loop stops. Must be called after load(). `changed` is called
  /// after each change.
  void watch(std::function<void()> changed);

  LoadedObjects objects() const;
  /// Returns whether the cluster serves a kind, or nullopt if the kind is not selected or the user may not
  /// list it.
  std::optional<bool> serves(std::string_view kind) const;
  /// Returns the selected kinds that the user may not list.
  std::vector<std::string> forbiddenKinds() const;
  /// Returns the reasons why objects may be missing or outdated, one line each.
  std::vector<std::string> notes() const;

 private:
  struct Part {
    Selection selection;
    bool served = true;
    bool forbidden = false;
    std::string note = {};
  };
  struct Loading;

  runtime::Task<void> loadPart(Part& part, std::shared_ptr<Loading> loading);
  runtime::Task<std::optional<kube::ApiError>> list(const Selection& selection);

  runtime::EventLoop& loop_;
  kube::Client& client_;
  std::string namespaceName_;
  std::vector<Part> parts_;
  kube::Cache cache_;
  std::vector<std::unique_ptr<kube::Reflector>> reflectors_;
};

}  // namespace dynamo::plugin
