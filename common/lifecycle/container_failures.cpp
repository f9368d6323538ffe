// Quirks ctl-Q36, ctl-Q72.
#include "common/lifecycle/container_failures.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/outcome.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;
using Requeue = std::optional<std::chrono::milliseconds>;

constexpr std::string_view kEscape = "\x1b[";
constexpr std::size_t kMaxLastLine = 200;
/// The kubelet forgets the crashes of a container that has run for this time.
constexpr std::chrono::minutes kForgotten{10};

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The kubelet alternates between the error and a back-off text that ends with the error. Both become the
/// error, otherwise the status would alternate too.
std::string_view pullError(std::string_view message) {
  constexpr std::string_view kError = "ErrImagePull: ";
  const std::size_t at = message.rfind(kError);
  if (at != std::string_view::npos) return message.substr(at + kError.size());
  return message.starts_with("Back-off pulling image") ? std::string_view{} : message;
}

const Value* stateOf(const Value& container, std::string_view state) {
  return json::findObject(json::findObject(&container, "state"), state);
}

/// The last end of the container: that of its state, else that of the run before.
const Value* lastTermination(const Value& container) {
  const Value* now = stateOf(container, "terminated");
  return now != nullptr ? now : json::findObject(json::findObject(&container, "lastState"), "terminated");
}

bool isReady(const Value& container) {
  return json::findBool(&container, "ready").value_or(false);
}

/// Whether somebody, perhaps the kubelet after a failed probe, sent SIGKILL or SIGTERM.
bool isKilled(std::int64_t exitCode) {
  return exitCode == 137 || exitCode == 143;
}

/// Without colours, control characters and surrounding blanks.
std::string plain(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kEscape)) {
      i = text.find_first_not_of("0123456789;", i + kEscape.size());
      if (i == std::string_view::npos) break;
    } else {
      made += static_cast<unsigned char>(text[i]) < ' ' ? ' ' : text[i];
    }
  }
  made.erase(0, made.find_first_not_of(' '));
  made.erase(made.find_last_not_of(' ') + 1);
  return made;
}

std::string lastLine(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.rfind('\n');
    std::string line = plain(end == std::string_view::npos ? text : text.substr(end + 1));
    if (!line.empty()) return shortened(line, kMaxLastLine);
    text = text.substr(0, end == std::string_view::npos ? 0 : end);
  }
  return {};
}

/// The command that tells more about an end of the container.
std::string seeOf(const ContainerView& view, const Value* terminated) {
  if (terminated == nullptr || json::findText(terminated, "reason") == "OOMKilled" ||
      isKilled(numberAt(terminated, "exitCode", 0)))
    return seeEvents(view.pod);
  return fmt::format("kubectl logs --previous {} -c {}", nameOf(view.pod),
                     json::findText(&view.status, "name"));
}

/// Whether the container runtime cannot start the container. The kubelet reports this as an error of the
/// start, as an end of the container and as a back-off in turn.
bool failsToStart(const Value& container) {
  const Value* last = lastTermination(container);
  return stateOf(container, "running") == nullptr && last != nullptr &&
         isOneOf(json::findText(last, "reason"), {"StartError", "ContainerCannotRun"});
}

/// A container that crashes runs for a while between two back-offs, has ended for a moment, and may fail in
/// its hook. The cause stays the same meanwhile.
bool isCrashLoop(const ContainerView& view, Requeue& requeueAfter) {
  constexpr std::int64_t kManyRestarts = 2;
  const Value& container = view.status;
  if (isReady(container) || countAt(&container, "restartCount") < kManyRestarts) return false;
  if (stateOf(container, "terminated") != nullptr ||
      json::findText(stateOf(container, "waiting"), "reason") == "PostStartHookError")
    return true;
  const auto since = parseTime(json::findText(stateOf(container, "running"), "startedAt"));
  if (!since || view.now >= *since + kForgotten) return false;
  requeueWithin(requeueAfter, *since + kForgotten - view.now);
  return true;
}

/// Whether the container has ended, or runs again since less than the time after which this is forgotten.
bool hasEnded(const ContainerView& view, Requeue& requeueAfter) {
  if (stateOf(view.status, "terminated") != nullptr) return true;
  const auto since = parseTime(json::findText(stateOf(view.status, "running"), "startedAt"));
  if (!since || lastTermination(view.status) == nullptr || view.now >= *since + kForgotten) return false;
  requeueWithin(requeueAfter, *since + kForgotten - view.now);
  return true;
}

