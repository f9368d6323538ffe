// Decision ctl-Q54.
#include "common/lifecycle/leader_worker_sets.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

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

/// The number in the name of a set of the component; nullopt: another name.
std::optional<long long> numberOf(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  long long number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  const bool canonical = name.size() == 1 || (!name.empty() && name.front() != '0');
  if (read.ec != std::errc{} || read.ptr != end || number < 0 || !canonical) return std::nullopt;
  return number;
}

std::vector<LiveSet> liveSets(const Value& deployment, std::span<const Value* const> observed) {
  const std::string prefix = model::dashed(nameOf(deployment)) + "-";
  std::vector<LiveSet> live;
  for (const Value* object : observed) {
    if (json::findText(object, "kind") != "LeaderWorkerSet" || isBeingDeleted(*object) ||
        !isControlledBy(*object, deployment))
      continue;
    const std::optional<long long> number = numberOf(nameOf(*object), prefix);
    if (!number) continue;
    const bool serves =
        countAt(statusOf(*object), "readyReplicas") >= countAt(specOf(*object), "replicas", 1);
    live.push_back({*number, serves});
  }
  return live;
}

}  // namespace

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
