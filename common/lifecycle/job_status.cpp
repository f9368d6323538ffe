#include "common/lifecycle/job_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/json/build.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// Processes may write up to 4 KiB into their termination message.
constexpr std::size_t kMaxTermination = 500;

/// "pod p: container c ended with exit code 1 (Error): text". Empty if the container has no status.
std::string endOf(const Value& pod, std::string_view container) {
  const Value* ended = containerState(pod, container, "terminated");
  const Value* waits = containerState(pod, container, "waiting");
  std::string text;
  if (ended != nullptr) {
    text = fmt::format("pod {}: container {} ended with exit code {}", nameOf(pod), container,
                       numberAt(ended, "exitCode", 0));
  } else if (waits != nullptr) {
    text = fmt::format("pod {}: container {} did not start", nameOf(pod), container);
  } else {
    return text;
  }
  const Value* told = ended != nullptr ? ended : waits;
  const std::string_view reason = json::findText(told, "reason");
  const std::string_view message = json::findText(told, "message");
  if (!reason.empty()) text += fmt::format(" ({})", reason);
  if (!message.empty()) text += ": " + shortened(message, kMaxTermination);
  return text;
}

}  // namespace

const Value* containerState(const Value& pod, std::string_view container, std::string_view state) {
  const Value* found = json::findNamed(json::find(statusOf(pod), "containerStatuses"), container);
  return json::findObject(json::findObject(found, "state"), state);
}

JobState jobState(const Value& job) {
  if (isTrue(findCondition(statusOf(job), "Complete"))) return JobState::Complete;
  return isTrue(findCondition(statusOf(job), "Failed")) ? JobState::Failed : JobState::Running;
}

bool isOfPredecessor(std::span<const Value* const> objects, const k8s::ObjectKey& key, const Value& owner) {
  return std::any_of(objects.begin(), objects.end(), [&](const Value* object) {
    const Value* controller = controllerOf(*object);
    return k8s::keyOf(*object) == key &&
           (isBeingDeleted(*object) ||
            (json::findText(controller, "kind") == json::findText(&owner, "kind") &&
             json::findText(controller, "name") == nameOf(owner)));
  });
}

bool isPodOfJob(const Value& pod, const Value& job) {
  return json::findText(&pod, "kind") == "Pod" && isControlledBy(pod, job);
}

std::string jobFailure(const Value& job, std::string_view container, std::span<const Value* const> pods) {
  const Value* failed = findCondition(statusOf(job), "Failed");
  std::string text{json::findText(failed, "message")};
  if (text.empty()) text = json::findText(failed, "reason");
  if (text.empty()) text = "the Job has failed";
  const Value* latest = nullptr;
  for (const Value* pod : pods) {
    if (!isPodOfJob(*pod, job) || json::findText(statusOf(*pod), "phase") != "Failed") continue;
    const auto created = [](const Value& of) { return json::findText(metadataOf(of), "creationTimestamp"); };
    if (latest == nullptr || created(*latest) < created(*pod)) latest = pod;
  }
  const std::string end = latest == nullptr ? std::string{} : endOf(*latest, container);
  if (!end.empty()) text += "; " + end;
  return text;
}

}  // namespace dynamo::lifecycle
