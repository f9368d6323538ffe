#include "webhook/commands/serve.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "certs/client_ca.h"
#include "certs/names.h"
#include "certs/watcher.h"
#include "common/runtime/readiness.h"
#include "common/runtime/signals.h"
#include "webhook/commands/decision_log.h"
#include "webhook/commands/facts_file.h"
#include "webhook/commands/readiness.h"
#include "webhook/commands/settings.h"
#include "webhook/commands/telemetry.h"
#include "webhook/routes.h"
#include "webhook/version.h"

namespace dynamo::webhook {
namespace {

using std::chrono::milliseconds;

constexpr log::Logger kCertsLog{"certs"};
constexpr log::Logger kServerLog{"server"};

/// Requests under way get this long after the listener has closed; Kubernetes
/// kills after 40 s in all (deploy/kustomize/base/webhook.yaml).
constexpr milliseconds kStopDeadline{15'000};

certs::Time now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

void reportCertificate(const certs::CertificateEvent& event, Telemetry& telemetry) {
  if (event.notAfter) {
    telemetry.certificateExpiry(static_cast<double>(event.notAfter->time_since_epoch().count()));
  }
  const std::string notAfter = event.notAfter ? certs::formatTime(*event.notAfter) : "";
  const std::string reason = event.error ? event.error->text : "";
  switch (event.kind) {
    case certs::WatchEvent::Loaded:
      kCertsLog.info("certificate loaded", {{"notAfter", notAfter}});
      if (event.error) kCertsLog.warn("the certificate has another name", {{"reason", reason}});
      break;
    case certs::WatchEvent::Waiting:
      kCertsLog.warn("waiting for a certificate", {{"reason", reason}});
      break;
    case certs::WatchEvent::Rejected:
      kCertsLog.error("certificate files rejected, serving the previous pair if there is one",
                      {{"reason", reason}});
      break;
    case certs::WatchEvent::Recovered:
      kCertsLog.info("certificate files are good again", {{"notAfter", notAfter}});
      break;
  }
}

/// Each look at the files counts, as in the reference: an alert on the rate of errors lasts as long as they
/// are bad.
void readCertificate(certs::CertificateWatcher& watcher, Telemetry& telemetry) {
  const auto event = watcher.poll(now());
  telemetry.certificateRead(!watcher.failing());
  if (event) reportCertificate(*event, telemetry);
}

/// What API servers ask for; empty when the configuration or the pod does not say.
std::string hostNameOf(const std::string& service) {
  const char* nameSpace = std::getenv("POD_NAMESPACE");
  if (service.empty() || nameSpace == nullptr || *nameSpace == '\0') return {};
  return certs::servingDnsNames(service, nameSpace).front();
}

/// Facts that changed are in force from the next request on; a file that cannot be used changes nothing.
void readFacts(FactsFile& file, const Settings& settings) {
  std::optional<FactsReading> reading = file.poll();
  if (!reading) return;
  if (!reading->error.empty()) {
    kServerLog.error("cluster facts rejected", {{"file", settings.factsFile}, {"reason", reading->error}});
    return;
  }
  kServerLog.info(reading->missing ? "cluster facts not known" : "cluster facts read",
                  {{"file", settings.factsFile}});
  settings.policy.settings->set(std::make_shared<const admission::Settings>(
      settings.config, settings.controllerAccount, std::move(reading->facts)));
}

void logStartErrors(const SettingsErrors& errors) {
  for (const std::string& line : errors) std::fprintf(stderr, "dynamo-webhook: %s\n", line.c_str());
}

int run(const Settings& settings, const runtime::Signals& signals) {
  Telemetry telemetry{settings.policy.operatorVersion};
  certs::CertificateWatcher watcher{settings.certDir, settings.tls,
                                    hostNameOf(settings.config.server.webhook.serviceName),
                                    settings.clientCaFile};
  runtime::DirectoryWatch directory{settings.certDir};  // before the first look
  readCertificate(watcher, telemetry);

  FactsFile facts{settings.factsFile};
  readFacts(facts, settings);

  DecisionLog decisionLog{settings.logDenials};
  Observers observers = telemetry.observers();
  decisionLog.watch(observers);
  ServerOptions options = settings.server;
  options.events = decisionLog.events();
  const Routes routes{settings.policy, std::move(observers)};
  const FindRoute find = [&routes](std::string_view path) { return routes.find(path); };
  const bool guards = !settings.clientCaFile.empty();
  if (guards) {
    options.admits = [names = settings.clientNames](const X509& certificate) {
      return names.empty() || certs::hasAnyName(certificate, names);
    };
  }
  auto started = Server::start(std::move(options), find, [&watcher] { return watcher.context(); });
  if (const auto* error = std::get_if<runtime::StartError>(&started)) {
    logStartErrors({error->message});
    return 1;
  }
  Server& server = std::get<Server>(started);
  const runtime::Endpoint own{settings.server.listen.address, server.port()};
  runtime::Readiness readiness{
      [&watcher] { return watcher.ready(now()) ? "" : "no valid certificate is served"; },
      [&own, inProcess = guards ? find : FindRoute{}] { return askCannedReviews(own, inProcess); }};
  const auto problem = [&] {
    std::string why = readiness.problem();
    telemetry.ready(why.empty());
    return why;
  };
  auto probes = runtime::PlainServer::start(
      {runtime::probeListener(settings.health, problem),
       {settings.metrics, {{"/metrics", [&] { return telemetry.page(server.metrics()); }}}}});
  if (const auto* error = std::get_if<runtime::StartError>(&probes)) {
    logStartErrors({error->message});
    return 1;
  }
  runtime::PlainServer& plain = std::get<runtime::PlainServer>(probes);
  kServerLog.info("serving", {{"version", kVersion},
                              {"operatorVersion", settings.policy.operatorVersion},
                              {"webhookPort", server.port()},
                              {"healthPort", plain.port(0)},
                              {"metricsPort", plain.port(1)}});

  const runtime::FileWatch files{&directory, [&] {
                                   readCertificate(watcher, telemetry);
                                   readFacts(facts, settings);
                                 }};
  const int number = waitForStop(signals, files);

  // Kubernetes takes a moment to stop sending: serve on while not ready, then close.
  readiness.drain();
  telemetry.draining();
  telemetry.ready(false);
  server.beginDrain();
  const milliseconds delay = std::chrono::duration_cast<milliseconds>(
      settings.config.server.webhook.shutdownDelay.value_or(k8s::Duration{0}));
  kServerLog.info("draining",
                  {{"signal", number}, {"delaySeconds", static_cast<double>(delay.count()) / 1000}});
  const bool again = delay.count() > 0 && waitForStop(signals, files, delay) != 0;
  server.stop(again ? milliseconds{0} : kStopDeadline);
  plain.stop(milliseconds{1000});
  kServerLog.info("stopped");
  return 0;
}

}  // namespace

int runServe(const ServeOptions& options) {
  const runtime::Signals signals;
  auto made = makeSettings(options);
  if (const auto* errors = std::get_if<SettingsErrors>(&made)) {
    logStartErrors(*errors);
    return 1;
  }
  auto& settings = std::get<Settings>(made);
  if (const std::error_code error = log::configure(settings.log)) {
    logStartErrors({"cannot start the thread of the log: " + error.message()});
    return 1;
  }
  for (const std::string& warning : settings.warnings) kServerLog.warn(warning);
  const int status = run(settings, signals);
  log::drain();
  return status;
}

}  // namespace dynamo::webhook
