#include "controller/commands/crds_apply.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/config/operator_config_validation.h"
#include "common/field/finding.h"
#include "common/observability/log.h"
#include "common/text/manifests.h"
#include "controller/certs/settings.h"
#include "controller/commands/attempts.h"
#include "controller/commands/cluster_flags.h"
#include "controller/install/crd_plan.h"

namespace dynamo::controller {
namespace {

using runtime::Task;

constexpr std::string_view kSuffix = ".yaml";
/// The controller owns the conversion, whichever of both has written it first.
constexpr std::string_view kConversionManager = "dynamo-controller";

std::string_view metadataOf(const json::Value& object, std::string_view field) {
  return json::findText(json::findObject(&object, "metadata"), field);
}

json::Document copyOf(const json::Value& value) {
  json::Document copy;
  static_cast<json::Value&>(copy) = json::copy(value, copy.GetAllocator());
  return copy;
}

/// Returns the CRDs, or an error with the path of the file.
std::variant<std::vector<json::Document>, std::string> readCrds(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (auto each = std::filesystem::directory_iterator{directory, error};
       !error && each != std::filesystem::directory_iterator{}; each.increment(error)) {
    if (each->path().extension() == kSuffix && !each->is_directory()) paths.push_back(each->path().string());
  }
  if (error) return fmt::format("{}: {}", directory, error.message());
  if (paths.empty()) return fmt::format("{}: there is no file *{}", directory, kSuffix);
  std::sort(paths.begin(), paths.end());
  std::vector<json::Document> crds;
  std::map<std::string, std::string, std::less<>> fileOf;
  for (const std::string& path : paths) {
    text::Manifests read = text::readManifests({path});
    if (!read.errors.empty()) return read.errors.front();
    if (read.objects.empty()) return fmt::format("{}: has no CustomResourceDefinition", path);
    for (text::Manifest& each : read.objects) {
      if (const std::string problem = install::crdProblem(each.object); !problem.empty())
        return fmt::format("{}: {}", path, problem);
      const std::string_view name = metadataOf(each.object, "name");
      if (const auto [other, added] = fileOf.try_emplace(std::string{name}, path); !added)
        return fmt::format("{}: {} is in {}, too", path, name, other->second);
      crds.push_back(std::move(each.object));
    }
  }
  return crds;
}

/// Applies one CRD after the other.
class ApplyCommand {
 public:
  ApplyCommand(kube::Client& client, Attempts& attempts, std::string version)
      : client_(client), attempts_(attempts), version_(std::move(version)) {}

  /// Returns why not all CRDs are as wanted, or an empty text.
  Task<std::string> run(const std::vector<json::Document>& crds) {
    for (const json::Document& crd : crds) {
      std::string problem = co_await establish(crd);
      if (!problem.empty())
        co_return fmt::format("CustomResourceDefinition {}: {}", metadataOf(crd, "name"), problem);
    }
    co_return std::string{};
  }

 private:
  /// What has happened to a CRD so far.
  struct Progress {
    std::string name;
    std::string outcome;    ///< empty: it must be applied
    std::string note;       ///< about the outcome
    std::string obstacle;   ///< why the CRD is not as wanted yet
    bool starting = false;  ///< the obstacle goes by itself, at once
    bool seen = false;
    std::optional<json::Document> first;  ///< the CRD when it was seen first; none: there was none
  };

  /// Repeats steps until the CRD is Established.
  Task<std::string> establish(const json::Document& crd) {
    Progress progress;
    progress.name = metadataOf(crd, "name");
    const std::string none;
    for (;;) {
      const std::string before = std::exchange(progress.obstacle, {});
      progress.starting = false;
      const kube::CallOptions call = attempts_.call();
      auto got = co_await client_.get(crdResource(), none, progress.name, call);
      const auto* error = std::get_if<kube::ApiError>(&got);
      if (error != nullptr && error->reason != kube::Reason::NotFound) {
        if (!mayPass(*error, progress)) co_return described(*error);
        progress.obstacle = error->message;
      } else {
        std::string problem = co_await step(crd, std::get_if<json::Document>(&got), progress);
        if (!problem.empty()) co_return problem;
      }
      if (progress.obstacle.empty()) {
        tell(progress);
        attempts_.succeeded();
        co_return std::string{};
      }
      // The end of the time may have cut the last request short.
      if (attempts_.over())
        co_return fmt::format("not in time: {}", before.empty() ? progress.obstacle : before);
      if (progress.obstacle != before && !progress.starting) {
        std::cout << fmt::format("{} waiting: {}", progress.name, field::oneLine(progress.obstacle))
                  << std::endl;
      }
      co_await attempts_.pause();
    }
  }

  /// Applies the CRD unless this was done, and sets the obstacle if it is not Established. Returns an error
  /// that stays.
  Task<std::string> step(const json::Document& crd, const json::Value* live, Progress& progress) {
    if (live != nullptr) observe(*live, progress);
    if (live != nullptr && install::healthOf(*live).state == install::CrdState::Terminating) {
      progress.outcome.clear();
      co_return std::string{};
    }
    if (!std::exchange(progress.seen, true) && live != nullptr) progress.first = copyOf(*live);
    if (live != nullptr && !progress.outcome.empty()) co_return std::string{};
    install::CrdPlan plan = install::planCrd(crd, live, version_);
    progress.note = plan.note;
    if (plan.leaveAlone) {
      progress.outcome = "left alone";
      co_return std::string{};
    }
    std::string problem = co_await write(crd, std::move(plan.body), progress);
    co_return problem;
  }

