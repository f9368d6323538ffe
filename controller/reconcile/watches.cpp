#include "controller/reconcile/watches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace dynamo::controller {

using runtime::Task;

void Watches::add(const kube::Resource& resource, std::string labelSelector, std::string fieldSelector,
                  kube::Sink sink, const std::optional<kube::Resource>& with) {
  watches_.push_back({resource, with.value_or(resource), std::move(labelSelector), std::move(fieldSelector),
                      std::move(sink), nullptr});
}

Task<Watches::Started> Watches::start(kube::ApiGroups groups) {
  std::map<std::string, kube::ApiResources> found;  // keyed by group version
  std::optional<kube::ApiError> failure;
  for (Watch& watch : watches_) {
    if (watch.reflector) continue;
    const kube::Resource& resource = watch.needed;
    if (!resource.group.empty()) {
      if (!groups.serves(resource.group, resource.version)) continue;
      // A group may be served without some of its kinds, for example by an older release of the operator.
      const std::string version = kube::apiVersionOf(resource);
      if (!found.contains(version)) {
        auto read = co_await kube::discoverResources(client_, resource.group, resource.version);
        if (auto* error = std::get_if<kube::ApiError>(&read)) {
          if (error->reason == kube::Reason::NotFound) {
            groups.remove(resource.group, resource.version);
          } else {
            failure = std::move(*error);
          }
          continue;
        }
        found.emplace(version, std::move(std::get<kube::ApiResources>(read)));
      }
      if (found.at(version).ofKind(resource.kind) == nullptr) continue;
    }
    run(watch);
  }
  co_return Started{std::move(groups), std::move(failure)};
}

void Watches::run(Watch& watch) {
  const kube::WatchedSet set{namespace_, watch.labelSelector, watch.fieldSelector};
  watch.reflector = std::make_unique<kube::Reflector>(
      loop_, watch.resource, set, kube::listWatchOf(client_, watch.resource, namespace_), watch.sink);
  loop_.spawn(watch.reflector->run());
}

bool Watches::isUnsynced(const Watch& watch) {
  if (!watch.reflector || watch.reflector->synced()) return false;
  return watch.resource == watch.needed || watch.reflector->problem().empty();
}

kube::ApiGroups Watches::syncedOf(kube::ApiGroups groups) const {
  std::erase_if(groups.groups, [&](const kube::ApiGroup& group) {
    return std::any_of(watches_.begin(), watches_.end(), [&](const Watch& each) {
      return each.needed.group == group.name && isUnsynced(each);
    });
  });
  return groups;
}

std::string Watches::unsynced() const {
  const auto found = std::find_if(watches_.begin(), watches_.end(), &isUnsynced);
  if (found == watches_.end()) return "";
  const std::string& problem = found->reflector->problem();
  return fmt::format("the cache of {} is not in sync{}{}", found->resource.plural,
                     problem.empty() ? "" : ": ", problem);
}

}  // namespace dynamo::controller
