#include "controller/plugin/why.h"

#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "controller/plugin/screen.h"
#include "controller/view/cause.h"

namespace dynamo::plugin {
namespace {

runtime::Task<int> printCause(Session session, const WhyOptions& options) {
  auto read = co_await readTarget(session, options.name);
  if (const auto* error = std::get_if<std::string>(&read)) co_return fail(*error);
  const FoundTarget& found = std::get<FoundTarget>(read);
  const auto cause = std::visit([](const auto& tree) { return view::causeOf(tree); }, found.tree);
  const StatusTarget& target = found.target;
  std::cerr << found.notes;
  if (options.output == "json") {
    std::cout << view::toJson(target.kind, session.namespaceName, target.name, cause);
  } else {
    const std::string what = fmt::format("{} {}/{}", target.kind, session.namespaceName, target.name);
    std::cout << view::toText(what, cause, styleFor(options.color));
  }
  co_return cause ? kNotReady : kDone;
}

}  // namespace

int runWhy(const WhyOptions& options) {
  return runInCluster(options, [&](Session session) { return printCause(std::move(session), options); });
}

}  // namespace dynamo::plugin
