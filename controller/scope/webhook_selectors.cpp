#include "controller/scope/webhook_selectors.h"

#include <memory>
#include <set>

#include "common/observability/log.h"
#include "controller/kube/cache.h"

namespace dynamo::controller {
namespace {

constexpr log::Logger kLog{"scope"};

using json::Value;
using kube::ApiError;
using runtime::Deadline;
using runtime::Task;
using std::chrono::milliseconds;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
/// The minimum interval between writes. Several operators often start or stop together, and their changes are
/// combined in one write.
constexpr milliseconds kMinInterval{300};
/// The maximum of the growing interval between writes. It limits the writes if another controller keeps
/// restoring its own selector.
constexpr milliseconds kMaxInterval{60'000};
/// After this time without a write, the next change is written immediately.
constexpr milliseconds kQuietTime{300'000};

kube::WatchedSet ownConfigurations(const WebhookService& service) {
  kube::WatchedSet set;
  set.labelSelector = std::string{kOperatorNamespaceLabel} + "=" + service.namespaceName;
  return set;
}

const Value* metadataOf(const Value& object) {
  return json::findObject(&object, "metadata");
}

kube::Backoff newBackoff() {
  kube::BackoffOptions options;
  options.initial = kMinInterval;
  options.max = kMaxInterval;
  options.jitter = 0.2;
  return kube::Backoff{options, kube::systemRandom()};
}

}  // namespace

WebhookSelectors::WebhookSelectors(runtime::EventLoop& loop, kube::Client& client, WebhookService service)
    : loop_(loop),
      client_(client),
      service_(std::move(service)),
      kinds_{{{{std::string{kGroup}, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
                false},
               {},
               {}},
              {{std::string{kGroup}, "v1", "validatingwebhookconfigurations",
                "ValidatingWebhookConfiguration", false},
               {},
               {}}}},
      changed_(loop) {
  for (Kind& kind : kinds_)
    kind.reflector.emplace(loop, kind.resource, ownConfigurations(service_),
                           kube::listWatchOf(client, kind.resource, {}), sinkFor(kind));
}

void WebhookSelectors::serve(ServedNamespaces served) {
  if (served_ == served) return;
  served_ = std::move(served);
  for (Kind& kind : kinds_) {
    for (auto& [name, each] : kind.configurations) {
      each.backoff.reset();
      // The first write is immediate. Further changes are combined in the next write.
      if (each.lastWrite != Deadline::min()) each.notBefore = each.lastWrite + kMinInterval;
    }
  }
  lookAgain();
}

void WebhookSelectors::lookAgain() {
  dirty_ = true;
  changed_.notify();
}

kube::Sink WebhookSelectors::sinkFor(Kind& kind) {
  auto listed = std::make_shared<std::set<std::string>>();
  kube::Sink sink;
  sink.listBegins = [listed] { listed->clear(); };
  sink.present = [this, &kind, listed](const Value& object) {
    listed->insert(std::string{json::findText(metadataOf(object), "name")});
    present(kind, object);
  };
  sink.deleted = [&kind](const Value& object) {
    kind.configurations.erase(std::string{json::findText(metadataOf(object), "name")});
  };
  sink.listEnds = [&kind, listed](std::string_view) {
    std::erase_if(kind.configurations, [&](const auto& each) { return !listed->contains(each.first); });
  };
  return sink;
}

void WebhookSelectors::present(Kind& kind, const Value& object) {
  const std::string name{json::findText(metadataOf(object), "name")};
  auto found = kind.configurations.find(name);
  if (found == kind.configurations.end()) {
    found = kind.configurations.emplace(name, Configuration{{}, newBackoff()}).first;
  } else if (kube::isOlder(json::findText(metadataOf(object), "resourceVersion"),
                           json::findText(metadataOf(found->second.object), "resourceVersion"))) {
    return;  // the reply to an own write is newer than this event
  }
  json::Document copy;
  static_cast<Value&>(copy) = json::copy(object, copy.GetAllocator());
  found->second.object = std::move(copy);
  lookAgain();
}

Task<void> WebhookSelectors::run() {
  for (Kind& kind : kinds_) loop_.spawn(kind.reflector->run());
  while (!loop_.stopping()) {
    dirty_ = false;
    const Deadline next = co_await writeDue();
    if (!dirty_ && !loop_.stopping()) co_await changed_.wait(next);
  }
}

Task<Deadline> WebhookSelectors::writeDue() {
  struct Due {
    Kind* kind;
    std::string name;
    std::string patch;
  };
  Deadline next = runtime::kNoDeadline;
  std::vector<Due> due;
  const Deadline now = std::chrono::steady_clock::now();
  for (Kind& kind : kinds_) {
    for (auto& [name, each] : kind.configurations) {
      std::string patch = served_ ? selectorPatch(each.object, *served_, service_) : std::string{};
      if (patch.empty()) continue;
      if (each.notBefore <= now) {
        due.push_back({&kind, name, std::move(patch)});
      } else {
        next = std::min(next, each.notBefore);
      }
    }
  }
  for (Due& each : due) {
    co_await write(*each.kind, std::move(each.name), std::move(each.patch));
    dirty_ = true;  // the next iteration computes the time of the retry
  }
  co_return next;
}

Task<void> WebhookSelectors::write(Kind& kind, std::string name, std::string patch) {
  const kube::PatchOptions options;
  const kube::CallOptions call{kube::Slots::Cluster};
  auto answer =
      co_await client_.patch(kind.resource, {}, name, kube::PatchType::Json, std::move(patch), options, call);
  const auto found = kind.configurations.find(name);
  if (found == kind.configurations.end()) co_return;
  Configuration& configuration = found->second;
  const Deadline now = std::chrono::steady_clock::now();
  if (configuration.lastWrite != Deadline::min() && now - configuration.lastWrite > kQuietTime)
    configuration.backoff.reset();
  configuration.lastWrite = now;
  configuration.notBefore = now + configuration.backoff.next();
  if (const auto* error = std::get_if<ApiError>(&answer)) {
    // After a conflict the watch reports the newer object.
    if (error->reason != kube::Reason::Conflict && !loop_.stopping())
      kLog.warn("cannot write the namespace selector of webhooks",
                {{"kind", kind.resource.kind}, {"name", name}, {"error", error->message}});
    co_return;
  }
  kLog.info("wrote the namespace selector of webhooks", {{"kind", kind.resource.kind}, {"name", name}});
  present(kind, std::get<json::Document>(answer));
}

}  // namespace dynamo::controller
