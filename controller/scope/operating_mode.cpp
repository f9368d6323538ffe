#include "controller/scope/operating_mode.h"

#include <chrono>
#include <utility>

namespace dynamo::controller {

using runtime::Task;

OperatingMode::OperatingMode(runtime::EventLoop& loop, kube::Client& client,
                             const config::OperatorConfig& config, const OperatorIdentity& identity,
                             observability::Registry* metrics)
    : loop_(loop),
      ownNamespace_(identity.namespaceName),
      scope_(scopeOf(config.namespaces,
                     [this](std::string_view namespaceName) { return watcher_->excludes(namespaceName); })) {
  if (scope_.clusterWide()) {
    watcher_.emplace(loop, markerSource(client), config.namespaces.scope.leaseNamespaceLabels, metrics);
    watcher_->onChange([this](const std::string& namespaceName, bool excluded) {
      serve();
      if (!excluded && handedBack_) handedBack_(namespaceName);
    });
  } else {
    MarkerOptions options;
    options.namespaceName = scope_.restrictedTo;
    options.operatorVersion = identity.version;
    options.podName = identity.podName;
    options.times = {
        std::chrono::duration_cast<std::chrono::milliseconds>(config.namespaces.scope.leaseDuration),
        std::chrono::duration_cast<std::chrono::milliseconds>(config.namespaces.scope.leaseRenewInterval)};
    holder_.emplace(loop, options, markerAccess(client, scope_.restrictedTo));
  }
  const std::string& service = config.server.webhook.serviceName;
  if (!identity.namespaceName.empty() && !service.empty())
    selectors_.emplace(loop, client, WebhookService{identity.namespaceName, service});
}

Task<std::string> OperatingMode::start() {
  if (holder_) {
    const MarkerLeaseHolder::Failure failure = co_await holder_->acquire();
    if (failure) co_return *failure;
    loop_.spawn(hold());
    co_return "";
  }
  loop_.spawn(watcher_->run());
  const std::optional<std::string> error =
      co_await watcher_->waitSynced(std::chrono::steady_clock::now() + kMarkerSyncTime);
  co_return error.value_or("");
}

bool OperatingMode::mayWrite(std::string_view namespaceName) const {
  if (holder_) return holder_->holding();
  return namespaceName == ownNamespace_ || !watcher_->excludes(namespaceName);
}

Task<void> OperatingMode::hold() {
  const MarkerLeaseHolder::Failure failure = co_await holder_->hold();
  if (failure && failed_) failed_(*failure);
}

void OperatingMode::lead() {
  if (!selectors_) return;
  serve();
  loop_.spawn(selectors_->run());
}

void OperatingMode::serve() {
  if (!selectors_) return;
  if (holder_) {
    selectors_->serve({scope_.restrictedTo, {}});
  } else {
    selectors_->serve({{}, watcher_->excluded()});
  }
}

Task<void> OperatingMode::release() {
  if (holder_) co_await holder_->release();
}

}  // namespace dynamo::controller
