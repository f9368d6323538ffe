// Turns flags into options and runs the command.

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "certs/command.h"
#include "common/commands/command_line.h"
#include "common/commands/usage.h"
#include "common/runtime/memory.h"
#include "common/runtime/resources.h"
#include "webhook/commands/serve.h"
#include "webhook/version.h"

namespace {

using namespace dynamo;

constexpr int kUsage = 2;

void addServe(CLI::App& app, std::function<int()>& run, webhook::ServeOptions& options) {
  CLI::App* command = app.add_subcommand("serve", "serve admission and conversion over HTTPS");
  command->add_option("--config", options.configFile, "OperatorConfiguration file");
  command
      ->add_option("--operator-version", options.operatorVersion, "Dynamo platform version that is stamped")
      ->capture_default_str();
  command->add_option("--controller-service-account", options.controllerAccount,
                      "namespace/name of the controller's account, which may always set replicas");
  command->add_option("--facts", options.factsFile,
                      "file with the facts of the cluster; it may be created later");
  command->add_option("--listen", options.listen, "HTTPS address, e.g. :9443");
  command->add_option("--health-listen", options.healthListen, "address of /healthz and /readyz");
  command->add_option("--metrics-listen", options.metricsListen, "address of /metrics");
  command->add_option("--cert-dir", options.certDir, "directory of tls.crt and tls.key");
  command->add_option("--client-ca-file", options.clientCaFile,
                      "CAs of client certificates; admission then requires such a certificate");
  command->add_option("--client-names", options.clientNames, "allowed names of client certificates: NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--tls-min-version", options.tlsMinVersion, "1.3 (default) or 1.2");
  command->add_option("--log-level", options.log.level, "debug, info, warn or error");
  command->add_option("--log-format", options.log.format, "json or text");
  // Not add_flag() with the value: CLI11 sets the value to false when neither form of the flag is given.
  command->add_flag_function(
      "--log-denials,!--no-log-denials", [&options](std::int64_t given) { options.logDenials = given > 0; },
      "log what is denied, without values (default)");
  // Flags of the reference, accepted so that its arguments keep working.
  command->add_option("--zap-log-level", options.log.zapLevel,
                      "debug, info, error, panic or an integer over 0");
  command->add_option("--zap-encoder", options.log.zapEncoder, "json or console");
  for (const char* flag : {"--zap-devel", "--zap-stacktrace-level", "--zap-time-encoding", "--kubeconfig"}) {
    command
        ->add_option_function<std::string>(
            flag, [](const std::string&) {}, "accepted, without effect")
        ->expected(0, 1);
  }
  command->callback([&] {
    run = [&options] {
      runtime::raiseDescriptorLimit();
      return webhook::runServe(options);
    };
  });
}

void addCerts(CLI::App& app, std::function<int()>& run, certs::CertsCommandOptions& options, int& days) {
  CLI::App* command = app.add_subcommand("certs", "create a CA and a serving certificate for local use");
  command->add_option("--dns", options.dnsNames, "DNS name; repeatable")->allow_extra_args(false);
  command->add_option("--ip", options.ipAddresses, "IP address; repeatable")->allow_extra_args(false);
  command->add_option("--out", options.directory, "directory for ca.crt, ca.key, tls.crt and tls.key")
      ->required();
  command->add_option("--days", days, "lifetime of the serving certificate")->capture_default_str();
  command->add_flag("--force", options.force, "overwrite");
  command->add_flag("--new-ca", options.newCa, "do not reuse the CA in the directory");
  command->callback([&] {
    run = [&options, &days] {
      options.lifetime = std::chrono::days{days};
      const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
      return certs::runCertsCommand(options, now, std::cout, std::cerr);
    };
  });
}

/// Go programs, including the reference, accept flags with one dash or two. For `serve`, "-config=x"
/// therefore becomes "--config=x".
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool serve = !words.empty() && words.front() == "serve";
  for (std::string& word : words) {
    if (!serve) break;
    const bool longName = word.size() > 2 && word[0] == '-' && word[1] >= 'a' && word[1] <= 'z' &&
                          word[2] >= 'a' && word[2] <= 'z';
    if (longName) word.insert(0, 1, '-');
  }
  return {words.rbegin(), words.rend()};  // CLI11 expects them in reverse order
}

}  // namespace

int main(int argc, char** argv) {
  runtime::configureAllocator();
  CLI::App app{"Admission and conversion webhook of the NVIDIA Dynamo operator", "dynamo-webhook"};
  app.set_version_flag("--version", std::string{webhook::kVersion});
  app.require_subcommand(1);
  app.failure_message(commands::usageError);
  std::function<int()> run;
  webhook::ServeOptions serve;
  certs::CertsCommandOptions certificates;
  int days = static_cast<int>(certificates.lifetime.count());
  addServe(app, run, serve);
  commands::addOfflineCommands(app, run, {webhook::kProgram, webhook::kVersion});
  addCerts(app, run, certificates, days);
  try {
    app.parse(arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return run();
}
