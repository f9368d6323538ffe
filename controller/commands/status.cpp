#include "controller/commands/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "common/api/kinds.h"
#include "common/config/operator_config.h"
#include "common/k8s/duration.h"
#include "common/model/component_defaults.h"
#include "common/observability/log.h"
#include "common/runtime/notification.h"
#include "common/runtime/signals.h"
#include "controller/commands/cluster_flags.h"
#include "controller/commands/screen.h"
#include "controller/commands/snapshot.h"
#include "controller/view/status_text.h"
#include "controller/view/status_tree.h"

namespace dynamo::controller {
namespace {

using runtime::Deadline;
using runtime::Task;

/// The delay between a change and its output. Changes often come together, for example of a Deployment and
/// its pods.
constexpr std::chrono::milliseconds kSettleTime{200};
/// The interval between updates without an event. Ages change without an event, and some reasons, such as
/// "cannot be scheduled", appear after a time.
constexpr std::chrono::seconds kRefresh{5};

constexpr int kReady = 0;
constexpr int kNotReady = 1;
constexpr int kFailed = 2;

int fail(std::string_view message) {
  std::cerr << "dynamo-controller: " << message << '\n';
  return kFailed;
}

lifecycle::Time now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// One output, and whether all shown graphs are ready.
struct Picture {
  std::string text;
  std::string content;  ///< the text without ages
  std::string notes;    ///< for the standard error, next to JSON
  bool found = false;
  bool ready = false;
};

class StatusCommand {
 public:
  StatusCommand(runtime::EventLoop& loop, const StatusOptions& options, Snapshot& snapshot,
                std::string namespaceName)
      : loop_(loop),
        options_(options),
        snapshot_(snapshot),
        namespaceName_(std::move(namespaceName)),
        style_(styleFor(options.color)),
        changed_(loop) {}

  Task<void> showOnce(int& status) {
    if (const auto error = co_await snapshot_.load()) {
      status = fail(*error);
      co_return;
    }
    const Picture picture = draw();
    status = picture.ready ? kReady : kNotReady;
    std::cerr << picture.notes;
    if (picture.found) {
      std::cout << picture.text;
    } else {
      std::cerr << picture.text;
    }
    if (!std::cout.flush()) status = fail("cannot write to standard output");
  }

  Task<void> watch(int& status, std::optional<Deadline> end) {
    if (const auto error = co_await snapshot_.load(end.value_or(runtime::kNoDeadline))) {
      if (!loop_.stopping()) status = fail(*error);
      loop_.stop();
      co_return;
    }
    snapshot_.watch([this] {
      dirty_ = true;
      changed_.notify();
    });
    std::string shown;
    while (!loop_.stopping()) {
      dirty_ = false;
      const Picture picture = draw();
      show(picture, shown);
      if (!std::cout) {
        status = fail("cannot write to standard output");
        break;
      }
      if (end) status = picture.ready ? kReady : kNotReady;
      if (end && (picture.ready || std::chrono::steady_clock::now() >= *end)) break;
      const Deadline next = std::chrono::steady_clock::now() + kRefresh;
      if (!dirty_) co_await changed_.wait(std::min(next, end.value_or(next)));
      const Deadline settled = std::chrono::steady_clock::now() + kSettleTime;
      if (dirty_) co_await loop_.sleepUntil(std::min(settled, end.value_or(settled)));
    }
    loop_.stop();
  }

 private:
  Picture draw() const {
    Picture picture = options_.name.empty() ? drawList() : drawTree();
    for (const std::string& note : snapshot_.notes()) {
      if (options_.output == "json") {
        picture.notes += note + '\n';
        continue;
      }
      const std::string line = style_.paint(view::Color::Yellow, note) + '\n';
      picture.text += line;
      picture.content += line;
    }
    return picture;
  }

  Picture drawTree() const {
    render::Facts facts;
    if (const auto grove = snapshot_.serves("PodCliqueSet")) facts.setApi(render::Api::Grove, *grove);
    const LoadedObjects objects = snapshot_.objects();
    const auto graph =
        std::find_if(objects.pointers.begin(), objects.pointers.end(), [&](const json::Value* object) {
          return json::findText(object, "kind") == api::kDynamoGraphDeployment &&
                 json::findText(json::find(object, "metadata"), "name") == options_.name;
        });
    if (graph == objects.pointers.end()) {
      return notFound(fmt::format("DynamoGraphDeployment {}/{} not found", namespaceName_, options_.name));
    }
    const render::Context context{config_, defaults_, facts};
    const view::GraphTree tree = view::treeOf(**graph, objects.pointers, context, now());
    Picture picture = pictureOf(tree);
    picture.ready = tree.summary.ready;
    return picture;
  }

