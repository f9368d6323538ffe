#include "controller/reconcile/facts.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "common/json/parse.h"
#include "common/k8s/object_key.h"
#include "common/k8s/semver.h"
#include "common/lifecycle/object.h"
#include "common/observability/log.h"
#include "common/render/facts.h"
#include "common/render/pull_secrets.h"
#include "controller/kube/base64.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using json::Value;
using render::Api;
using render::FactKeys;
using render::FactKind;
using Name = std::pair<std::string, std::string>;

constexpr log::Logger kLog{"facts"};
/// The feature gate PodLifecycleSleepAction is on by default since Kubernetes 1.30.
constexpr std::uint64_t kSleepActionMinor = 30;

Name nameOf(const Value& object) {
  const Value* metadata = lifecycle::metadataOf(object);
  return {std::string{json::findText(metadata, "namespace")}, std::string{json::findText(metadata, "name")}};
}

/// Returns a sink that also reports the objects that a new list no longer contains.
kube::Sink sinkOf(std::function<void(const Value&)> present, const std::function<void(const Name&)>& absent,
                  std::function<std::set<Name>()> known) {
  auto listed = std::make_shared<std::set<Name>>();
  kube::Sink sink;
  sink.listBegins = [listed] { listed->clear(); };
  sink.present = [listed, present = std::move(present)](const Value& object) {
    listed->insert(nameOf(object));
    present(object);
  };
  sink.deleted = [listed, absent](const Value& object) {
    listed->erase(nameOf(object));
    absent(nameOf(object));
  };
  sink.listEnds = [listed, absent, known = std::move(known)](std::string_view) {
    for (const Name& name : known()) {
      if (!listed->contains(name)) absent(name);
    }
    listed->clear();
  };
  return sink;
}

}  // namespace

std::set<std::string> registriesOf(const Value& secret) {
  std::set<std::string> registries;
  const auto text = kube::decodeBase64(json::findText(json::find(&secret, "data"), ".dockerconfigjson"));
  json::Document config;
  const Value* auths = nullptr;
  if (text && !json::parse(*text, config)) auths = json::findObject(&config, "auths");
  if (auths == nullptr) {
    // No more than this: the text has credentials.
    kLog.warn("image pull secret is ignored, because .dockerconfigjson has no object \"auths\"",
              {{"namespace", nameOf(secret).first}, {"name", nameOf(secret).second}});
    return registries;
  }
  for (const auto& entry : auths->GetObject())
    registries.insert(render::registryOfAuth(json::text(entry.name)));
  return registries;
}

bool isServed(Api api, const kube::ApiGroups& groups, std::string_view version) {
  const auto serves = [&](std::string_view group, std::string_view kind) {
    const kube::Resource& resource = resourceOf(group, kind);
    return groups.serves(resource.group, resource.version);
  };
  switch (api) {
    case Api::Grove:
      return serves("grove.io", "PodCliqueSet");
    case Api::LeaderWorkerSet:
      return serves("leaderworkerset.x-k8s.io", "LeaderWorkerSet") &&
             serves("scheduling.volcano.sh", "PodGroup");
    case Api::KaiScheduler:
      return groups.serves("scheduling.run.ai", "v2");
    case Api::InferencePool:
      return serves("inference.networking.k8s.io", "InferencePool");
    case Api::SleepAction: {
      const auto server = k8s::parseVersion(version);
      return server && (server->major > 1 || server->minor >= kSleepActionMinor);
    }
  }
  return false;
}

kube::Sink ClusterFacts::pullSecretSink() {
  return sinkOf([this](const Value& secret) { setSecret(nameOf(secret), registriesOf(secret)); },
                [this](const Name& name) { setSecret(name, {}); },
                [this] {
                  std::set<Name> names;
                  for (const auto& [name, registries] : secrets_) names.insert(name);
                  return names;
                });
}

kube::Sink ClusterFacts::componentAccountSink() {
  return sinkOf([this](const Value& account) { setAccount(nameOf(account), true); },
                [this](const Name& name) { setAccount(name, false); }, [this] { return accounts_; });
}

