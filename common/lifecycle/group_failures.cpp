// Decision ctl-Q73.
#include "common/lifecycle/group_failures.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/api/dynamo.h"
#include "common/lifecycle/container_failures.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// When somebody asked for the deletion of the pod; nullopt: nobody did.
std::optional<Time> deletionAskedAt(const Value& pod) {
  const Value* metadata = metadataOf(pod);
  const auto end = parseTime(json::findText(metadata, "deletionTimestamp"));
  if (!end) return std::nullopt;
  return *end - std::chrono::seconds{countAt(metadata, "deletionGracePeriodSeconds")};
}

/// The sets that are replacing their group, and since when. A set deletes the leader first.
std::map<std::string_view, Time> replacedGroups(std::span<const Value* const> pods) {
  std::map<std::string_view, Time> groups;
  for (const Value* pod : pods) {
    if (labelOf(*pod, api::label::kRole) != "leader") continue;
    if (const auto asked = deletionAskedAt(*pod))
      groups.emplace(labelOf(*pod, api::label::kInstanceId), *asked);
  }
  return groups;
}

/// The last crash of the container before `before`; nullptr: there is none. When a leader ends, other nodes
/// end, too, but later.
const Value* crashBefore(const Value& container, Time before) {
  if (countAt(&container, "restartCount") == 0) return nullptr;
  for (const std::string_view state : {"state", "lastState"}) {
    const Value* terminated = json::findObject(json::findObject(&container, state), "terminated");
    const auto at = parseTime(json::findText(terminated, "finishedAt"));
    if (at && *at < before && numberAt(terminated, "exitCode", 0) != 0) return terminated;
  }
  return nullptr;
}

}  // namespace

std::vector<PodFailure> groupFailures(std::span<const Value* const> pods) {
  std::vector<PodFailure> causes;
  const std::map<std::string_view, Time> groups = replacedGroups(pods);
  if (groups.empty()) return causes;
  for (const Value* pod : pods) {
    const auto group = groups.find(labelOf(*pod, api::label::kInstanceId));
    if (group == groups.end()) continue;
    for (const std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
      const Value* containers = json::find(statusOf(*pod), list);
      if (containers == nullptr || !containers->IsArray()) continue;
      for (const Value& container : containers->GetArray()) {
        const Value* crash = crashBefore(container, group->second);
        if (crash == nullptr) continue;
        causes.push_back({std::string{reason::kCrashLoop},
                          fmt::format("container \"{}\" terminated, so all pods of its set are replaced",
                                      json::findText(&container, "name")),
                          terminationCause(*crash)});
      }
    }
  }
  return causes;
}

}  // namespace dynamo::lifecycle