  Picture drawList() const {
    const LoadedObjects objects = snapshot_.objects();
    std::vector<view::GraphSummary> graphs;
    graphs.reserve(objects.pointers.size());
    for (const json::Value* graph : objects.pointers) graphs.push_back(view::summaryOf(*graph));
    if (graphs.empty()) {
      return notFound(options_.allNamespaces
                          ? "no DynamoGraphDeployments found"
                          : fmt::format("no DynamoGraphDeployments found in namespace {}", namespaceName_));
    }
    const auto key = [](const view::GraphSummary& graph) {
      return std::tie(graph.namespaceName, graph.name);
    };
    std::sort(graphs.begin(), graphs.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    Picture picture = pictureOf(graphs);
    picture.ready =
        std::all_of(graphs.begin(), graphs.end(), [](const view::GraphSummary& each) { return each.ready; });
    return picture;
  }

  std::string textOf(const view::GraphTree& tree, const view::TextOptions& options) const {
    return view::toText(tree, options);
  }
  std::string textOf(const std::vector<view::GraphSummary>& graphs, const view::TextOptions& options) const {
    return view::toText(graphs, options_.allNamespaces, options);
  }

  template <class Shown>
  Picture pictureOf(const Shown& shown) const {
    Picture picture;
    picture.found = true;
    if (options_.output == "json") {
      picture.text = view::toJson(shown);
      picture.content = picture.text;
      return picture;
    }
    const view::TextOptions withAges{style_, now(), true};
    const view::TextOptions withoutAges{style_, now(), false};
    picture.text = textOf(shown, withAges);
    picture.content = textOf(shown, withoutAges);
    return picture;
  }

  static Picture notFound(const std::string& message) {
    Picture picture;
    picture.text = message + '\n';
    picture.content = picture.text;
    return picture;
  }

  /// A terminal shows only the newest output. Otherwise the output is appended if anything except ages has
  /// changed.
  void show(const Picture& picture, std::string& shown) {
    if (picture.notes != shownNotes_) {
      std::cerr << picture.notes << std::flush;
      shownNotes_ = picture.notes;
    }
    if (isTerminal() && options_.output != "json") {
      redraw(picture.text);
      return;
    }
    if (picture.content == shown) return;
    if (!picture.found && options_.output == "json") {
      std::cerr << picture.text << std::flush;
      shown = picture.content;
      return;
    }
    if (!shown.empty() && options_.output != "json") std::cout << '\n';
    std::cout << picture.text << std::flush;
    shown = picture.content;
  }

  runtime::EventLoop& loop_;
  const StatusOptions& options_;
  Snapshot& snapshot_;
  std::string namespaceName_;
  view::Style style_;
  config::OperatorConfig config_;
  model::ComponentDefaults defaults_;
  runtime::Notification changed_;
  bool dirty_ = false;
  std::string shownNotes_;
};

/// Stops the loop at the first signal.
Task<void> stopAtSignal(runtime::EventLoop& loop, runtime::Descriptor& signals) {
  co_await signals.readable();
  loop.stop();
}

std::vector<Selection> selectionsFor(const StatusOptions& options) {
  std::vector<Selection> selections;
  if (!options.name.empty()) selections = selectChildren(options.name);
  selections.push_back(selectGraphs(options.name));
  return selections;
}

}  // namespace

int runStatus(const StatusOptions& options) {
  if (!options.name.empty() && options.allNamespaces)
    return fail("NAME and --all-namespaces are mutually exclusive");
  std::optional<Deadline> end;
  if (!options.timeout.empty()) {
    const auto timeout = k8s::parseDuration(options.timeout);
    if (!options.watch) return fail("--timeout requires --watch");
    if (!timeout || timeout->count() < 0) return fail("--timeout must be a duration such as 90s or 10m");
    end = std::chrono::steady_clock::now() + *timeout;
  }
  // The connection may be interrupted during the watch. The notes below the output report this.
  log::configure({log::Level::Error, log::Format::Text});
  std::optional<runtime::Signals> signals;
  if (options.watch) signals.emplace();
  runtime::EventLoop loop;
  auto made = makeCluster(loop, options.cluster);
  if (const auto* error = std::get_if<std::string>(&made)) return fail(*error);
  Cluster& cluster = std::get<Cluster>(made);
  std::string namespaceName = options.namespaceName.empty() ? cluster.namespaceName : options.namespaceName;
  if (options.allNamespaces) namespaceName.clear();
  Snapshot snapshot{loop, *cluster.client, namespaceName, selectionsFor(options)};
  StatusCommand command{loop, options, snapshot, namespaceName};
  if (!options.watch) {
    int status = kFailed;
    loop.spawn(command.showOnce(status));
    loop.run();
    return status;
  }
  int status = end ? kNotReady : kReady;
  runtime::Descriptor descriptor{loop, runtime::UniqueFd{::dup(signals->descriptor())}};
  loop.spawn(stopAtSignal(loop, descriptor));
  loop.spawn(command.watch(status, end));
  loop.run();
  return status;
}

}  // namespace dynamo::controller
