// Restart policies, resize policies and stop signals of containers.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr std::string_view kRestartGate = "ContainerRestartRules";

std::size_t sizeOf(const Value* list) {
  return list != nullptr && list->IsArray() ? list->Size() : 0;
}

void exitCodes(const Reports& report, const Value* codes, const At& at) {
  constexpr std::size_t kMaxCodes = 255;
  if (codes == nullptr) return report(id::kContainerRestart).required(at);
  const std::string_view comparison = json::findText(codes, "operator");
  if (comparison.empty()) report(id::kContainerRestart).required(at / "operator");
  oneOf(report(id::kContainerRestart), at / "operator", comparison, {"In", "NotIn"});
  if (sizeOf(json::find(codes, "values")) > kMaxCodes) {
    report(id::kContainerRestart)
        .refused(at / "values", fmt::format("must not have more than {} items", kMaxCodes));
  }
}

void restartRules(const Reports& report, const Value* rules, const At& at) {
  constexpr std::size_t kMaxRules = 20;
  if (sizeOf(rules) > kMaxRules) {
    report(id::kContainerRestart).refused(at, fmt::format("must not have more than {} items", kMaxRules));
  }
  forEach(rules, at, [&](const Value& one, const At& place) {
    const std::string_view action = json::findText(&one, "action");
    if (action.empty()) report(id::kContainerRestart).required(place / "action");
    oneOf(report(id::kContainerRestart), place / "action", action, {"Restart"});
    exitCodes(report, json::findObject(&one, "exitCodes"), place / "exitCodes");
  });
}

constexpr std::array<std::string_view, 35> kSignals = {
    "SIGABRT", "SIGALRM", "SIGBUS",  "SIGCHLD", "SIGCLD",    "SIGCONT", "SIGFPE",   "SIGHUP",   "SIGILL",
    "SIGINT",  "SIGIO",   "SIGIOT",  "SIGKILL", "SIGPIPE",   "SIGPOLL", "SIGPROF",  "SIGPWR",   "SIGQUIT",
    "SIGSEGV", "SIGSTOP", "SIGSYS",  "SIGTERM", "SIGSTKFLT", "SIGTRAP", "SIGTSTP",  "SIGTTIN",  "SIGTTOU",
    "SIGURG",  "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGVTALRM", "SIGXFSZ", "SIGWINCH", "SIGRTMIN",
};

/// "+3" after SIGRTMIN, "-3" after SIGRTMAX.
bool isStep(std::string_view text, char sign, int limit) {
  int step = 0;
  if (text.size() < 2 || text.front() != sign || text[1] < '1' || text[1] > '9') return false;
  const auto parsed = std::from_chars(text.data() + 1, text.data() + text.size(), step);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && step <= limit;
}

bool isLinuxSignal(std::string_view name) {
  constexpr std::string_view kFirst = "SIGRTMIN";
  constexpr std::string_view kLast = "SIGRTMAX";
  constexpr int kStepsUp = 15;
  constexpr int kStepsDown = 14;
  if (std::find(kSignals.begin(), kSignals.end(), name) != kSignals.end() || name == kLast) return true;
  if (name.starts_with(kFirst)) return isStep(name.substr(kFirst.size()), '+', kStepsUp);
  return name.starts_with(kLast) && isStep(name.substr(kLast.size()), '-', kStepsDown);
}

}  // namespace

void containerRestart(const Reports& report, const Value& container, const At& at, ContainerKind kind) {
  const Value* policy = json::find(container, "restartPolicy");
  const Value* rules = json::find(container, "restartPolicyRules");
  if (policy == nullptr && rules == nullptr) return;
  const At policyAt = at / "restartPolicy";
  const At rulesAt = at / "restartPolicyRules";
  const bool sidecar = kind == ContainerKind::Init && json::text(policy) == "Always";
  if (sidecar && sizeOf(rules) > 0) {
    report(id::kContainerRestart).forbidden(rulesAt, "may not be set when restartPolicy is Always");
  }
  if (sidecar) return;
  needsGate(report, policy != nullptr ? policyAt : rulesAt, kRestartGate);
  // The API server does not check the rules of an init container without a policy.
  if (policy == nullptr && kind == ContainerKind::Init) return;
  if (policy == nullptr && sizeOf(rules) > 0) {
    report(id::kContainerRestart)
        .required(policyAt, "must specify restartPolicy when restart rules are used");
  }
  oneOfGiven(report(id::kContainerRestart), policyAt, policy, {"Always", "Never", "OnFailure"});
  restartRules(report, rules, rulesAt);
}

void resizePolicy(const Reports& report, const Value* list, const At& at, const PodFacts& facts) {
  if (sizeOf(list) == 0) return;
  needsVersion(report, at, "1.33");
  Seen<> seen;
  forEach(list, at, [&](const Value& one, const At& place) {
    const std::string_view resource = json::findText(&one, "resourceName");
    const std::string_view policy = json::findText(&one, "restartPolicy");
    if (resource.empty()) report(id::kResizePolicy).required(place / "resourceName");
    oneOf(report(id::kResizePolicy), place / "resourceName", resource, {"cpu", "memory"});
    if (!seen.add(resource)) report(id::kResizePolicy).duplicate(place / "resourceName", resource);
    if (policy.empty()) report(id::kResizePolicy).required(place / "restartPolicy");
    oneOf(report(id::kResizePolicy), place / "restartPolicy", policy, {"NotRequired", "RestartContainer"});
    if (facts.restartsNever && policy == "RestartContainer") {
      report(id::kResizePolicy)
          .invalid(place / "restartPolicy", policy, "must be NotRequired when restartPolicy is Never");
    }
  });
}

void stopSignal(const Reports& report, const Value* lifecycle, const At& at, const PodFacts& facts) {
  const Value* given = json::find(lifecycle, "stopSignal");
  if (given == nullptr || !given->IsString()) return;
  needsGate(report, at, "ContainerStopSignals");
  const std::string_view signal = json::text(*given);
  if (!facts.os) {
    report(id::kStopSignal).forbidden(at, "may not be set unless os.name of the pod is set");
  } else if (*facts.os == "windows") {
    oneOfGiven(report(id::kStopSignal), at, given, {"SIGKILL", "SIGTERM"});
  } else if (*facts.os == "linux" && !isLinuxSignal(signal)) {
    report(id::kStopSignal).invalid(at, signal, "must be a Linux signal, such as SIGTERM");
  }
}

}  // namespace dynamo::rules::pod
