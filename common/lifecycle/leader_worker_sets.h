#pragma once
// Which LeaderWorkerSets run a multinode component: one for each replica, named after the component and a
// number.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::lifecycle {

/// The number n of the name "<base>-<n>"; nullopt: another name.
std::optional<long long> numberAfter(std::string_view base, std::string_view name);

/// Whether `object` is a LeaderWorkerSet of the component that is not being deleted.
bool isLiveSetOf(const json::Value& object, const json::Value& deployment);

/// The numbers of the sets, in order. Sets that exist stay. If there are more than replicas, those that serve
/// stay, then those with low numbers; a missing set gets the lowest free number (decision ctl-Q54).
/// `observed`: objects of any kind. Empty if `replicas` is more than can be rendered.
std::vector<long long> setNumbers(const json::Value& deployment,
                                  std::span<const json::Value* const> observed);

}  // namespace dynamo::lifecycle
