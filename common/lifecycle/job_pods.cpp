#include "common/lifecycle/job_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/api/dgdr.h"
#include "common/json/build.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/outcome.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;
using std::chrono::seconds;

/// The Job controller creates a pod in less time if nothing refuses it.
constexpr seconds kFirstPod{2};
/// How often the Events about a Job without pods are read. The Job controller repeats its attempts after at
/// most a minute.
constexpr seconds kEventsAgain{15};
/// How long the output copier may take before it is told. It waits two minutes for the status of the
/// profiler, and an hour for the API server.
constexpr seconds kCopierMayTake{300};

bool hasEnded(const Value& pod) {
  const std::string_view phase = json::findText(statusOf(pod), "phase");
  return phase == "Succeeded" || phase == "Failed";
}

std::optional<Time> createdAt(const Value& object) {
  return parseTime(json::findText(metadataOf(object), "creationTimestamp"));
}

/// When the Event last happened.
std::optional<Time> lastTime(const Value& event) {
  const auto last = parseTime(json::findText(&event, "lastTimestamp"));
  return last ? last : createdAt(event);
}

/// The cause in "Error creating: pods "NAME" is forbidden: CAUSE". Text of the recorder may precede it. Each
/// attempt has another name, which is left out, so that the cause stays the same.
std::string_view causeOf(std::string_view message) {
  constexpr std::string_view kCreating = "Error creating: ";
  constexpr std::string_view kPods = "pods \"";
  constexpr std::string_view kForbidden = "\" is forbidden: ";
  const std::size_t creating = message.find(kCreating);
  if (creating != std::string_view::npos) message.remove_prefix(creating + kCreating.size());
  if (!message.starts_with(kPods)) return message;
  const std::size_t name = message.find('"', kPods.size());
  if (name == std::string_view::npos) return message;
  if (message.substr(name).starts_with(kForbidden)) return message.substr(name + kForbidden.size());
  return message.substr(std::min(message.find_first_not_of(": ", name + 1), message.size()));
}

bool awaitsCopierOf(const Value& pod) {
  return !isBeingDeleted(pod) && containerState(pod, api::dgdr::kProfiler, "terminated") != nullptr &&
         containerState(pod, api::dgdr::kOutputCopier, "running") != nullptr;
}

}  // namespace

std::optional<MissingPods> missingPods(const Value& job, std::span<const Value* const> pods, Time now) {
  if (jobState(job) != JobState::Running || isBeingDeleted(job) ||
      json::findBool(specOf(job), "suspend").value_or(false))
    return std::nullopt;
  const bool exists = std::any_of(pods.begin(), pods.end(),
                                  [&](const Value* pod) { return isPodOfJob(*pod, job) && !hasEnded(*pod); });
  if (exists) return std::nullopt;
  const std::optional<Time> created = createdAt(job);
  if (created && now < *created + kFirstPod) return MissingPods{false, kFirstPod};
  return MissingPods{true, kEventsAgain};
}

std::string failedCreateSelector(const Value& job) {
  return fmt::format("involvedObject.kind=Job,involvedObject.uid={},reason=FailedCreate", uidOf(job));
}

void addMissingPods(PodFailures& failures, const Value& job, std::span<const Value* const> pods,
                    std::span<const Value* const> events, Time now) {
  const std::optional<MissingPods> missing = missingPods(job, pods, now);
  if (!missing) return;
  requeueWithin(failures.requeueAfter, missing->again);
  std::optional<Time> since = createdAt(job);
  for (const Value* pod : pods) {
    if (isPodOfJob(*pod, job)) since = std::max(since, createdAt(*pod));
  }
  const Value* latest = nullptr;
  std::optional<Time> latestTime;
  for (const Value* event : events) {
    if (json::findText(json::findObject(event, "involvedObject"), "uid") != uidOf(job)) continue;
    const std::optional<Time> time = lastTime(*event);
    if (!time || (since && *time < *since) || (latestTime && *time < *latestTime)) continue;
    latest = event;
    latestTime = time;
  }
  if (latest == nullptr) return;
  failures.causes.push_back(refusedPods(causeOf(json::findText(latest, "message"))));
  sortCauses(failures.causes);
}

bool awaitsCopier(std::span<const Value* const> pods) {
  return std::any_of(pods.begin(), pods.end(), [](const Value* pod) { return awaitsCopierOf(*pod); });
}

PodFailures profilingPodFailures(std::span<const Value* const> pods, std::string_view missingRole, Time now) {
  PodFailures failures = podFailures(pods, now);
  if (!awaitsCopier(pods)) return failures;
  failures.delays.clear();  // the end of the profiler is no delay
  for (const Value* pod : pods) {
    if (!awaitsCopierOf(*pod)) continue;
    const Value* ended = containerState(*pod, api::dgdr::kProfiler, "terminated");
    const auto since = parseTime(json::findText(ended, "finishedAt"));
    std::string why;
    if (!missingRole.empty()) why = fmt::format("ClusterRole {} does not exist", missingRole);
    if (why.empty() && (!since || now < *since + kCopierMayTake)) continue;
    failures.delays.push_back({std::string{reason::kNotReady},
                               "the profiler has ended, but its output is not stored", std::move(why),
                               fmt::format("kubectl logs {} -c {}", nameOf(*pod), api::dgdr::kOutputCopier)});
  }
  sortCauses(failures.delays);
  return failures;
}

}  // namespace dynamo::lifecycle
