// Ports of containers.

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

std::string_view protocolOf(const Value& port) {
  const std::string_view protocol = json::findText(&port, "protocol");
  return protocol.empty() ? "TCP" : protocol;
}

void portNumbers(const Reports& report, const Value& port, const At& at) {
  const Value* number = json::find(port, "containerPort");
  const auto value = integer(number);
  if (number == nullptr || value == 0) {
    report(id::kPortNumber).required(at / "containerPort", "must be between 1 and 65535, inclusive");
  } else if (value && !k8s::portNumberProblem(*value).empty()) {
    report(id::kPortNumber).invalid(at / "containerPort", *number, k8s::portNumberProblem(*value));
  }
  const Value* host = json::find(port, "hostPort");
  const auto hostValue = integer(host);
  if (hostValue && *hostValue != 0 && !k8s::portNumberProblem(*hostValue).empty()) {
    report(id::kPortNumber).invalid(at / "hostPort", *host, k8s::portNumberProblem(*hostValue));
  }
}

}  // namespace

void ports(const Reports& report, const Value* list, const At& at) {
  Seen<> names;
  Seen<std::pair<long long, std::string_view>> numbers;
  forEach(list, at, [&](const Value& port, const At& place) {
    const std::string_view name = json::findText(&port, "name");
    if (!name.empty()) {
      const std::string problem = k8s::portNameProblem(name);
      report(id::kPortName).check(place / "name", name, problem);
      if (problem.empty() && !names.add(name)) {
        report(id::kPortUnique).duplicate(place / "name", name);
      }
    }
    portNumbers(report, port, place);
    oneOf(report(id::kEnum), place / "protocol", json::findText(&port, "protocol"), {"SCTP", "TCP", "UDP"});
    const auto number = integer(json::find(port, "containerPort"));
    if (number && !numbers.add({*number, protocolOf(port)})) {
      report(id::kPortRepeated)
          .warn(place, fmt::format("port {}/{} is listed twice", *number, protocolOf(port)));
    }
  });
}

void hostPorts(const Reports& report, const Value* containers, const At& at, bool hostNetwork,
               bool oneByOne) {
  Seen<std::tuple<std::string_view, std::string_view, long long>> taken;
  forEach(containers, at, [&](const Value& container, const At& place) {
    if (oneByOne) taken.clear();
    const At portsAt = place / "ports";
    forEach(json::find(container, "ports"), portsAt, [&](const Value& port, const At& portAt) {
      const long long containerPort = integer(json::find(port, "containerPort")).value_or(0);
      const long long given = integer(json::find(port, "hostPort")).value_or(0);
      if (hostNetwork && !oneByOne && given != 0 && given != containerPort) {
        report(id::kHostPort)
            .invalid(portAt / "hostPort", *json::find(port, "hostPort"),
                     "must match containerPort when hostNetwork is true");
      }
      // In the host's network every port is a host port.
      const long long number = given == 0 && hostNetwork ? containerPort : given;
      if (number == 0) return;
      if (taken.add({protocolOf(port), json::findText(&port, "hostIP"), number})) return;
      report(id::kHostPort).duplicate(portAt / "hostPort", fmt::format("{}/{}", protocolOf(port), number));
    });
  });
}

}  // namespace dynamo::rules::pod