/// Whether `grace` is over. Without a time it never is.
bool isOver(std::chrono::seconds grace, std::string_view since, Time now, Requeue& requeueAfter) {
  const auto begin = parseTime(since);
  if (!begin) return false;
  if (now >= *begin + grace) return true;
  requeueWithin(requeueAfter, *begin + grace - now);
  return false;
}

PodFailure delay(std::string summary, std::string detail, std::string see) {
  return {std::string{reason::kNotReady}, std::move(summary), std::move(detail), std::move(see)};
}

std::optional<PodFailure> delayOfCreation(const ContainerView& view, std::chrono::seconds grace,
                                          Requeue& requeueAfter) {
  const Value* status = statusOf(view.pod);
  const Value* scheduled = findCondition(status, "PodScheduled");
  if (!isTrue(scheduled) ||
      !isOver(grace, json::findText(scheduled, "lastTransitionTime"), view.now, requeueAfter))
    return std::nullopt;
  if (isFalse(findCondition(status, "PodReadyToStartContainers")))
    return delay("pods wait for their volumes or their network", "", seeEvents(view.pod));
  return delay(fmt::format("image \"{}\" is being pulled", json::findText(&view.status, "image")), "",
               seeEvents(view.pod));
}

}  // namespace

std::string terminationCause(const Value& terminated) {
  const std::string_view why = json::findText(&terminated, "reason");
  const Value* found = json::find(&terminated, "exitCode");
  if (found == nullptr || !found->IsInt64()) return std::string{why};
  const std::int64_t code = found->GetInt64();
  if (why == "OOMKilled") return fmt::format("OOMKilled, exceeded its memory limit, exit code {}", code);
  std::string text = fmt::format("exit code {}", code);
  if (code == 0) text += ", ended without an error, perhaps because a probe failed";
  if (isKilled(code)) text += ", killed, perhaps because a probe failed";
  const std::string line = lastLine(json::findText(&terminated, "message"));
  return line.empty() ? text : fmt::format("{}: {}", text, line);
}

std::optional<PodFailure> containerFailure(const ContainerView& view, Requeue& requeueAfter) {
  const Value& container = view.status;
  const Value* waiting = stateOf(container, "waiting");
  const std::string_view why = json::findText(waiting, "reason");
  const std::string_view message = json::findText(waiting, "message");
  const std::string_view name = json::findText(&container, "name");
  const auto notStarted = [&](std::string_view text) {
    return PodFailure{std::string{reason::kContainer},
                      fmt::format("container \"{}\" cannot be started", name), shownDetail(text)};
  };
  if (isOneOf(why, {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
                    "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"})) {
    return PodFailure{std::string{reason::kImagePull},
                      fmt::format("cannot pull image \"{}\"", json::findText(&container, "image")),
                      shownDetail(pullError(message))};
  }
  if (failsToStart(container)) return notStarted(json::findText(lastTermination(container), "message"));
  if (why == "CrashLoopBackOff" || isCrashLoop(view, requeueAfter)) {
    const Value* last = lastTermination(container);
    return PodFailure{std::string{reason::kCrashLoop},
                      fmt::format("container \"{}\" keeps terminating", name),
                      last == nullptr ? "" : terminationCause(*last), seeOf(view, last)};
  }
  if (isOneOf(why, {"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
                    "PreCreateHookError", "PreStartHookError", "PostStartHookError"}))
    return notStarted(message);
  return std::nullopt;
}

std::optional<PodFailure> containerDelay(const ContainerView& view, std::chrono::seconds grace,
                                         Requeue& requeueAfter) {
  const Value& container = view.status;
  const std::string_view name = json::findText(&container, "name");
  if (isReady(container)) return std::nullopt;
  if (json::findText(stateOf(container, "waiting"), "reason") == "ContainerCreating")
    return delayOfCreation(view, grace, requeueAfter);
  if (hasEnded(view, requeueAfter)) {
    const Value* last = lastTermination(container);
    return delay(fmt::format("container \"{}\" has terminated", name), terminationCause(*last),
                 seeOf(view, last));
  }
  const Value* running = stateOf(container, "running");
  if (!isOver(grace, json::findText(running, "startedAt"), view.now, requeueAfter)) return std::nullopt;
  const bool started = json::findBool(&container, "started").value_or(true);
  return delay(fmt::format("container \"{}\" runs, but does not pass its {} probe", name,
                           started ? "readiness" : "startup"),
               "", seeEvents(view.pod));
}

}  // namespace dynamo::lifecycle
