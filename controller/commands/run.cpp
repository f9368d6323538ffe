#include "controller/commands/run.h"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/config/listeners.h"
#include "common/config/load.h"
#include "common/config/operator_config_validation.h"
#include "common/observability/log.h"
#include "common/observability/metrics.h"
#include "common/runtime/endpoint.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/plain_server.h"
#include "common/runtime/readiness.h"
#include "common/runtime/resources.h"
#include "common/runtime/signals.h"
#include "controller/certs/certificate_manager.h"
#include "controller/commands/cluster_flags.h"
#include "controller/commands/metrics_listener.h"
#include "controller/reconcile/manager.h"

namespace dynamo::controller {
namespace {

constexpr log::Logger kLog{"controller"};

/// Kubernetes kills the pod 30 s after SIGTERM.
constexpr std::chrono::seconds kStopDeadline{20};
constexpr std::chrono::milliseconds kCertificatePoll{250};
constexpr std::chrono::milliseconds kFactsPoll{20};
/// Certificates are not delayed longer than this. A webhook without facts works.
constexpr std::chrono::seconds kFactsWait{10};
constexpr std::chrono::seconds kBeat{5};

struct Settings {
  config::OperatorConfig config;
  runtime::Endpoint health;
  runtime::Endpoint metrics;
  log::Options log;
  kube::Shard shard;
  std::string operatorVersion;
  std::vector<std::string> warnings;
};
using Errors = std::vector<std::string>;

runtime::Endpoint endpointOf(const char* flag, const std::string& text,
                             const config::ListenerConfig& listener, Errors& errors) {
  if (text.empty()) {
    const std::string address{config::withoutBrackets(listener.bindAddress)};
    return {address == "0.0.0.0" ? "" : address, static_cast<std::uint16_t>(listener.port)};
  }
  auto parsed = runtime::parseEndpoint(text);
  if (auto* endpoint = std::get_if<runtime::Endpoint>(&parsed)) return *endpoint;
  errors.push_back(fmt::format("{}: {}", flag, std::get<std::string>(parsed)));
  return {};
}

std::variant<Settings, Errors> makeSettings(const RunOptions& options) {
  Settings settings;
  Errors errors;
  config::LoadResult loaded = config::loadConfigFile(options.configFile, config::Purpose::Controller);
  for (std::string& line : loaded.report())
    (loaded.ok() ? settings.warnings : errors).push_back(std::move(line));
  settings.config = std::move(loaded.config);
  if (std::string problem = config::operatorVersionProblem(options.operatorVersion); !problem.empty())
    errors.push_back(std::move(problem));
  const config::ServerConfig& server = settings.config.server;
  settings.health = endpointOf("--health-listen", options.healthListen, server.healthProbe, errors);
  settings.metrics = endpointOf("--metrics-listen", options.metricsListen, server.metrics, errors);
  settings.log =
      runtime::logOptions(settings.config.logging.level, settings.config.logging.format, options.log, errors);
  settings.operatorVersion = options.operatorVersion;
  if (!options.shard.empty()) {
    auto shard = kube::parseShard(options.shard);
    if (const auto* error = std::get_if<std::string>(&shard)) {
      errors.push_back("--shard: " + *error);
    } else {
      settings.shard = std::get<kube::Shard>(shard);
      if (settings.shard.count > 1 && !settings.config.leaderElection.enabled)
        errors.emplace_back("--shard: needs leaderElection.enabled, because a shard may have a standby");
    }
  }
  if (!errors.empty()) return errors;
  return settings;
}

/// Returns the namespace of this pod, or an empty text outside of a cluster.
std::string operatorNamespace() {
  if (const char* name = std::getenv("POD_NAMESPACE"); name != nullptr) return name;
  auto inCluster = kube::inClusterConfig(kube::processEnvironment());
  const auto* config = std::get_if<kube::RestConfig>(&inCluster);
  return config == nullptr ? std::string{} : config->namespaceName;
}

/// Returns the host name, which is the name of the pod inside a pod.
std::string hostName() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

/// Returns a unique name of this process. The host name is not sufficient, because a restarted container has
/// the same one.
std::string identity() {
  std::array<unsigned char, 8> random{};
  RAND_bytes(random.data(), random.size());
  std::string text = hostName() + "_";
  for (const unsigned char byte : random) text += fmt::format("{:02x}", byte);
  return text;
}

void printErrors(const Errors& errors) {
  for (const std::string& line : errors) std::fprintf(stderr, "dynamo-controller: %s\n", line.c_str());
}

/// Owns all parts of the running process.
class Process {
 public:
  Process(const Settings& settings, const runtime::Signals& signals, Cluster cluster,
          runtime::EventLoop& loop, observability::Registry& metrics)
      : loop_(loop),
        signals_(signals),
        signalDescriptor_(loop, runtime::UniqueFd{::dup(signals.descriptor())}),
        client_(std::move(cluster.client)),
        manager_(loop, *client_, settings.config, metrics, managerOptions(settings, cluster.namespaceName)) {
    const std::string own = operatorNamespace();
    if (own.empty()) {
      kLog.warn(
          "POD_NAMESPACE is not set: certificates, facts and selectors of the webhook are not maintained");
      return;
    }
    certificates_.emplace(loop, *client_, settings.config, own, &metrics);
    provisions_ = settings.config.server.webhook.certProvisionMode == "auto";
    if (provisions_) certificateProblem_ = certificates_->problem();
  }

