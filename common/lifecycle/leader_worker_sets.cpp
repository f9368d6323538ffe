// Decision ctl-Q54.
#include "common/lifecycle/leader_worker_sets.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <string>

#include "common/lifecycle/object.h"
#include "common/model/names.h"
#include "common/render/workloads.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

struct LiveSet {
  long long number = 0;
  bool serves = false;
};

std::vector<LiveSet> liveSets(const Value& deployment, std::span<const Value* const> observed) {
  const std::string base = model::dashed(nameOf(deployment));
  std::vector<LiveSet> live;
  for (const Value* object : observed) {
    if (!isLiveSetOf(*object, deployment)) continue;
    const std::optional<long long> number = numberAfter(base, nameOf(*object));
    if (!number) continue;
    const std::int64_t replicas = countAt(specOf(*object), "replicas", 1);
    const bool serves = replicas > 0 && countAt(statusOf(*object), "readyReplicas") >= replicas;
    live.push_back({*number, serves});
  }
  return live;
}

}  // namespace

std::optional<long long> numberAfter(std::string_view base, std::string_view name) {
  if (!name.starts_with(base)) return std::nullopt;
  name.remove_prefix(base.size());
  if (!name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  long long number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  const bool canonical = name.size() == 1 || (!name.empty() && name.front() != '0');
  if (read.ec != std::errc{} || read.ptr != end || number < 0 || !canonical) return std::nullopt;
  return number;
}

bool isLiveSetOf(const Value& object, const Value& deployment) {
  return json::findText(&object, "kind") == "LeaderWorkerSet" && !isBeingDeleted(object) &&
         isControlledBy(object, deployment);
}

std::vector<long long> setNumbers(const Value& deployment, std::span<const Value* const> observed) {
  const auto replicas = static_cast<std::size_t>(countAt(specOf(deployment), "replicas", 1));
  if (replicas > render::kMaxLeaderWorkerSets) return {};
  std::vector<LiveSet> live = liveSets(deployment, observed);
  std::sort(live.begin(), live.end(), [](const LiveSet& a, const LiveSet& b) {
    return a.serves != b.serves ? a.serves : a.number < b.number;
  });
  if (live.size() > replicas) live.resize(replicas);
  std::set<long long> numbers;
  for (const LiveSet& each : live) numbers.insert(each.number);
  for (long long number = 0; numbers.size() < replicas; ++number) numbers.insert(number);
  return {numbers.begin(), numbers.end()};
}

}  // namespace dynamo::lifecycle
