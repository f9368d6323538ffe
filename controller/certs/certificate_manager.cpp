#include "controller/certs/certificate_manager.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "common/observability/log.h"

namespace dynamo::provisioning {
namespace {

constexpr log::Logger kLog{"certificates"};

using certs::Action;
using certs::CertificateData;
using certs::Time;
using kube::ApiError;
using kube::CallOptions;
using kube::Reason;
using runtime::Deadline;
using runtime::Task;
using runtime::WaitResult;

constexpr std::chrono::milliseconds kCallTimeout{30'000};

// The limits for repairing an object that another program keeps overwriting: a burst of immediate writes,
// then one write per interval. Manual changes do not reach these limits.
constexpr unsigned kSecretBurst = 5;
constexpr std::chrono::minutes kSecretInterval{10};
constexpr unsigned kInjectionBurst = 20;
constexpr std::chrono::minutes kInjectionInterval{1};

// Certificates do not depend on the leader election, so their writes are ungated.
CallOptions ungated() {
  return CallOptions{kCallTimeout, true};
}

double unixTime(Time time) {
  return static_cast<double>(time.time_since_epoch().count());
}

std::string_view nameOf(Action action) {
  return action == Action::NewServing ? "serving certificate" : "CA and serving certificate";
}

}  // namespace

Clock systemClock() {
  return [] { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); };
}

CertificateManager::CertificateManager(runtime::EventLoop& loop, kube::Client& client,
                                       const config::OperatorConfig& config, std::string operatorNamespace,
                                       observability::Registry* metrics, Clock clock)
    : loop_(loop),
      client_(client),
      settings_(settingsOf(config, std::move(operatorNamespace))),
      clock_(std::move(clock)),
      changed_(loop),
      objects_(loop, client, settings_,
               [this] {
                 dirty_ = true;
                 changed_.notify();
               }),
      backoff_({}, kube::systemRandom()),
      secretLimit_(kSecretBurst, kSecretInterval),
      injectionLimit_(kInjectionBurst, kInjectionInterval) {
  if (metrics == nullptr) return;
  constexpr std::string_view kName = "dynamo_operator_webhook_certificate_expiration_timestamp_seconds";
  constexpr std::string_view kHelp =
      "End of validity of the certificates in the webhook's Secret, Unix time.";
  servingExpiry_ = metrics->gauge(kName, kHelp, {{"certificate", "serving"}});
  caExpiry_ = metrics->gauge(kName, kHelp, {{"certificate", "ca"}});
}

Task<void> CertificateManager::run() {
  objects_.start();
  while (!loop_.stopping()) {
    dirty_ = false;
    failed_ = false;
    const bool synced = objects_.problem().empty();
    const Time now = clock_();
    next_ = now + kCheckInterval;
    co_await checkSecret(now);
    co_await injectWebhooks(now);
    co_await checkConversion(now);
    if (loop_.stopping()) break;
    if (synced) publish();
    // Changes during the pass, including own writes, require another pass.
    if (dirty_) continue;
    std::chrono::milliseconds wait = std::max<std::chrono::seconds>(next_ - now, std::chrono::seconds{1});
    if (failed_) {
      wait = std::min(wait, backoff_.next());
    } else {
      backoff_.reset();
    }
    const Deadline until = std::chrono::steady_clock::now() + wait;
    co_await changed_.wait(until);
  }
}

std::string CertificateManager::problem() const {
  std::string unknown = objects_.problem();
  return unknown.empty() ? problem_ : unknown;
}

void CertificateManager::publish() {
  std::string now = webhooksProblem_.empty() ? conversionProblem_ : webhooksProblem_;
  if (!secretProblem_.empty())
    now = fmt::format("Secret {}/{}: {}", settings_.service.namespaceName, settings_.secretName,
                      secretProblem_);
  // If an object has changed, the next pass may still find a problem.
  if (now == problem_ || (now.empty() && dirty_)) return;
  if (now.empty()) {
    kLog.info("the webhook's certificates are valid and trusted");
  } else {
    kLog.warn("the webhook's certificates are not ready", {{"problem", now}});
  }
  problem_ = std::move(now);
}

Task<void> CertificateManager::checkSecret(Time now) {
  if (!objects_.synced(secrets())) co_return;
  const k8s::ObjectKey key = keyOf(secrets(), settings_.service.namespaceName, settings_.secretName);
  const auto secret = objects_.find(key);
  SecretPlan plan = planSecret(secret ? &*secret : nullptr, settings_, now);
  ca_ = plan.ca;
  secretProblem_ = plan.problem;
  servingExpiry_.set(plan.servingEnd ? unixTime(*plan.servingEnd) : 0);
  caExpiry_.set(plan.caEnd ? unixTime(*plan.caEnd) : 0);
  checkBy(nextCheck(plan, now));
  if (plan.renewal.action == Action::Nothing || blocked(secretLimit_, key, now)) co_return;
  const Outcome outcome = co_await renew(std::move(plan), now);
  if (outcome == Outcome::Failed) failed_ = true;
  if (outcome == Outcome::Written) secretLimit_.count(k8s::toText(key), now);
}

Task<CertificateManager::Outcome> CertificateManager::renew(SecretPlan plan, Time now) {
  const k8s::ObjectKey key = keyOf(secrets(), settings_.service.namespaceName, settings_.secretName);
  const std::string object = k8s::toText(key);
  // Generating an RSA key may take a second. The thread shares the result and may outlive this task.
  const auto result = std::make_shared<certs::Result<CertificateData>>();
  std::function<void()> work = [result, present = plan.present, renewal = plan.renewal, now] {
    *result = certs::renew(present, renewal, now);
  };
  const WaitResult how = co_await loop_.offload(std::move(work));
  if (how != WaitResult::Ready) co_return Outcome::Failed;
  if (const auto* error = std::get_if<certs::Error>(&*result)) {
    kLog.error("cannot create certificates", {{"object", object}, {"error", error->text}});
    co_return Outcome::Failed;
  }
  const CertificateData& data = std::get<CertificateData>(*result);

  const bool creates = plan.resourceVersion.empty();
  std::string body = creates ? secretBody(settings_, data) : secretPatch(plan, data);
  CallOptions call = ungated();
  kube::PatchOptions patchOptions;
  Outcome outcome = Outcome::Failed;
  if (creates) {
    auto answer = co_await client_.create(secrets(), key.namespaceName, std::move(body), false, call);
    outcome = co_await finish(secrets(), key, std::move(answer));
  } else {
    auto answer = co_await client_.patch(secrets(), key.namespaceName, key.name, kube::PatchType::Merge,
                                         std::move(body), patchOptions, call);
    outcome = co_await finish(secrets(), key, std::move(answer));
  }
  if (outcome != Outcome::Written) co_return outcome;
  const std::string reason = plan.renewal.reason ? plan.renewal.reason->text : std::string{};
  kLog.info(creates ? "created the certificate Secret" : "renewed certificates",
            {{"object", object}, {"renewed", nameOf(plan.renewal.action)}, {"reason", reason}});
  if (!plan.renewal.keptNames.empty()) {
    const std::string names = fmt::format("{}", fmt::join(plan.renewal.keptNames, ","));
    kLog.warn(
        "the certificate keeps names of other Services; if they belong to another release, set a different "
        "server.webhook.secretName in each release",
        {{"object", object}, {"names", names}});
  }
  co_return outcome;
}

Task<void> CertificateManager::injectWebhooks(Time now) {
  if (ca_.empty()) co_return;
  std::string problem;
  const Injection injection = settings_.automatic ? Injection::Everywhere : Injection::WhereEmpty;
  const std::array resources{&mutatingWebhookConfigurations(), &validatingWebhookConfigurations()};
  for (const kube::Resource* resource : resources) {
    if (!objects_.synced(*resource)) continue;
    const std::vector<k8s::ObjectKey> keys = objects_.keysOf(*resource);
    for (const k8s::ObjectKey& key : keys) {
      const auto configuration = objects_.find(key);
      if (!configuration) continue;
      InjectionPlan plan = planWebhooks(*configuration, settings_.service, ca_, now, injection);
      std::string why = co_await apply(*resource, key, std::move(plan), now);
      if (problem.empty()) problem = std::move(why);
    }
  }
  webhooksProblem_ = std::move(problem);
}

Task<void> CertificateManager::checkConversion(Time now) {
  if (!objects_.synced(customResourceDefinitions()) || !objects_.synced(secrets())) co_return;
  // Without a CA the conversion cannot work. In manual mode another program may provide the caBundle.
  if (settings_.automatic && ca_.empty()) co_return;
  const k8s::ObjectKey key = keyOf(customResourceDefinitions(), {}, std::string{kConvertedCrd});
  const auto crd = objects_.find(key);
  if (!crd) {
    conversionProblem_.clear();
    co_return;
  }
  ConversionPlan plan = planConversion(*crd, settings_, ca_, ServiceState::Unknown, now);
  if (plan.other) {
    const ServiceState state = co_await stateOf(*plan.other, now);
    plan = planConversion(*crd, settings_, ca_, state, now);
  }
  conversionProblem_ = co_await apply(customResourceDefinitions(), key, std::move(plan), now);
}

Task<std::string> CertificateManager::apply(const kube::Resource& resource, k8s::ObjectKey key,
                                            InjectionPlan plan, Time now) {
  if (plan.patch.empty()) co_return plan.problem;
  const std::string object = k8s::toText(key);
  if (blocked(injectionLimit_, key, now)) co_return fmt::format("another program keeps changing {}", object);
  kube::PatchOptions options;
  CallOptions call = ungated();
  auto answer = co_await client_.patch(resource, key.namespaceName, key.name, kube::PatchType::Json,
                                       std::move(plan.patch), options, call);
  const Outcome outcome = co_await finish(resource, key, std::move(answer));
  if (outcome == Outcome::Written) {
    injectionLimit_.count(object, now);
    kLog.info("injected the CA", {{"object", object}});
    co_return plan.problem;
  }
  if (outcome == Outcome::Failed) failed_ = true;
  co_return fmt::format("the CA is not injected into {}", object);
}

Task<ServiceState> CertificateManager::stateOf(certs::ServiceName service, Time now) {
  checkBy(now + kServiceCheckInterval);
  // An absent Service leads to a write, so its absence is confirmed: its operator may have been installed
  // again.
  const bool known = otherService_ && otherService_->state != ServiceState::Gone &&
                     toText(otherService_->name) == toText(service) &&
                     otherService_->checkedAt + kServiceCheckInterval > now;
  if (known) co_return otherService_->state;
  CallOptions call = ungated();
  auto answer = co_await client_.get(services(), service.namespaceName, service.service, call);
  ServiceState state = ServiceState::Exists;
  if (const auto* error = std::get_if<ApiError>(&answer)) {
    state = error->reason == Reason::NotFound ? ServiceState::Gone : ServiceState::Unknown;
    if (state == ServiceState::Unknown)
      kLog.warn("cannot read the Service of the conversion webhook",
                {{"service", toText(service)}, {"error", error->message}});
  }
  if (state == ServiceState::Exists)
    kLog.info("another operator's Service converts requests", {{"service", toText(service)}});
  otherService_ = {std::move(service), state, now};
  co_return state;
}

Task<CertificateManager::Outcome> CertificateManager::finish(const kube::Resource& resource,
                                                             k8s::ObjectKey key, Answer answer) {
  if (const auto* object = std::get_if<json::Document>(&answer)) {
    objects_.received(*object);
    co_return Outcome::Written;
  }
  const ApiError& error = std::get<ApiError>(answer);
  // Invalid: a test of a JSON patch has failed.
  const bool outdated = error.reason == Reason::Conflict || error.reason == Reason::Invalid ||
                        error.reason == Reason::AlreadyExists || error.reason == Reason::NotFound;
  if (outdated) {
    const bool wasDirty = std::exchange(dirty_, false);
    CallOptions call = ungated();
    auto current = co_await client_.get(resource, key.namespaceName, key.name, call);
    if (const auto* object = std::get_if<json::Document>(&current)) {
      objects_.received(*object);
    } else if (std::get<ApiError>(current).reason == Reason::NotFound) {
      objects_.notFound(key);
    }
    const bool changed = std::exchange(dirty_, dirty_ || wasDirty);
    if (changed) co_return Outcome::Outdated;
  }
  if (!loop_.stopping())
    kLog.warn(
        "write failed",
        {{"object", k8s::toText(key)}, {"reason", kube::nameOf(error.reason)}, {"error", error.message}});
  co_return Outcome::Failed;
}

bool CertificateManager::blocked(RewriteLimit& limit, const k8s::ObjectKey& key, Time now) {
  const std::string object = k8s::toText(key);
  const auto until = limit.blockedUntil(object, now);
  if (!until) {
    blocked_.erase(object);
    return false;
  }
  checkBy(*until);
  if (blocked_.insert(object).second)
    kLog.warn("another program keeps changing the object; it is repaired less often",
              {{"object", object}, {"nextAttempt", certs::formatTime(*until)}});
  return true;
}

}  // namespace dynamo::provisioning