  /// Returns why the process is not ready, or an empty text. May be called from any thread.
  std::string problem() const {
    if (std::string problem = manager_.problem(); !problem.empty()) return problem;
    const std::lock_guard lock{mutex_};
    return certificateProblem_;
  }

  /// Returns why the process must be restarted, or an empty text. May be called from any thread.
  std::string hang() const { return heartbeat_.problem(); }

  /// Returns the error that ended the process, or an empty text after a signal.
  std::string run() {
    std::string failure;
    loop_.spawn(runManager(failure));
    if (certificates_) {
      loop_.spawn(runCertificates());
      if (provisions_) loop_.spawn(publishCertificateProblem());
    }
    loop_.spawn(waitForSignal());
    loop_.spawn(beat());
    loop_.run();
    return failure;
  }

 private:
  static ManagerOptions managerOptions(const Settings& settings, const std::string& contextNamespace) {
    const std::string& configured = settings.config.leaderElection.namespaceName;
    ManagerOptions options;
    options.own = {operatorNamespace(), settings.operatorVersion, hostName()};
    options.leaseNamespace = configured.empty() ? contextNamespace : configured;
    options.identity = identity();
    options.shard = settings.shard;
    if (const char* url = std::getenv("DCGM_METRICS_ENDPOINT_TEMPLATE"); url != nullptr && *url != '\0')
      options.metricsUrl = url;
    return options;
  }

  runtime::Task<void> runManager(std::string& failure) {
    failure = co_await manager_.run();
    loop_.stop();
  }

  /// The pods of the webhook start when there is a certificate, and get the facts that exist at this time.
  runtime::Task<void> runCertificates() {
    const auto deadline = std::chrono::steady_clock::now() + kFactsWait;
    while (!manager_.triedFacts() && !loop_.stopping() && std::chrono::steady_clock::now() < deadline)
      co_await loop_.sleepUntil(std::chrono::steady_clock::now() + kFactsPoll);
    co_await certificates_->run();
  }

  /// Copies the problem of the certificates, which may be read on the loop's thread only (cert-Q15).
  runtime::Task<void> publishCertificateProblem() {
    while (!loop_.stopping()) {
      {
        std::string problem = certificates_->problem();
        const std::lock_guard lock{mutex_};
        certificateProblem_ = std::move(problem);
      }
      co_await loop_.sleepUntil(std::chrono::steady_clock::now() + kCertificatePoll);
    }
  }

  runtime::Task<void> beat() {
    while (!loop_.stopping()) {
      heartbeat_.beat();
      co_await loop_.sleepUntil(std::chrono::steady_clock::now() + kBeat);
    }
  }

  runtime::Task<void> waitForSignal() {
    int number = 0;
    while (number == 0 || number == SIGHUP) {
      if (co_await signalDescriptor_.readable() == runtime::WaitResult::Cancelled) co_return;
      number = signals_.take();
    }
    kLog.info("stopping", {{"signal", number}});
    loop_.spawn(forceStop());
    co_await manager_.stop();
  }

  /// Ends the process if stopping takes longer than kStopDeadline.
  runtime::Task<void> forceStop() {
    co_await loop_.sleepUntil(std::chrono::steady_clock::now() + kStopDeadline);
    loop_.stop();
  }

