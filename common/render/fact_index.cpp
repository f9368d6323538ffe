#include "common/render/fact_index.h"

#include <algorithm>
#include <iterator>

namespace dynamo::render {
namespace {

/// The entry of `map` for two keys; nullptr if absent.
template <typename Map>
auto* find(const Map& map, std::string_view outer, std::string_view inner) {
  const auto found = map.find(outer);
  using Result = decltype(&found->second.begin()->second);
  if (found == map.end()) return Result{nullptr};
  const auto entry = found->second.find(inner);
  return entry == found->second.end() ? Result{nullptr} : &entry->second;
}

/// The entry of `map` for `key`, created if absent.
template <typename Map>
auto& ensure(Map& map, std::string_view key) {
  const auto found = map.lower_bound(key);
  if (found != map.end() && found->first == key) return found->second;
  return map.emplace_hint(found, key, typename Map::mapped_type{})->second;
}

/// Adds the keys of `a` for which `differs(namespace, name)` returns true.
template <typename Map, typename Differs>
void collect(const Map& a, FactKind kind, FactKeys& keys, Differs&& differs) {
  for (const auto& [namespaceName, names] : a) {
    for (const auto& [name, answer] : names) {
      if (differs(namespaceName, name)) keys.insert({kind, namespaceName, name});
    }
  }
}

bool same(const CheckpointFact* a, const CheckpointFact* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

}  // namespace

bool intersect(const FactKeys& a, const FactKeys& b) {
  const FactKeys& few = a.size() < b.size() ? a : b;
  const FactKeys& many = a.size() < b.size() ? b : a;
  return std::any_of(few.begin(), few.end(), [&](const FactKey& key) { return many.contains(key); });
}

std::optional<bool> Facts::api(Api api) const {
  const std::optional<bool> reported = apis_[static_cast<std::size_t>(api)];
  return reported || !discovered_ ? reported : false;
}

std::span<const std::string> Facts::pullSecrets(std::string_view namespaceName,
                                                std::string_view registry) const {
  const std::vector<std::string>* secrets = find(pullSecrets_, namespaceName, registry);
  return secrets == nullptr ? std::span<const std::string>{} : std::span<const std::string>{*secrets};
}

void Facts::addPullSecrets(std::string_view namespaceName, std::string_view registry,
                           const std::vector<std::string>& secrets) {
  if (secrets.empty()) return;
  std::vector<std::string>& names = ensure(ensure(pullSecrets_, namespaceName), registry);
  names.insert(names.end(), secrets.begin(), secrets.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

void Facts::removePullSecret(std::string_view namespaceName, std::string_view secret) {
  const auto registries = pullSecrets_.find(namespaceName);
  if (registries == pullSecrets_.end()) return;
  for (auto registry = registries->second.begin(); registry != registries->second.end();) {
    std::erase(registry->second, secret);
    registry = registry->second.empty() ? registries->second.erase(registry) : std::next(registry);
  }
  if (registries->second.empty()) pullSecrets_.erase(registries);
}

std::string_view Facts::componentAccount(std::string_view namespaceName) const {
  const auto found = accounts_.find(namespaceName);
  return found == accounts_.end() ? std::string_view{} : std::string_view{*found->second.begin()};
}

void Facts::addComponentAccount(std::string_view namespaceName, std::string_view account) {
  ensure(accounts_, namespaceName).emplace(account);
}

void Facts::removeComponentAccount(std::string_view namespaceName, std::string_view account) {
  const auto found = accounts_.find(namespaceName);
  if (found == accounts_.end()) return;
  if (const auto name = found->second.find(account); name != found->second.end()) found->second.erase(name);
  if (found->second.empty()) accounts_.erase(found);
}

const CheckpointFact* Facts::checkpointNamed(std::string_view namespaceName, std::string_view name) const {
  return find(checkpoints_, namespaceName, name);
}

const CheckpointFact* Facts::checkpointWithHash(std::string_view namespaceName, std::string_view hash) const {
  const Names* names = find(checkpointHashes_, namespaceName, hash);
  if (names == nullptr) return nullptr;
  const CheckpointFact* found = nullptr;
  for (const std::string& name : *names) {
    const CheckpointFact* fact = checkpointNamed(namespaceName, name);
    // The label is what somebody wrote, the hash of the status is that of the content.
    if (!fact->hash.empty() && fact->hash != hash) continue;
    if (fact->ready) return fact;
    if (found == nullptr) found = fact;
  }
  return found;
}

void Facts::setCheckpoint(const CheckpointFact& fact) {
  removeCheckpoint(fact.namespaceName, fact.name);
  ensure(ensure(checkpoints_, fact.namespaceName), fact.name) = fact;
  if (!fact.labelHash.empty()) {
    ensure(ensure(checkpointHashes_, fact.namespaceName), fact.labelHash).insert(fact.name);
  }
}

void Facts::removeCheckpoint(std::string_view namespaceName, std::string_view name) {
  const auto named = checkpoints_.find(namespaceName);
  if (named == checkpoints_.end()) return;
  const auto fact = named->second.find(name);
  if (fact == named->second.end()) return;
  const auto hashes = checkpointHashes_.find(namespaceName);
  if (hashes != checkpointHashes_.end()) {
    if (const auto names = hashes->second.find(fact->second.labelHash); names != hashes->second.end()) {
      names->second.erase(fact->first);
      if (names->second.empty()) hashes->second.erase(names);
    }
    if (hashes->second.empty()) checkpointHashes_.erase(hashes);
  }
  named->second.erase(fact);
  if (named->second.empty()) checkpoints_.erase(named);
}

std::optional<bool> Facts::queue(std::string_view name) const {
  return queuesKnown_ ? std::optional{queues_.contains(name)} : std::nullopt;
}

void Facts::removeQueue(std::string_view name) {
  if (const auto found = queues_.find(name); found != queues_.end()) queues_.erase(found);
}

FactKeys changed(const Facts& before, const Facts& after) {
  FactKeys keys;
  for (std::size_t i = 0; i < kApiNames.size(); ++i) {
    const Api api = static_cast<Api>(i);
    if (before.api(api) != after.api(api)) keys.insert({FactKind::Api, "", std::string{nameOf(api)}});
  }
  for (const Facts* facts : {&before, &after}) {  // a fact may be in one of them only
    collect(facts->pullSecrets_, FactKind::PullSecrets, keys,
            [&](const auto& namespaceName, const auto& registry) {
              return !std::ranges::equal(before.pullSecrets(namespaceName, registry),
                                         after.pullSecrets(namespaceName, registry));
            });
    for (const auto& [namespaceName, names] : facts->accounts_) {
      if (before.componentAccount(namespaceName) != after.componentAccount(namespaceName))
        keys.insert({FactKind::ComponentAccount, namespaceName, ""});
    }
    for (const std::string& name : facts->queues_) {
      if (before.queue(name) != after.queue(name)) keys.insert({FactKind::Queue, "", name});
    }
    collect(facts->checkpoints_, FactKind::CheckpointByName, keys,
            [&](const auto& namespaceName, const auto& name) {
              return !same(before.checkpointNamed(namespaceName, name),
                           after.checkpointNamed(namespaceName, name));
            });
    collect(facts->checkpointHashes_, FactKind::CheckpointByHash, keys,
            [&](const auto& namespaceName, const auto& hash) {
              return !same(before.checkpointWithHash(namespaceName, hash),
                           after.checkpointWithHash(namespaceName, hash));
            });
  }
  return keys;
}

void FactsView::record(FactKind kind, std::string_view namespaceName, std::string_view name) const {
  if (lookedUp_ != nullptr) lookedUp_->insert({kind, std::string{namespaceName}, std::string{name}});
}

std::optional<bool> FactsView::api(Api api) const {
  record(FactKind::Api, "", nameOf(api));
  return facts_->api(api);
}

std::span<const std::string> FactsView::pullSecrets(std::string_view namespaceName,
                                                    std::string_view registry) const {
  record(FactKind::PullSecrets, namespaceName, registry);
  return facts_->pullSecrets(namespaceName, registry);
}

std::string_view FactsView::componentAccount(std::string_view namespaceName) const {
  record(FactKind::ComponentAccount, namespaceName, "");
  return facts_->componentAccount(namespaceName);
}

const CheckpointFact* FactsView::checkpointNamed(std::string_view namespaceName,
                                                 std::string_view name) const {
  record(FactKind::CheckpointByName, namespaceName, name);
  return facts_->checkpointNamed(namespaceName, name);
}

const CheckpointFact* FactsView::checkpointWithHash(std::string_view namespaceName,
                                                    std::string_view hash) const {
  record(FactKind::CheckpointByHash, namespaceName, hash);
  return facts_->checkpointWithHash(namespaceName, hash);
}

std::optional<bool> FactsView::queue(std::string_view name) const {
  record(FactKind::Queue, "", name);
  return facts_->queue(name);
}

}  // namespace dynamo::render
