#include "controller/commands/smoke.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <utility>

#include "common/field/finding.h"
#include "common/observability/log.h"
#include "controller/commands/attempts.h"
#include "controller/commands/cluster_flags.h"
#include "controller/install/smoke_check.h"

namespace dynamo::controller {
namespace {

using install::Verdict;
using runtime::Task;

/// A name that no object has. A dry run of a name that exists is refused.
std::string freshName() {
  std::array<unsigned char, 8> random{};
  RAND_bytes(random.data(), random.size());
  std::string name = "dynamo-smoke-";
  for (const unsigned char byte : random) name += fmt::format("{:02x}", byte);
  return name;
}

int fail(std::string_view why) {
  std::cerr << "dynamo-controller: " << field::oneLine(why) << '\n';
  return 1;
}

/// Returns why the check has not passed, or an empty text.
Task<std::string> pass(kube::Client& client, Attempts& attempts, const install::SmokeCheck& check,
                       std::string namespaceName) {
  std::string told;
  for (;;) {
    std::string body = install::bodyOf(check, namespaceName, freshName());
    const kube::CallOptions call = attempts.call();
    const auto answer = co_await client.create(check.resource, namespaceName, std::move(body), true, call);
    install::Judgement judgement = check.judge(answer, namespaceName);
    if (judgement.verdict == Verdict::Passed) co_return std::string{};
    if (judgement.verdict != Verdict::NotAllowed) attempts.allowed();
    const bool refused = judgement.verdict == Verdict::NotAllowed && !attempts.mayBeAllowedSoon();
    if (refused || judgement.verdict == Verdict::Failed) co_return judgement.reason;
    // The end of the time may have cut the last request short.
    if (attempts.over()) co_return fmt::format("not in time: {}", told.empty() ? judgement.reason : told);
    if (judgement.reason != told) {
      std::cout << "waiting: " << field::oneLine(judgement.reason)
                << std::endl;  // the log of the pod shows it at once
      told = std::move(judgement.reason);
    }
    co_await attempts.pause();
  }
}

Task<std::string> passAll(kube::Client& client, Attempts& attempts, std::string namespaceName, bool strict) {
  for (const install::SmokeCheck& check : install::smokeChecks()) {
    if (check.strictOnly && !strict) {
      std::cout << "left out, because validation only warns: " << check.title << std::endl;
      continue;
    }
    const std::string problem = co_await pass(client, attempts, check, namespaceName);
    if (!problem.empty()) co_return fmt::format("it is not so that {}: {}", check.title, problem);
    attempts.succeeded();
    std::cout << "ok: " << check.title << std::endl;
  }
  co_return std::string{};
}

}  // namespace

int runSmoke(const SmokeOptions& options) {
  log::configure({log::Level::Error, log::Format::Text});
  const auto time = parseTimeout(options.timeout);
  if (!time) return 1;
  endAtSigterm();
  runtime::EventLoop loop;
  auto made = makeCluster(loop, options.cluster);
  if (const auto* error = std::get_if<std::string>(&made)) return fail(*error);
  Cluster& cluster = std::get<Cluster>(made);
  Attempts attempts{loop, *time};
  const std::string namespaceName =
      options.namespaceName.empty() ? cluster.namespaceName : options.namespaceName;
  const bool strict = options.validationMode == "strict";
  const std::string problem =
      runtime::runTask(loop, passAll(*cluster.client, attempts, namespaceName, strict));
  return problem.empty() ? 0 : fail(problem);
}

void addSmoke(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<SmokeOptions>();
  CLI::App* command = app.add_subcommand(
      "smoke", "check with dry runs that CRDs, admission and conversion of an installation work");
  command->add_option("-n,--namespace", options->namespaceName, "namespace; by default that of the pod");
  command
      ->add_option("--validation-mode", options->validationMode,
                   "validation.mode of the operator's configuration: strict or warn")
      ->check(CLI::IsMember({"strict", "warn"}))
      ->capture_default_str();
  command->add_option("--timeout", options->timeout, "when to give up (90s, 10m)")->capture_default_str();
  addClusterFlags(*command, options->cluster);
  command->callback([&run, options] { run = [options] { return runSmoke(*options); }; });
}

}  // namespace dynamo::controller
