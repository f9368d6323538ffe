#pragma once
// The Secret with the SSH key that multi-node TensorRT-LLM requires (decision child-Q29). One key is
// generated for the cluster and copied to the namespaces that need it. A copy is never changed.

#include <functional>
#include <optional>
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
  /// Manages the Secret `name`, whose original is in `sourceNamespace`.
  SshKeys(kube::Client& client, std::string name, std::string sourceNamespace)
      : client_(client), name_(std::move(name)), source_(std::move(sourceNamespace)) {}

  const std::string& name() const { return name_; }
  /// Returns a sink for Secrets with this name. Their data is not stored.
  kube::Sink sink();
  /// Sets the listener that is called with the namespace of each deleted copy.
  void onDeleted(std::function<void(const std::string&)> listener) { deleted_ = std::move(listener); }

  /// Creates the Secret in the namespace, and the original, if they do not exist.
  runtime::Task<std::optional<lifecycle::Failure>> ensure(std::string namespaceName);

 private:
  runtime::Task<kube::Result<json::Document>> original();

  kube::Client& client_;
  std::string name_;
  std::string source_;
  std::set<std::string> present_;  ///< namespaces
  std::set<std::string> listed_;
  std::function<void(const std::string&)> deleted_;
};

}  // namespace dynamo::controller
