#pragma once
// The Secret with the SSH key that multi-node TensorRT-LLM requires (decision child-Q29). Each namespace that
// needs one gets a key of its own. A Secret that exists is never read or changed.

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "common/lifecycle/outcome.h"
#include "common/render/children.h"
#include "common/runtime/task.h"
#include "controller/kube/client.h"
#include "controller/kube/reflector.h"

namespace dynamo::controller {

/// Returns true if a pod of a LeaderWorkerSet or PodCliqueSet mounts the Secret `name`.
bool needsSecret(const render::Children& children, std::string_view name);

/// All functions must be called on the loop's thread. The client must outlive the object.
class SshKeys {
 public:
  /// Manages the Secrets `name`.
  SshKeys(kube::Client& client, std::string name) : client_(client), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  /// Returns a sink for Secrets with this name. Their data is not stored.
  kube::Sink sink();
  /// Sets the listener that is called with the namespace of each deleted Secret.
  void onDeleted(std::function<void(const std::string&)> listener) { deleted_ = std::move(listener); }

  /// Creates the Secret with a new key in the namespace if it does not exist.
  runtime::Task<lifecycle::Ending> ensure(std::string namespaceName);

 private:
  kube::Client& client_;
  std::string name_;
  std::set<std::string> present_;  ///< namespaces
  std::set<std::string> listed_;
  std::function<void(const std::string&)> deleted_;
};

}  // namespace dynamo::controller
