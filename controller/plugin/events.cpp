#include "controller/plugin/events.h"

#include <fmt/format.h>

#include <iostream>
#include <utility>
#include <vector>

#include "controller/plugin/screen.h"
#include "controller/reconcile/kinds.h"
#include "controller/view/object_events.h"

namespace dynamo::plugin {
namespace {

using runtime::Task;

Task<int> printEvents(Session session, const EventsOptions& options) {
  auto read = co_await readTarget(session, options.name);
  if (const auto* error = std::get_if<std::string>(&read)) co_return fail(*error);
  const FoundTarget& found = std::get<FoundTarget>(read);
  // All of the namespace, because a field selector can name only one object.
  const kube::Resource& resource = controller::resourceOf("", "Event");
  const kube::ListOptions everything;
  const auto listed = co_await listAll(session, resource, everything);
  if (const auto* error = std::get_if<std::string>(&listed)) co_return fail(*error);
  const Listed& objects = std::get<Listed>(listed);
  const auto& nodes = std::visit([](const auto& tree) -> const auto& { return tree.nodes; }, found.tree);
  std::vector<view::ObjectEvent> events =
      view::eventsOf(objects.pointers, found.target.kind, found.target.name, nodes);
  if (options.warnings)
    std::erase_if(events, [](const view::ObjectEvent& event) { return event.type != "Warning"; });
  std::cerr << found.notes;
  if (events.empty()) {
    std::cerr << fmt::format("no {} of {} {}/{} and of what belongs to it\n",
                             options.warnings ? "warnings" : "Events", found.target.kind,
                             session.namespaceName, found.target.name);
    co_return kDone;
  }
  std::cout << view::toText(events, {styleFor(options.color), currentTime()});
  co_return kDone;
}

}  // namespace

int runEvents(const EventsOptions& options) {
  return runInCluster(options, [&](Session session) { return printEvents(std::move(session), options); });
}

}  // namespace dynamo::plugin