kube::Sink ClusterFacts::queueSink() {
  kube::Sink sink = sinkOf([this](const Value& queue) { setQueue(nameOf(queue), true); },
                           [this](const Name& name) { setQueue(name, false); }, [this] { return queues_; });
  sink.listEnds = [this, listEnds = std::move(sink.listEnds),
                   known = false](std::string_view version) mutable {
    listEnds(version);
    if (std::exchange(known, true)) return;
    facts_.setQueuesKnown();
    // Graphs may have looked up queues that turn out to be missing.
    tell({{FactKind::Api, "", std::string{render::nameOf(Api::KaiScheduler)}}});
  };
  return sink;
}

void ClusterFacts::setQueue(const Name& name, bool present) {
  if (present ? !queues_.insert(name).second : queues_.erase(name) == 0) return;
  if (present) {
    facts_.addQueue(name.second);
  } else {
    facts_.removeQueue(name.second);
  }
  tell({{FactKind::Queue, "", name.second}});
}

void ClusterFacts::setSecret(const Name& name, std::set<std::string> registries) {
  std::set<std::string>& stored = secrets_[name];
  FactKeys changed;
  std::set<std::string> differing;
  std::set_symmetric_difference(stored.begin(), stored.end(), registries.begin(), registries.end(),
                                std::inserter(differing, differing.end()));
  for (const std::string& registry : differing) changed.insert({FactKind::PullSecrets, name.first, registry});
  if (!changed.empty()) {
    facts_.removePullSecret(name.first, name.second);
    for (const std::string& registry : registries) facts_.addPullSecrets(name.first, registry, {name.second});
  }
  stored = std::move(registries);
  if (stored.empty()) secrets_.erase(name);
  tell(changed);
}

void ClusterFacts::setAccount(const Name& name, bool present) {
  const std::string before{facts_.componentAccount(name.first)};
  if (present) {
    if (!accounts_.insert(name).second) return;
    facts_.addComponentAccount(name.first, name.second);
  } else {
    if (accounts_.erase(name) == 0) return;
    facts_.removeComponentAccount(name.first, name.second);
  }
  if (facts_.componentAccount(name.first) != before) tell({{FactKind::ComponentAccount, name.first, ""}});
}

void ClusterFacts::checkpointChanged(const kube::Change& change) {
  std::optional<render::CheckpointFact> before;
  if (const auto* stored = facts_.checkpointNamed(change.key.namespaceName, change.key.name))
    before = *stored;
  std::optional<render::CheckpointFact> after;
  if (change.now != nullptr) after = render::checkpointFact(*change.now);
  if (before == after) return;
  FactKeys changed = {{FactKind::CheckpointByName, change.key.namespaceName, change.key.name}};
  for (const auto& fact : {before, after}) {
    if (fact && !fact->labelHash.empty())
      changed.insert({FactKind::CheckpointByHash, change.key.namespaceName, fact->labelHash});
  }
  if (after) {
    facts_.setCheckpoint(*after);
  } else {
    facts_.removeCheckpoint(change.key.namespaceName, change.key.name);
  }
  tell(changed);
}

void ClusterFacts::discovered(const kube::ApiGroups& groups, std::string_view version,
                              std::chrono::steady_clock::time_point now) {
  FactKeys changed;
  for (std::size_t i = 0; i < render::kApiNames.size(); ++i) {
    const auto api = static_cast<Api>(i);
    const bool present = isServed(api, groups, version);
    if (present) absentSince_.erase(api);
    if (facts_.discovered() && facts_.api(api) == present) continue;
    if (!present && facts_.api(api).value_or(false)) {
      const auto [since, first] = absentSince_.try_emplace(api, now);
      if (first) kLog.warn("an API is no longer served", {{"api", render::nameOf(api)}});
      if (now < since->second + kAbsentTime) continue;
    }
    facts_.setApi(api, present);
    changed.insert({FactKind::Api, "", std::string{render::nameOf(api)}});
  }
  facts_.setDiscovered();
  tell(changed);
}

void ClusterFacts::tell(const FactKeys& keys) const {
  if (listener_ && !keys.empty()) listener_(keys);
}

}  // namespace dynamo::controller
