// Provisioning of the webhook's certificates against a real API server. test_certificates.py starts the
// server and runs this with KUBECONFIG and
//   certificates_probe NAMESPACE SERVICE SECRET auto|manual [RESTRICTED_NAMESPACE]
// Each change of the readiness is printed as a line: "ready", or the problem. The program ends when its
// standard input ends. DYNAMO_PROBE_CLOCK is added to the wall clock, in seconds.

#include <unistd.h>

#include <iostream>
#include <string>
#include <variant>

#include "common/config/operator_config.h"
#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "controller/certs/certificate_manager.h"
#include "controller/kube/client.h"
#include "controller/kube/rest_config.h"

namespace {

using namespace dynamo;
using runtime::Task;

constexpr std::chrono::milliseconds kPrintInterval{20};

Task<void> printChanges(runtime::EventLoop& loop, const provisioning::CertificateManager& manager) {
  std::string printed;
  while (!loop.stopping()) {
    const std::string now = manager.ready() ? "ready" : manager.problem();
    if (now != printed) std::cout << now << std::endl;
    printed = now;
    const runtime::Deadline until = std::chrono::steady_clock::now() + kPrintInterval;
    co_await loop.sleepUntil(until);
  }
}

provisioning::Clock shiftedClock() {
  const std::string text = kube::processEnvironment()("DYNAMO_PROBE_CLOCK");
  const std::chrono::seconds shift{text.empty() ? 0 : std::stol(text)};
  return [shift, clock = provisioning::systemClock()] { return clock() + shift; };
}

Task<void> stopAtEndOfInput(runtime::EventLoop& loop) {
  runtime::Descriptor input{loop, runtime::UniqueFd{::dup(STDIN_FILENO)}};
  char byte = 0;
  do {
    co_await input.readable();
  } while (!loop.stopping() && ::read(input.get(), &byte, 1) > 0);
  loop.stop();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  config::OperatorConfig config = config::defaultConfig();
  config.server.webhook.serviceName = argv[2];
  config.server.webhook.secretName = argv[3];
  config.server.webhook.certProvisionMode = argv[4];
  if (argc > 5) config.namespaces.restricted = argv[5];

  auto server = kube::loadRestConfig({});
  if (const auto* error = std::get_if<std::string>(&server)) {
    std::cerr << *error << '\n';
    return 1;
  }
  observability::Registry metrics;
  runtime::EventLoop loop;
  kube::Client client{loop, std::get<kube::RestConfig>(std::move(server)), nullptr};
  // As on a replica that does not lead.
  client.setWriteGate([](std::string_view) { return false; });
  provisioning::CertificateManager manager{loop, client, config, argv[1], &metrics, shiftedClock()};
  loop.spawn(manager.run());
  loop.spawn(printChanges(loop, manager));
  loop.spawn(stopAtEndOfInput(loop));
  loop.run();
  std::cout << metrics.render();
  return 0;
}
