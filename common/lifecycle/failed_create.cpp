// Decision ctl-Q36.
#include "common/lifecycle/failed_create.h"

#include <algorithm>
#include <map>
#include <string>

#include "common/lifecycle/leader_worker_sets.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// Kubernetes writes "create Pod NAME in StatefulSet SET failed error: CAUSE", or "create Claim CLAIM Pod
/// NAME in StatefulSet ...". Text of the recorder may precede it.
struct Message {
  std::string_view pod;
  std::string_view cause;  ///< without the name of the pod, so that all pods have the same cause
};

std::optional<Message> parseMessage(std::string_view text) {
  constexpr std::string_view kPod = "Pod ";
  constexpr std::string_view kSet = " in StatefulSet ";
  constexpr std::string_view kCause = " failed error: ";
  const std::size_t set = text.find(kSet);
  if (set == std::string_view::npos) return std::nullopt;
  const std::size_t cause = text.find(kCause, set);
  const std::size_t pod = text.substr(0, set).rfind(kPod);
  if (cause == std::string_view::npos || pod == std::string_view::npos) return std::nullopt;
  const std::size_t name = pod + kPod.size();
  Message message{text.substr(name, set - name), text.substr(cause + kCause.size())};
  const std::string forbidden = "pods \"" + std::string{message.pod} + "\" is forbidden: ";
  if (message.cause.starts_with(forbidden)) message.cause.remove_prefix(forbidden.size());
  return message;
}

std::string_view involvedName(const Value& event) {
  return json::findText(json::findObject(&event, "involvedObject"), "name");
}

/// Whether `name` is that of a StatefulSet of `set`.
bool isStatefulSetOf(std::string_view name, const Value& set) {
  const std::string_view own = nameOf(set);
  if (own.empty()) return false;
  const std::optional<long long> group = numberAfter(own, name);
  return name == own || (group && *group < countAt(specOf(set), "replicas", 1));
}

std::optional<Time> createdAt(const Value& object) {
  return parseTime(json::findText(metadataOf(object), "creationTimestamp"));
}

/// When the Event last happened.
std::optional<Time> lastTime(const Value& event) {
  const auto last = parseTime(json::findText(&event, "lastTimestamp"));
  return last ? last : createdAt(event);
}

}  // namespace

std::vector<std::string_view> leaderWorkerSetsOf(const Value& event) {
  const std::string_view name = involvedName(event);
  if (name.empty()) return {};
  std::vector<std::string_view> sets{name};
  const std::size_t dash = name.find_last_not_of("0123456789");
  if (dash != std::string_view::npos && dash > 0 && dash + 1 < name.size() && name[dash] == '-')
    sets.push_back(name.substr(0, dash));
  return sets;
}

std::vector<PodFailure> failedCreates(std::span<const Value* const> events, const Value& set,
                                      std::span<const Value* const> pods, std::optional<Time> since) {
  struct Latest {
    Time time;
    std::string_view cause;
  };
  since = std::max(since, createdAt(set));
  std::map<std::string_view, Latest> byPod;
  for (const Value* event : events) {
    if (!isStatefulSetOf(involvedName(*event), set)) continue;
    const std::optional<Time> time = lastTime(*event);
    const std::optional<Message> message = parseMessage(json::findText(event, "message"));
    if (!time || !message || (since && *time < *since)) continue;
    const auto [found, added] = byPod.try_emplace(message->pod, Latest{*time, message->cause});
    if (!added && found->second.time <= *time) found->second = {*time, message->cause};
  }
  for (const Value* pod : pods) byPod.erase(nameOf(*pod));
  std::vector<PodFailure> causes;
  causes.reserve(byPod.size());
  for (const auto& [pod, latest] : byPod) causes.push_back(refusedPods(latest.cause));
  return causes;
}

}  // namespace dynamo::lifecycle
