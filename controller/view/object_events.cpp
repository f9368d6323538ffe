#include "controller/view/object_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/lifecycle/object.h"
#include "controller/view/table.h"
#include "controller/view/tree_table.h"

namespace dynamo::view {
namespace {

using json::Value;

using Names = std::set<std::pair<std::string, std::string>>;  ///< kind, name

void addNames(const std::vector<Node>& nodes, Names& names) {
  for (const Node& node : nodes) {
    names.emplace(node.kind, node.name);
    addNames(node.children, names);
  }
}

/// Returns true if `name` is that of a ReplicaSet of the Deployment: its name and a hash.
bool isReplicaSetOf(std::string_view name, std::string_view deployment) {
  if (!name.starts_with(deployment)) return false;
  name.remove_prefix(deployment.size());
  constexpr std::string_view kHashLetters = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::size_t kMaxHash = 10;
  return name.size() > 1 && name.size() <= kMaxHash + 1 && name.front() == '-' &&
         name.substr(1).find_first_not_of(kHashLetters) == std::string_view::npos;
}

/// Returns true if `name` is that of a StatefulSet of the LeaderWorkerSet: of its leaders, or of one leader's
/// workers.
bool isStatefulSetOf(std::string_view name, std::string_view set) {
  if (!name.starts_with(set)) return false;
  name.remove_prefix(set.size());
  return name.empty() || (name.size() > 1 && name.front() == '-' &&
                          name.substr(1).find_first_not_of("0123456789") == std::string_view::npos);
}

bool isBetween(const std::string& kind, const std::string& name, const Names& names) {
  return std::any_of(names.begin(), names.end(), [&](const auto& each) {
    return (kind == "ReplicaSet" && each.first == "Deployment" && isReplicaSetOf(name, each.second)) ||
           (kind == "StatefulSet" && each.first == "LeaderWorkerSet" && isStatefulSetOf(name, each.second));
  });
}

std::optional<Time> lastOf(const Value& event) {
  const Value* series = json::findObject(&event, "series");
  for (const std::string_view text :
       {json::findText(series, "lastObservedTime"), json::findText(&event, "lastTimestamp"),
        json::findText(&event, "eventTime"), json::findText(&event, "firstTimestamp"),
        json::findText(lifecycle::metadataOf(event), "creationTimestamp")}) {
    if (const auto time = lifecycle::parseTime(text)) return time;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ObjectEvent> eventsOf(std::span<const Value* const> events, std::string_view kind,
                                  std::string_view name, const std::vector<Node>& nodes) {
  Names names{{std::string{kind}, std::string{name}}};
  addNames(nodes, names);
  std::vector<ObjectEvent> found;
  for (const Value* event : events) {
    const Value* about = json::findObject(event, "involvedObject");
    const std::string ofKind{json::findText(about, "kind")};
    const std::string ofName{json::findText(about, "name")};
    if (!names.contains({ofKind, ofName}) && !isBetween(ofKind, ofName, names)) continue;
    ObjectEvent each;
    each.last = lastOf(*event);
    each.type = json::findText(event, "type");
    each.reason = json::findText(event, "reason");
    each.object = fmt::format("{}/{}", ofKind, ofName);
    each.message = json::findText(event, "message");
    const Value* series = json::findObject(event, "series");
    each.count =
        std::max<std::int64_t>(lifecycle::countAt(series != nullptr ? series : event, "count", 1), 1);
    found.push_back(std::move(each));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const ObjectEvent& a, const ObjectEvent& b) { return a.last < b.last; });
  return found;
}

std::string toText(std::span<const ObjectEvent> events, const TextOptions& options) {
  Table table{options.style};
  table.add({{"LAST SEEN"}, {"TYPE"}, {"REASON"}, {"OBJECT"}, {"MESSAGE"}});
  for (const ObjectEvent& event : events) {
    const std::string times = event.count > 1 ? fmt::format(" ({} times)", event.count) : "";
    table.add({{ageOf(event.last, options)},
               {event.type, event.type == "Warning" ? Color::Yellow : Color::Plain},
               {event.reason},
               {event.object},
               {event.message + times}});
  }
  return table.text();
}

}  // namespace dynamo::view
