#include "controller/commands/copy_output.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "common/api/dgdr.h"
#include "common/field/finding.h"
#include "common/json/build.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/profiler_files.h"
#include "common/observability/log.h"
#include "controller/commands/cluster_flags.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {
namespace {

namespace dgdr = api::dgdr;

using runtime::Task;
using std::chrono::seconds;

constexpr int kUsage = 2;
constexpr int kTerminated = 128 + SIGTERM;
constexpr std::string_view kFieldManager = "output-copier";
/// How often the pod is read.
constexpr seconds kPoll{5};
/// How often a line says that the profiler still runs.
constexpr seconds kReminder{300};
/// How long the status file may be late, and how often it is looked for.
constexpr seconds kFilesMayBeLate{120};
constexpr seconds kFilePoll{2};
/// How often a write is tried, and the pause between two: an hour in all, because the output has taken hours.
constexpr int kWrites = 720;
constexpr int kWritesOfError = 24;
constexpr seconds kWritePause{5};
/// More than a ConfigMap can hold is not read.
constexpr std::size_t kMaxFileBytes = 2 * lifecycle::kMaxConfigMapBytes;

void say(std::string_view text) {
  std::cout << "output-copier: " << field::oneLine(text) << std::endl;  // the log of the pod shows it at once
}

enum class Part { Head, Tail };

/// At most kMaxFileBytes; nullopt: there is no such file.
std::optional<std::string> readFile(const std::filesystem::path& path, Part part) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return std::nullopt;
  if (part == Part::Tail) {
    file.seekg(0, std::ios::end);
    file.seekg(std::max<std::streamoff>(0, file.tellg() - std::streamoff{kMaxFileBytes}));
  }
  std::string text(kMaxFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

class CopyCommand {
 public:
  CopyCommand(runtime::EventLoop& loop, kube::Client& client, const CopyOutputOptions& options)
      : loop_(loop), client_(client), options_(options) {}

  Task<void> run() {
    say("waiting for the profiler to end");
    co_await awaitEnd();
    const auto late = std::chrono::steady_clock::now() + kFilesMayBeLate;
    while (!exists(dgdr::kProfilerStatusKey) && std::chrono::steady_clock::now() < late)
      co_await pause(kFilePoll);
    const lifecycle::ProfilerFiles files{read(dgdr::kResultKey), read(dgdr::kProfilerStatusKey),
                                         read(dgdr::kWebUiKey),
                                         readFile(pathOf(dgdr::kProfilerLog), Part::Tail)};
    const std::string problem = lifecycle::profilerProblem(files);
    if (!problem.empty()) say(problem);
    json::Document memory;
    const json::Value made =
        lifecycle::outputConfigMap(options_.request, options_.namespaceName, files, memory.GetAllocator());
    co_await write(made, problem.empty() ? kWrites : kWritesOfError);
  }

 private:
  runtime::Wait pause(seconds time) { return loop_.sleepUntil(std::chrono::steady_clock::now() + time); }
  std::filesystem::path pathOf(std::string_view name) const {
    return std::filesystem::path{options_.folder} / name;
  }
  bool exists(std::string_view name) const {
    std::error_code ignored;
    return std::filesystem::exists(pathOf(name), ignored);
  }
  std::optional<std::string> read(std::string_view name) const { return readFile(pathOf(name), Part::Head); }

  /// The API server may be away for a while. Hours of profiling must not be lost for that.
  Task<void> awaitEnd() {
    seconds waited{0};
    std::string told;
    for (;;) {
      const auto got = co_await client_.get(resourceOf("", "Pod"), options_.namespaceName, options_.pod);
      if (const auto* pod = std::get_if<json::Document>(&got); pod != nullptr && hasEnded(*pod)) co_return;
      const auto* error = std::get_if<kube::ApiError>(&got);
      const std::string_view problem = error == nullptr ? std::string_view{} : error->message;
      if (!problem.empty() && problem != told) say(fmt::format("cannot read the pod: {}", problem));
      told = problem;
      co_await pause(kPoll);
      waited += kPoll;
      if (waited % kReminder == seconds{0}) say(fmt::format("still waiting, for {} seconds", waited.count()));
    }
  }

  bool hasEnded(const json::Value& pod) const {
    return lifecycle::containerState(pod, options_.container, "terminated") != nullptr;
  }

  Task<void> write(const json::Value& made, int tries) {
    const std::string name = fmt::format("{}{}", dgdr::kOutputConfigMapPrefix, options_.request);
    kube::PatchOptions apply;
    apply.fieldManager = kFieldManager;
    std::string error;
    for (int i = 0; i < tries; ++i) {
      std::string body = json::dump(made);
      const auto answer = co_await client_.patch(resourceOf("", "ConfigMap"), options_.namespaceName, name,
                                                 kube::PatchType::Apply, std::move(body), apply);
      const auto* failed = std::get_if<kube::ApiError>(&answer);
      if (failed == nullptr) {
        say(fmt::format("wrote ConfigMap {}", name));
        co_return;
      }
      if (failed->message != error) say(fmt::format("cannot write ConfigMap {}: {}", name, failed->message));
      error = failed->message;
      const lifecycle::Ending ended = failureOf(k8s::keyOf(made), *failed);
      if (lifecycle::isInvalid({&ended, 1})) co_return;  // it stays so
      co_await pause(kWritePause);
    }
  }

  runtime::EventLoop& loop_;
  kube::Client& client_;
  const CopyOutputOptions& options_;
};

}  // namespace

int runCopyOutput(const CopyOutputOptions& given) {
  log::configure({log::Level::Error, log::Format::Text});
  CopyOutputOptions options = given;
  if (options.pod.empty()) {
    const char* host = std::getenv("HOSTNAME");
    options.pod = host == nullptr ? "" : host;
  }
  if (options.pod.empty()) {
    std::cerr << "dynamo-controller: --pod is required where HOSTNAME is not set\n";
    return kUsage;
  }
  // The first process of a container ignores signals without a handler.
  std::signal(SIGTERM, [](int) { std::_Exit(kTerminated); });
  runtime::EventLoop loop;
  auto made = makeCluster(loop, options.cluster);
  if (const auto* error = std::get_if<std::string>(&made)) {
    std::cerr << "dynamo-controller: " << field::oneLine(*error) << '\n';
    return kUsage;
  }
  Cluster& cluster = std::get<Cluster>(made);
  if (options.namespaceName.empty()) options.namespaceName = cluster.namespaceName;
  CopyCommand command{loop, *cluster.client, options};
  loop.spawn(command.run());
  loop.run();
  return 0;
}

void addCopyOutput(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<CopyOutputOptions>();
  CLI::App* command = app.add_subcommand(
      "copy-output", "in a profiling pod: store what the profiler leaves; exit status 0 whatever it is");
  command->add_option("--request", options->request, "name of the DynamoGraphDeploymentRequest")->required();
  command->add_option("-n,--namespace", options->namespaceName, "namespace; by default that of the pod");
  command->add_option("--pod", options->pod, "name of the pod; by default the variable HOSTNAME");
  command->add_option("--container", options->container, "container whose end is awaited")
      ->capture_default_str();
  command->add_option("--folder", options->folder, "folder with the files of the profiler")
      ->capture_default_str();
  addClusterFlags(*command, options->cluster);
  command->callback([&run, options] { run = [options] { return runCopyOutput(*options); }; });
}

}  // namespace dynamo::controller
