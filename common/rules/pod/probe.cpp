// Probes and lifecycle handlers.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/json/ascii.h"
#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

bool isHeaderName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool isDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), json::isDigit);
}

void handlerPort(const Reports& report, const Value& action, const At& at, bool namesAllowed) {
  const At place = at / "port";
  const Value* port = json::find(action, "port");
  if (port == nullptr) {
    report(id::kHandlerPort).required(place);
  } else if (const auto number = integer(port)) {
    if (!k8s::portNumberProblem(*number).empty()) {
      report(id::kHandlerPort).invalid(place, *port, k8s::portNumberProblem(*number));
    }
  } else if (port->IsString() && namesAllowed) {
    const std::string_view name = json::text(*port);
    report(id::kHandlerPort)
        .check(place, name,
               isDigits(name) ? "must be a number without quotes, or the name of a port"
                              : k8s::portNameProblem(name));
  }
}

void execAction(const Reports& report, const Value& action, const At& at) {
  const Value* command = json::find(action, "command");
  const bool empty = command == nullptr || (command->IsArray() && command->Empty());
  if (empty) report(id::kHandlerField).required(at / "command");
}

void httpGetAction(const Reports& report, const Value& action, const At& at) {
  handlerPort(report, action, at, true);
  oneOf(report(id::kEnum), at / "scheme", json::findText(&action, "scheme"), {"HTTP", "HTTPS"});
  const At headers = at / "httpHeaders";
  forEach(json::find(action, "httpHeaders"), headers, [&](const Value& header, const At& place) {
    const std::string_view name = json::findText(&header, "name");
    if (isHeaderName(name)) return;
    report(id::kHandlerField).invalid(place / "name", name, "must consist of letters, digits and '-'");
  });
}

void tcpSocketAction(const Reports& report, const Value& action, const At& at) {
  handlerPort(report, action, at, true);
}

void grpcAction(const Reports& report, const Value& action, const At& at) {
  handlerPort(report, action, at, false);
}

struct Handler {
  std::string_view field;
  void (*check)(const Reports&, const Value&, const At&);
  bool ofProbes;
  bool ofLifecycle;
};

constexpr std::array kHandlers = {
    Handler{"exec", execAction, true, true},
    Handler{"httpGet", httpGetAction, true, true},
    Handler{"tcpSocket", tcpSocketAction, true, true},
    Handler{"grpc", grpcAction, true, false},
    Handler{"sleep", nullptr, false, true},
};

/// There must be exactly one handler. The first one is checked, any other is rejected.
void handler(const Reports& report, const Value& value, const At& at, bool ofProbe) {
  std::string_view first;
  for (const Handler& known : kHandlers) {
    const Value* action = json::find(value, known.field);
    if (action == nullptr || !(ofProbe ? known.ofProbes : known.ofLifecycle)) continue;
    const At place = at / known.field;
    if (!first.empty()) {
      report(id::kHandler).forbidden(place, fmt::format("may not be set together with {}", first));
      continue;
    }
    first = known.field;
    if (known.check != nullptr && action->IsObject()) known.check(report, *action, place);
  }
  if (!first.empty()) return;
  report(id::kHandler)
      .required(at, ofProbe ? "must specify one of: exec, httpGet, tcpSocket, grpc"
                            : "must specify one of: exec, httpGet, tcpSocket, sleep");
}

void numbers(const Reports& report, const Value& probe, const At& at) {
  for (const std::string_view field :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}) {
    const Value* value = json::find(probe, field);
    const auto number = integer(value);
    if (number && *number < 0) {
      report(id::kProbeNumber).invalid(at / field, *value, "must be greater than or equal to 0");
    }
  }
}

void sleep(const Reports& report, const Value& hook, const At& at, std::optional<long long> gracePeriod) {
  const Value* action = json::findObject(&hook, "sleep");
  if (action == nullptr) return;
  const auto seconds = integer(json::find(action, "seconds"));
  constexpr long long kDefaultGracePeriod = 30;
  const long long limit = gracePeriod.value_or(kDefaultGracePeriod);
  if (!seconds || (*seconds >= 0 && *seconds <= limit)) return;
  const At place = at / "sleep";
  report(id::kSleep)
      .invalid(place / "seconds", *json::find(action, "seconds"),
               fmt::format("must be between 0 and terminationGracePeriodSeconds ({})", limit));
}

}  // namespace

void probe(const Reports& report, const Value* probe, const At& at, ProbeKind kind) {
  if (probe == nullptr || !probe->IsObject()) return;
  handler(report, *probe, at, true);
  numbers(report, *probe, at);
  const Value* success = json::find(*probe, "successThreshold");
  const auto threshold = integer(success);
  // 0 becomes 1 by default.
  if (kind != ProbeKind::Readiness && threshold && *threshold > 1) {
    report(id::kProbeSuccess)
        .invalid(at / "successThreshold", *success, "must be 1 in a liveness or startup probe");
  }
  const Value* grace = json::find(*probe, "terminationGracePeriodSeconds");
  const auto seconds = integer(grace);
  const At graceAt = at / "terminationGracePeriodSeconds";
  if (seconds && kind == ProbeKind::Readiness) {
    report(id::kProbeGrace).invalid(graceAt, *grace, "must not be set for readinessProbes");
  } else if (seconds && *seconds <= 0) {
    report(id::kProbeGrace).invalid(graceAt, *grace, "must be greater than 0");
  }
}

void probePortKnown(const Reports& report, const Value* probe, const At& at, const Value& container) {
  for (const std::string_view field : {"httpGet", "tcpSocket"}) {
    const Value* action = probe == nullptr ? nullptr : json::findObject(probe, field);
    const std::string_view name = json::findText(action, "port");
    if (name.empty() || !k8s::portNameProblem(name).empty()) continue;
    bool found = false;
    forEach(json::find(container, "ports"), at,
            [&](const Value& port, const At&) { found = found || json::findText(&port, "name") == name; });
    if (found) continue;
    const At place = at / field;
    report(id::kProbePortUnknown).warn(place / "port", fmt::format("the container has no port \"{}\"", name));
  }
}

void lifecycle(const Reports& report, const Value* lifecycle, const At& at, const PodFacts& facts) {
  if (lifecycle == nullptr) return;
  for (const std::string_view field : {"postStart", "preStop"}) {
    const Value* hook = json::findObject(lifecycle, field);
    if (hook == nullptr) continue;
    const At place = at / field;
    handler(report, *hook, place, false);
    sleep(report, *hook, place, facts.gracePeriod);
  }
  stopSignal(report, lifecycle, at / "stopSignal", facts);
}

}  // namespace dynamo::rules::pod
