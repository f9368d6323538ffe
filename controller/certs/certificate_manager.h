#pragma once
// Creates and renews the webhook's certificates in the cluster, and makes API servers trust them.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "certs/openssl.h"
#include "common/config/operator_config.h"
#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/certs/injection.h"
#include "controller/certs/rewrite_limit.h"
#include "controller/certs/secret_plan.h"
#include "controller/certs/settings.h"
#include "controller/certs/watched_objects.h"
#include "controller/kube/backoff.h"
#include "controller/kube/client.h"

namespace dynamo::provisioning {

using Clock = std::function<certs::Time()>;
/// Returns the wall clock.
Clock systemClock();

/// Runs on every replica, including those that do not lead: its writes skip the client's write gate.
/// Preconditions and tests in the patches make concurrent writes safe. All functions must be called on the
/// loop's thread. The manager must outlive the run of the loop, and the client must outlive the manager.
class CertificateManager {
 public:
  /// `operatorNamespace`: the namespace of the operator's pod. `metrics` may be null.
  CertificateManager(runtime::EventLoop& loop, kube::Client& client, const config::OperatorConfig& config,
                     std::string operatorNamespace, observability::Registry* metrics,
                     Clock clock = systemClock());

  /// Runs until the loop stops. Must be called at most once.
  runtime::Task<void> run();

  /// Returns true if the certificates are valid and API servers trust them (cert-Q15).
  bool ready() const { return problem().empty(); }
  /// Returns why the certificates are not ready, as one line without content of the Secret. Returns an empty
  /// text if they are ready.
  std::string problem() const;

 private:
  enum class Outcome { Written, Outdated, Failed };
  using Answer = kube::Result<json::Document>;

  runtime::Task<void> checkSecret(certs::Time now);
  runtime::Task<Outcome> renew(SecretPlan plan, certs::Time now);
  runtime::Task<void> injectWebhooks(certs::Time now);
  runtime::Task<void> checkConversion(certs::Time now);
  /// Sends the patch of the plan. Returns an error message if the object is not correct afterwards.
  runtime::Task<std::string> apply(const kube::Resource& resource, k8s::ObjectKey key, InjectionPlan plan,
                                   certs::Time now);
  runtime::Task<ServiceState> stateOf(certs::ServiceName service, certs::Time now);
  /// Processes the reply to a write. Reads the object again if the write was based on an old version.
  runtime::Task<Outcome> finish(const kube::Resource& resource, k8s::ObjectKey key, Answer answer);
  /// Returns true if another program changes the object so often that it is not written now. Logs this once.
  bool blocked(RewriteLimit& limit, const k8s::ObjectKey& key, certs::Time now);
  void checkBy(certs::Time at) { next_ = std::min(next_, at); }
  /// Publishes the problems found by a complete pass.
  void publish();

  runtime::EventLoop& loop_;
  kube::Client& client_;
  Settings settings_;
  Clock clock_;
  runtime::Notification changed_;
  WatchedObjects objects_;
  kube::Backoff backoff_;
  RewriteLimit secretLimit_;
  RewriteLimit injectionLimit_;
  std::set<std::string> blocked_;  ///< objects whose limit has been reported

  bool dirty_ = false;   ///< an object has changed since the pass began
  bool failed_ = false;  ///< a request of this pass failed
  certs::Time next_{};   ///< time of the next pass if no object changes before
  std::string ca_;       ///< ca.crt of the Secret
  // The problems found by the current pass. problem_ is the result of the last complete pass.
  std::string secretProblem_;
  std::string webhooksProblem_;
  std::string conversionProblem_;
  std::string problem_ = "the certificates have not been checked yet";

  struct OtherService {
    certs::ServiceName name;
    ServiceState state = ServiceState::Unknown;
    certs::Time checkedAt;
  };
  std::optional<OtherService> otherService_;

  observability::Gauge servingExpiry_;
  observability::Gauge caExpiry_;
};

}  // namespace dynamo::provisioning
