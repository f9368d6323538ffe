#include "common/render/contests.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/render/write_plan.h"

namespace dynamo::render {
namespace {

using namespace std::chrono_literals;

constexpr Clock::duration kFirstWait = 1s;
constexpr Clock::duration kLongestWait = 5min;
constexpr Clock::duration kContestEnds = 10min;

std::size_t fieldDigest(const k8s::ObjectKey& key, std::string_view path) {
  return std::hash<std::string>{}(k8s::toText(key).append(1, '\n').append(path));
}

}  // namespace

Clock::duration waitAfter(int undone) {
  if (undone == 0) return 0s;
  constexpr int kDoublings = 9;  // more would pass kLongestWait anyway
  return std::min<Clock::duration>(kLongestWait, kFirstWait * (1 << std::min(undone - 1, kDoublings)));
}

Clock::time_point endOf(const Contest& contest) {
  return contest.since + waitAfter(contest.undone) + kContestEnds;
}

bool hasEnded(const Contest& contest, Clock::time_point now) {
  return now >= endOf(contest);
}

WriteNotice contestNotice(const k8s::ObjectKey& key, std::string_view path, std::string_view manager) {
  return {WriteNotice::Kind::Contested,
          fmt::format("{} keeps changing {} of {}", manager, path, k8s::toText(key)), ""};
}

const Contest* Contests::find(const k8s::ObjectKey& key, std::string_view path) const {
  const auto found = fields_.find(fieldDigest(key, path));
  return found == fields_.end() ? nullptr : &found->second;
}

std::map<std::string, Contest, std::less<>> Contests::named(const k8s::ObjectKey& key) const {
  std::map<std::string, Contest, std::less<>> found;
  const auto paths = named_.find(key);
  if (paths == named_.end()) return found;
  for (const std::string& path : paths->second) {
    if (const Contest* contest = find(key, path)) found.emplace(path, *contest);
  }
  return found;
}

void Contests::remember(const k8s::ObjectKey& key, const WritePlan& plan, Clock::time_point now) {
  if (!plan.drift || plan.drift->path.empty() || plan.object == nullptr) return;
  if (fields_.size() >= pruneAt_) {
    std::erase_if(fields_, [&](const auto& each) { return hasEnded(each.second, now); });
    pruneAt_ = std::max(pruneAt_, 2 * fields_.size());
  }
  const std::size_t digest = contentDigest(*plan.object);
  const auto [found, added] = fields_.try_emplace(fieldDigest(key, plan.drift->path));
  Contest& contest = found->second;
  const bool again = !added && contest.applied == digest && !hasEnded(contest, now);
  contest.undone = again ? contest.undone + 1 : 0;
  contest.applied = digest;
  contest.since = now;
  contest.manager = plan.contestant;
  contest.version = plan.version;
  if (!contest.manager.empty()) {
    named_[key].insert(plan.drift->path);
  } else if (const auto paths = named_.find(key); paths != named_.end()) {
    paths->second.erase(plan.drift->path);
    if (paths->second.empty()) named_.erase(paths);
  }
}

}  // namespace dynamo::render