  runtime::EventLoop& loop_;
  const runtime::Signals& signals_;
  runtime::Descriptor signalDescriptor_;
  runtime::Heartbeat heartbeat_;
  std::unique_ptr<kube::Client> client_;
  Manager manager_;
  std::optional<provisioning::CertificateManager> certificates_;
  /// Whether this process creates the certificates. It is then not ready before they exist and are trusted.
  bool provisions_ = false;
  mutable std::mutex mutex_;
  std::string certificateProblem_;  ///< guarded by mutex_
};

int run(const RunOptions& options, const Settings& settings, const runtime::Signals& signals) {
  runtime::EventLoop loop;
  observability::Registry metrics;
  auto rest = kube::loadRestConfig(options.cluster);
  const auto* loaded = std::get_if<kube::RestConfig>(&rest);
  kube::ClientMetrics clientMetrics{metrics, loaded == nullptr ? "" : runtime::toString(loaded->server)};
  auto made = makeCluster(loop, options.cluster, &clientMetrics);
  if (const auto* error = std::get_if<std::string>(&made)) {
    printErrors({*error});
    return 1;
  }
  Process process{settings, signals, std::move(std::get<Cluster>(made)), loop, metrics};
  const bool secure = settings.config.server.metrics.secure;
  auto scraped =
      metricsListener({settings.metrics, secure, hostName()}, options.cluster, metrics, clientMetrics);
  if (const auto* error = std::get_if<std::string>(&scraped)) {
    printErrors({*error});
    return 1;
  }
  auto started = runtime::PlainServer::start(
      {runtime::probeListener(
           settings.health, [&] { return process.problem(); }, [&] { return process.hang(); }),
       std::get<runtime::PlainListener>(std::move(scraped))});
  if (const auto* error = std::get_if<runtime::StartError>(&started)) {
    printErrors({error->message});
    return 1;
  }
  runtime::PlainServer& plain = std::get<runtime::PlainServer>(started);
  kLog.info("started", {{"version", DYNAMO_VERSION},
                        {"operatorVersion", options.operatorVersion},
                        {"healthPort", plain.port(0)},
                        {"metricsPort", plain.port(1)},
                        {"secureMetrics", secure}});
  const std::string failure = process.run();
  plain.stop(std::chrono::milliseconds{1000});
  if (failure.empty()) {
    kLog.info("stopped");
    return 0;
  }
  kLog.error("stopped", {{"reason", failure}});
  return 1;
}

}  // namespace

void addRun(CLI::App& app, std::function<int()>& run, RunOptions& options) {
  CLI::App* command = app.add_subcommand("run", "reconcile the resources of a cluster");
  command->add_option("--config", options.configFile, "OperatorConfiguration file")->required();
  command->add_option("--operator-version", options.operatorVersion, "Dynamo platform version")
      ->capture_default_str();
  addClusterFlags(*command, options.cluster);
  command->add_option("--shard", options.shard,
                      "I/N: reconcile only the namespaces of shard I of N, for example 0/4; each shard has a "
                      "Lease; I is taken modulo N");
  command->add_option("--ignored-values", options.ignoredValues,
                      "values of the chart that have no effect; they are logged at start");
  command->add_option("--health-listen", options.healthListen, "address of /healthz and /readyz");
  command->add_option("--metrics-listen", options.metricsListen, "address of /metrics");
  command->add_option("--log-level", options.log.level, "debug, info, warn or error");
  command->add_option("--log-format", options.log.format, "json or text");
  // Flags of the reference, accepted so that its arguments keep working.
  command->add_option("--zap-log-level", options.log.zapLevel,
                      "debug, info, error, panic or an integer over 0");
  command->add_option("--zap-encoder", options.log.zapEncoder, "json or console");
  for (const char* flag : {"--zap-devel", "--zap-stacktrace-level", "--zap-time-encoding"}) {
    command
        ->add_option_function<std::string>(
            flag, [](const std::string&) {}, "accepted, without effect")
        ->expected(0, 1);
  }
  command->callback([&] { run = [&options] { return runController(options); }; });
}

int runController(const RunOptions& options) {
  const runtime::Signals signals;
  runtime::raiseDescriptorLimit();
  auto made = makeSettings(options);
  if (const auto* errors = std::get_if<Errors>(&made)) {
    printErrors(*errors);
    return 1;
  }
  const auto& settings = std::get<Settings>(made);
  if (const std::error_code error = log::configure(settings.log)) {
    printErrors({"cannot start the log thread: " + error.message()});
    return 1;
  }
  for (const std::string& warning : settings.warnings) kLog.warn(warning);
  if (!options.ignoredValues.empty())
    kLog.warn("values of the chart have no effect", {{"values", options.ignoredValues}});
  const int status = run(options, settings, signals);
  log::drain();
  return status;
}

}  // namespace dynamo::controller