  /// Sends the writes. A transient error becomes the obstacle.
  Task<std::string> write(const json::Document& crd, std::string body, Progress& progress) {
    kube::PatchOptions options;
    options.fieldManager = install::kCrdManager;
    const std::string none;
    kube::CallOptions call = attempts_.call();
    auto applied = co_await client_.patch(crdResource(), none, progress.name, kube::PatchType::Apply,
                                          std::move(body), options, call);
    if (const auto* error = std::get_if<kube::ApiError>(&applied)) {
      if (!mayPass(*error, progress)) co_return described(*error);
      progress.obstacle = error->message;
      // The CRD has changed since it was read; the next step reads it again.
      if (error->reason == kube::Reason::Conflict) progress.starting = true;
      co_return std::string{};
    }
    std::string conversion = install::planConversion(crd, std::get<json::Document>(applied));
    if (!conversion.empty()) {
      options.fieldManager = kConversionManager;
      call = attempts_.call();
      applied = co_await client_.patch(crdResource(), none, progress.name, kube::PatchType::Json,
                                       std::move(conversion), options, call);
      if (const auto* error = std::get_if<kube::ApiError>(&applied)) {
        // Invalid: the test of the patch has failed, because the controller has written the conversion.
        if (!mayPass(*error, progress) && error->reason != kube::Reason::Invalid) co_return described(*error);
        progress.obstacle = error->message;
        co_return std::string{};
      }
    }
    const json::Document& stored = std::get<json::Document>(applied);
    const bool same = progress.first && install::sameContent(*progress.first, stored);
    progress.outcome = !progress.first ? "created" : same ? "unchanged" : "configured";
    observe(stored, progress);
    co_return std::string{};
  }

  /// Whether the request is sent again.
  bool mayPass(const kube::ApiError& error, Progress& progress) {
    if (error.reason != kube::Reason::Forbidden && error.reason != kube::Reason::Unauthorized) {
      attempts_.allowed();
      return error.transient();
    }
    progress.starting = true;
    return attempts_.mayBeAllowedSoon();
  }

  static void observe(const json::Value& live, Progress& progress) {
    install::CrdHealth health = install::healthOf(live);
    progress.starting = health.state == install::CrdState::Starting;
    progress.obstacle = std::move(health.reason);
  }

  static const kube::Resource& crdResource() { return provisioning::customResourceDefinitions(); }

  static std::string described(const kube::ApiError& error) {
    if (error.reason == kube::Reason::Forbidden) return fmt::format("a right is missing: {}", error.message);
    return error.message;
  }

  static void tell(const Progress& progress) {
    std::cout << fmt::format("{} {}{}{}", progress.name, progress.outcome, progress.note.empty() ? "" : ": ",
                             field::oneLine(progress.note))
              << std::endl;  // the log of the pod shows it at once
  }

  kube::Client& client_;
  Attempts& attempts_;
  const std::string version_;
};

int fail(std::string_view why) {
  std::cerr << "dynamo-controller: " << field::oneLine(why) << '\n';
  return 1;
}

}  // namespace

int runCrdsApply(const CrdsApplyOptions& options) {
  log::configure({log::Level::Error, log::Format::Text});
  if (const std::string problem = config::operatorVersionProblem(options.operatorVersion); !problem.empty())
    return fail(problem);
  const auto time = parseTimeout(options.timeout);
  if (!time) return 1;
  const auto read = readCrds(options.directory);
  if (const auto* error = std::get_if<std::string>(&read)) return fail(*error);
  endAtSigterm();
  runtime::EventLoop loop;
  auto made = makeCluster(loop, options.cluster);
  if (const auto* error = std::get_if<std::string>(&made)) return fail(*error);
  Attempts attempts{loop, *time};
  ApplyCommand command{*std::get<Cluster>(made).client, attempts, options.operatorVersion};
  const std::string problem =
      runtime::runTask(loop, command.run(std::get<std::vector<json::Document>>(read)));
  return problem.empty() ? 0 : fail(problem);
}

void addCrds(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<CrdsApplyOptions>();
  CLI::App* crds = app.add_subcommand("crds", "install CustomResourceDefinitions");
  crds->require_subcommand(1);
  CLI::App* command = crds->add_subcommand(
      "apply",
      "apply the CustomResourceDefinitions of a directory; those of a newer operator are left alone");
  command->add_option("--directory", options->directory, "directory with files *.yaml")->required();
  command->add_option("--operator-version", options->operatorVersion, "Dynamo platform version")
      ->capture_default_str();
  command->add_option("--timeout", options->timeout, "when to give up (90s, 10m)")->capture_default_str();
  addClusterFlags(*command, options->cluster);
  command->callback([&run, options] { run = [options] { return runCrdsApply(*options); }; });
}

}  // namespace dynamo::controller
