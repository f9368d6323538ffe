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

/// The time for requests in progress after the listener has closed. Kubernetes kills the pod after 40 s in
/// total (deploy/kustomize/base/webhook.yaml).
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
      if (event.error)
        kCertsLog.warn("the certificate does not match the service name", {{"reason", reason}});
      break;
    case certs::WatchEvent::Waiting:
      kCertsLog.warn("waiting for a certificate", {{"reason", reason}});
      break;
    case certs::WatchEvent::Rejected:
      kCertsLog.error("certificate files rejected, serving the previous pair if there is one",
                      {{"reason", reason}});
      break;
    case certs::WatchEvent::Recovered:
      kCertsLog.info("certificate files are valid again", {{"notAfter", notAfter}});
      break;
  }
}

/// Counts every check of the files, as the reference does, so that an alert on the error rate lasts as long
/// as the files are invalid.
void reloadCertificate(certs::CertificateWatcher& watcher, Telemetry& telemetry) {
  const auto event = watcher.poll(now());
  telemetry.certificateRead(!watcher.failing());
  if (event) reportCertificate(*event, telemetry);
}

/// The host name that API servers use; empty when the service name or the namespace is unknown.
std::string servingHostName(const std::string& service) {
  const char* namespaceName = std::getenv("POD_NAMESPACE");
  if (service.empty() || namespaceName == nullptr || *namespaceName == '\0') return {};
  return certs::servingDnsNames(service, namespaceName).front();
}

CurrentSettings::Pointer admissionSettings(const Settings& settings, render::Facts facts) {
  return std::make_shared<const admission::Settings>(settings.config, settings.operatorVersion,
                                                     settings.controllerAccount, std::move(facts));
}

/// Changed facts apply from the next request on. An invalid file changes nothing.
void reloadFacts(FactsFile& file, const Settings& settings, CurrentSettings& current) {
  std::optional<FactsReading> reading = file.poll();
  if (!reading) return;
  if (!reading->error.empty()) {
    kServerLog.error("cluster facts rejected", {{"file", settings.factsFile}, {"reason", reading->error}});
    return;
  }
  kServerLog.info(reading->missing ? "cluster facts file not found" : "cluster facts loaded",
                  {{"file", settings.factsFile}});
  current.set(admissionSettings(settings, std::move(reading->facts)));
}

void printStartErrors(const SettingsErrors& errors) {
  for (const std::string& line : errors) std::fprintf(stderr, "dynamo-webhook: %s\n", line.c_str());
}

int run(const Settings& settings, const runtime::Signals& signals) {
  Telemetry telemetry{settings.operatorVersion};
  certs::CertificateWatcher watcher{settings.certDir, settings.tls,
                                    servingHostName(settings.config.server.webhook.serviceName),
                                    settings.clientCaFile};
  runtime::DirectoryWatch directory{settings.certDir};  // before the first read, so that no change is missed
  reloadCertificate(watcher, telemetry);

  const auto current = std::make_shared<CurrentSettings>(admissionSettings(settings, {}));
  FactsFile facts{settings.factsFile};
  reloadFacts(facts, settings, *current);

  DecisionLog decisionLog{settings.logDenials};
  Observers observers = telemetry.observers();
  decisionLog.watch(observers);
  ServerOptions options = settings.server;
  options.events = decisionLog.events();
  const Routes routes{current, std::move(observers)};
  const FindRoute find = [&routes](std::string_view path) { return routes.find(path); };
  const bool guards = !settings.clientCaFile.empty();
  if (guards) {
    options.admits = [names = settings.clientNames](const X509& certificate) {
      return names.empty() || certs::hasAnyName(certificate, names);
    };
  }
  auto started = Server::start(std::move(options), find, [&watcher] { return watcher.context(); });
  if (const auto* error = std::get_if<runtime::StartError>(&started)) {
    printStartErrors({error->message});
    return 1;
  }
  Server& server = std::get<Server>(started);
  const runtime::Endpoint own{settings.server.listen.address, server.port()};
  runtime::Readiness readiness{
      [&watcher] { return watcher.ready(now()) ? "" : "no valid certificate is served"; },
      [&own, inProcess = guards ? find : FindRoute{}] { return checkSampleReviews(own, inProcess); }};
  const auto problem = [&] {
    std::string why = readiness.problem();
    telemetry.ready(why.empty());
    return why;
  };
  auto probes = runtime::PlainServer::start(
      {runtime::probeListener(settings.health, problem),
       {settings.metrics, {{"/metrics", [&] { return telemetry.page(server.metrics()); }}}}});
  if (const auto* error = std::get_if<runtime::StartError>(&probes)) {
    printStartErrors({error->message});
    return 1;
  }
  runtime::PlainServer& plain = std::get<runtime::PlainServer>(probes);
  kServerLog.info("serving", {{"version", kVersion},
                              {"operatorVersion", settings.operatorVersion},
                              {"webhookPort", server.port()},
                              {"healthPort", plain.port(0)},
                              {"metricsPort", plain.port(1)}});

  const runtime::FileWatch files{&directory, [&] {
                                   reloadCertificate(watcher, telemetry);
                                   reloadFacts(facts, settings, *current);
                                 }};
  const int number = waitForStop(signals, files);

  // Kubernetes takes a moment to stop sending requests: keep serving while not ready, then close.
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
    printStartErrors(*errors);
    return 1;
  }
  auto& settings = std::get<Settings>(made);
  if (const std::error_code error = log::configure(settings.log)) {
    printStartErrors({"cannot start the log thread: " + error.message()});
    return 1;
  }
  for (const std::string& warning : settings.warnings) kServerLog.warn(warning);
  const int status = run(settings, signals);
  log::drain();
  return status;
}

}  // namespace dynamo::webhook
