#include "controller/plugin/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "common/k8s/duration.h"
#include "common/observability/log.h"
#include "common/runtime/notification.h"
#include "common/runtime/signals.h"
#include "controller/commands/cluster_flags.h"
#include "controller/plugin/screen.h"
#include "controller/plugin/session.h"
#include "controller/plugin/snapshot.h"
#include "controller/plugin/status_picture.h"
#include "controller/plugin/status_target.h"

namespace dynamo::plugin {
namespace {

using runtime::Deadline;
using runtime::Task;

/// The delay between a change and its output. Changes often come together, for example of a Deployment and
/// its pods.
constexpr std::chrono::milliseconds kSettleTime{200};
/// The interval between updates without an event. Ages change without an event, and some reasons, such as
/// "cannot be scheduled", appear after a time.
constexpr std::chrono::seconds kRefresh{5};

class StatusCommand {
 public:
  StatusCommand(runtime::EventLoop& loop, kube::Client& client, const StatusOptions& options,
                StatusTarget target, std::string namespaceName)
      : loop_(loop),
        client_(client),
        options_(options),
        target_(std::move(target)),
        namespaceName_(std::move(namespaceName)),
        changed_(loop) {}

  Task<void> showOnce(int& status) {
    if (const auto error = co_await load(runtime::kNoDeadline)) {
      status = fail(*error);
      co_return;
    }
    const Picture picture = painter_->draw();
    status = picture.ready ? kDone : kNotReady;
    std::cerr << picture.notes;
    if (picture.found) {
      std::cout << picture.text;
    } else {
      std::cerr << picture.text;
    }
    if (!std::cout.flush()) status = fail("cannot write to standard output");
  }

  Task<void> watch(int& status, std::optional<Deadline> end) {
    if (const auto error = co_await load(end.value_or(runtime::kNoDeadline))) {
      if (!loop_.stopping()) status = fail(*error);
      loop_.stop();
      co_return;
    }
    snapshot_->watch([this] {
      dirty_ = true;
      changed_.notify();
    });
    std::string shown;
    while (!loop_.stopping()) {
      dirty_ = false;
      const Picture picture = painter_->draw();
      show(picture, shown);
      if (!std::cout) {
        status = fail("cannot write to standard output");
        break;
      }
      if (end) status = picture.ready ? kDone : kNotReady;
      if (end && (picture.ready || std::chrono::steady_clock::now() >= *end)) break;
      const Deadline next = std::chrono::steady_clock::now() + kRefresh;
      if (!dirty_) co_await changed_.wait(std::min(next, end.value_or(next)));
      const Deadline settled = std::chrono::steady_clock::now() + kSettleTime;
      if (dirty_) co_await loop_.sleepUntil(std::min(settled, end.value_or(settled)));
    }
    loop_.stop();
  }

 private:
  struct Finding {
    Finding(runtime::EventLoop& loop, StatusTarget given) : target(std::move(given)), ended(loop) {}

    StatusTarget target;
    bool done = false;
    runtime::Notification ended;
  };

  static Task<void> find(kube::Client& client, std::string namespaceName, std::shared_ptr<Finding> finding) {
    StatusTarget given = finding->target;
    finding->target = co_await findTarget(client, std::move(namespaceName), std::move(given));
    finding->done = true;
    finding->ended.notify();
  }

  /// Finds out which kind the target has, then lists the objects. The error is one line.
  Task<std::optional<std::string>> load(Deadline end) {
    const auto finding = std::make_shared<Finding>(loop_, target_);
    loop_.spawn(find(client_, namespaceName_, finding));
    while (!finding->done) {
      if (loop_.stopping()) co_return "interrupted";
      if (std::chrono::steady_clock::now() >= end)
        co_return "the cluster has not answered within the timeout";
      co_await finding->ended.wait(end);
    }
    snapshot_.emplace(loop_, client_, namespaceName_, selectionsFor(finding->target));
    painter_.emplace(*snapshot_, finding->target, namespaceName_, styleFor(options_.color),
                     options_.output == "json");
    co_return co_await snapshot_->load(end);
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
  kube::Client& client_;
  const StatusOptions& options_;
  StatusTarget target_;
  std::string namespaceName_;
  std::optional<Snapshot> snapshot_;
  std::optional<Painter> painter_;
  runtime::Notification changed_;
  bool dirty_ = false;
  std::string shownNotes_;
};

/// Stops the loop at the first signal.
Task<void> stopAtSignal(runtime::EventLoop& loop, runtime::Descriptor& signals) {
  co_await signals.readable();
  loop.stop();
}

}  // namespace

int runStatus(const StatusOptions& options) {
  if (!options.name.empty() && options.allNamespaces)
    return fail("NAME and --all-namespaces are mutually exclusive");
  auto parsed = parseTarget(options.name);
  if (const auto* error = std::get_if<std::string>(&parsed)) return fail(*error);
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
  auto made = controller::makeCluster(loop, options.cluster, nullptr, clientOptions());
  if (const auto* error = std::get_if<std::string>(&made)) return fail(*error);
  controller::Cluster& cluster = std::get<controller::Cluster>(made);
  std::string namespaceName = options.namespaceName.empty() ? cluster.namespaceName : options.namespaceName;
  if (options.allNamespaces) namespaceName.clear();
  StatusCommand command{loop, *cluster.client, options, std::get<StatusTarget>(parsed), namespaceName};
  if (!options.watch) {
    int status = kFailed;
    loop.spawn(command.showOnce(status));
    loop.run();
    return status;
  }
  int status = end ? kNotReady : kDone;
  runtime::Descriptor descriptor{loop, runtime::UniqueFd{::dup(signals->descriptor())}};
  loop.spawn(stopAtSignal(loop, descriptor));
  loop.spawn(command.watch(status, end));
  loop.run();
  return status;
}

}  // namespace dynamo::plugin
