#include "controller/plugin/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "common/api/kinds.h"
#include "common/config/load.h"
#include "common/conversion/dgdr.h"
#include "common/field/finding.h"
#include "common/k8s/kubectl_apply.h"
#include "common/k8s/object.h"
#include "common/lifecycle/object.h"
#include "common/model/component_defaults.h"
#include "common/observability/log.h"
#include "common/text/manifests.h"
#include "controller/commands/cluster_flags.h"
#include "controller/plugin/dry_run.h"
#include "controller/plugin/facts.h"
#include "controller/plugin/screen.h"
#include "controller/plugin/session.h"
#include "controller/plugin/snapshot.h"
#include "controller/reconcile/kinds.h"
#include "controller/view/child_plan.h"
#include "controller/view/job_plan.h"

namespace dynamo::plugin {
namespace {

using kube::ApiError;
using lifecycle::nameOf;
using lifecycle::namespaceOf;
using runtime::Task;

constexpr int kSame = 0;
constexpr int kDiffers = 1;

/// Returns true for kinds that a Job is made for.
bool hasJob(std::string_view kind) {
  return kind == api::kDynamoGraphDeploymentRequest || kind == api::kDynamoCheckpoint;
}

/// Returns the resource of a manifest in its version, or nullopt if its kind or version is not supported.
std::optional<kube::Resource> resourceIn(const json::Value& manifest) {
  const k8s::ObjectKey key = k8s::keyOf(manifest);
  const controller::WatchedKind* kind = controller::findWatchedKind(key);
  if (kind == nullptr || key.group != api::kGroup || !kind->serves(key.version)) return std::nullopt;
  const bool compared = key.kind == api::kDynamoGraphDeployment ||
                        key.kind == api::kDynamoComponentDeployment || hasJob(key.kind);
  if (!compared) return std::nullopt;
  kube::Resource resource = kind->resource;
  resource.version = key.version;
  return resource;
}

class DiffCommand {
 public:
  DiffCommand(runtime::EventLoop& loop, kube::Client& client, const config::OperatorConfig& config,
              view::Style style)
      : loop_(loop), client_(client), config_(config), defaults_(config.defaults.get()), style_(style) {}

  /// Prints the differences of one object. Returns the exit status.
  Task<int> compare(const json::Value& manifest, kube::Resource resource) {
    const std::string what = fmt::format("{} {}/{}", resource.kind, namespaceOf(manifest), nameOf(manifest));
    auto sent = co_await dryRunApply(client_, resource, manifest);
    if (const auto* error = std::get_if<ApiError>(&sent)) co_return fail(what + ": " + error->message);
    const DryRun& dryRun = std::get<DryRun>(sent);
    if (k8s::isBeingDeleted(dryRun.object)) co_return fail(what + ": is being deleted");
    const std::string namespaceName{namespaceOf(manifest)};
    const render::Facts* facts = co_await factsOf(namespaceName);
    if (facts == nullptr) co_return kFailed;
    if (hasJob(resource.kind)) co_return co_await compareJob(what, dryRun, *facts);

    const bool graph = resource.kind == api::kDynamoGraphDeployment;
    std::vector<Selection> selections = selectChildren(graph ? std::string{nameOf(manifest)} : std::string{});
    if (!graph)
      selections.push_back({selectGraphs({}).resource});  // which say whether they want the component
    Snapshot snapshot{loop_, client_, namespaceName, std::move(selections)};
    if (const auto error = co_await snapshot.load()) co_return fail(*error);
    for (const std::string& note : snapshot.notes()) report(note);
    LoadedObjects observed = snapshot.objects();
    const render::Context context{config_, defaults_, *facts};
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const std::vector<view::OwnedChildren> plan =
        view::planChildren(dryRun.object, observed.pointers, context, now);
    int status = kSame;
    for (const view::OwnedChildren& owned : plan) {
      const int added = co_await addMissing(owned.children, observed);
      status = std::max(status, added);
    }
    for (const view::OwnedChildren& owned : plan) {
      for (const field::FieldError& error : owned.children.errors)
        status = fail(fmt::format("{}: {}", what, error.message()));
    }
    std::vector<view::ChildChange> changes =
        view::changesOf(plan, observed.pointers, controller::kFieldManager);
    for (view::ChildChange& change : changes) {
      if (change.kind != view::ChangeKind::Created || snapshot.serves(change.key.kind) != false) continue;
      change.kind = view::ChangeKind::Refused;
      change.note = "the cluster does not serve its API";
    }
    print(what + (dryRun.exists ? "" : " (new)"), changes);
    if (status == kSame && view::differs(changes)) status = kDiffers;
    co_return status;
  }

 private:
  void print(const std::string& title, const std::vector<view::ChildChange>& changes) const {
    std::cout << style_.paint(view::Color::Bold, field::oneLine(title)) << '\n'
              << view::toText(changes, style_) << view::summaryOf(changes) << '\n';
  }

  /// Prints the differences of a request or checkpoint. Returns the exit status.
  Task<int> compareJob(const std::string& what, const DryRun& dryRun, const render::Facts& facts) {
    json::Document memory;
    json::Value stored;  // in the version that the controller reads
    if (json::findText(&dryRun.object, "kind") == api::kDynamoGraphDeploymentRequest) {
      const auto error = conversion::convertDgdr(dryRun.object, api::kV1beta1, stored, memory.GetAllocator());
      if (error) co_return fail(error->message);
    } else {
      stored = json::copy(dryRun.object, memory.GetAllocator());
    }
    LoadedObjects observed;
    int status = kSame;
    const std::vector<k8s::ObjectKey> read = view::readForJob(stored);
    for (const k8s::ObjectKey& key : read) {
      const int added = co_await add(key, observed);
      status = std::max(status, added);
    }
    const view::JobPlan plan = view::planJob(stored, observed.pointers, {config_, defaults_, facts});
    const int added = co_await addMissing(plan.children, observed);
    status = std::max(status, added);
    for (const std::string& problem : plan.problems) status = fail(fmt::format("{}: {}", what, problem));
    const std::vector<view::ChildChange> changes =
        view::changesOf(stored, plan, observed.pointers, controller::kFieldManager);
    const std::string_view phase = json::findText(json::find(stored, "status"), "phase");
    const std::string state = phase.empty() ? "" : fmt::format(" ({})", phase);
    print(what + (dryRun.exists ? state : " (new)"), changes);
    if (status == kSame && view::differs(changes)) status = kDiffers;
    co_return status;
  }

  /// Returns the facts for a namespace. Prints the error and returns nullptr if they cannot be read.
  Task<const render::Facts*> factsOf(std::string namespaceName) {
    const auto known = facts_.find(namespaceName);
    if (known != facts_.end()) co_return &known->second;
    auto found = co_await discoverFacts(client_, namespaceName);
    if (const auto* error = std::get_if<std::string>(&found)) {
      report(*error);
      co_return nullptr;
    }
    DiscoveredFacts& discovered = std::get<DiscoveredFacts>(found);
    for (const std::string& note : discovered.notes) report(note);
    co_return &facts_.insert_or_assign(namespaceName, std::move(discovered.facts)).first->second;
  }

  /// Adds the live objects of planned children that are missing in `observed`, because their kind is not
  /// listed or because they lack the labels by which the lists are restricted. Returns the exit status.
  Task<int> addMissing(const render::Children& children, LoadedObjects& observed) {
    std::set<k8s::ObjectKey> known;
    for (const json::Value* object : observed.pointers) known.insert(k8s::keyOf(*object));
    for (const render::Child& child : children.items) {
      if (known.contains(child.key)) continue;
      const int status = co_await add(child.key, observed);
      if (status != kSame) co_return status;
    }
    co_return kSame;
  }

  /// Adds the live object if it exists. Returns the exit status.
  Task<int> add(const k8s::ObjectKey& key, LoadedObjects& observed) {
    const std::optional<kube::Resource> resource = childResource(key);
    if (!resource) co_return fail(fmt::format("{}: the kind is not known", k8s::toText(key)));
    auto got = co_await client_.get(*resource, key.namespaceName, key.name);
    if (const auto* error = std::get_if<ApiError>(&got)) {
      if (error->reason == kube::Reason::NotFound) co_return kSame;
      co_return fail(fmt::format("{}: {}", k8s::toText(key), error->message));
    }
    observed.documents.push_back(std::move(std::get<json::Document>(got)));
    observed.pointers.push_back(&observed.documents.back());
    co_return kSame;
  }

  runtime::EventLoop& loop_;
  kube::Client& client_;
  const config::OperatorConfig& config_;
  model::ComponentDefaults defaults_;
  view::Style style_;
  std::map<std::string, render::Facts, std::less<>> facts_;
};

Task<void> compareAll(DiffCommand& command, std::vector<text::Manifest>& manifests, int& status) {
  for (text::Manifest& manifest : manifests) {
    const std::optional<kube::Resource> resource = resourceIn(manifest.object);
    if (!resource) continue;
    const int one = co_await command.compare(manifest.object, *resource);
    status = std::max(status, one);
  }
}

/// Sets the namespaces of the objects. Returns the exit status.
int prepare(std::vector<text::Manifest>& manifests, const DiffOptions& options,
            const std::string& namespaceName) {
  bool any = false;
  for (text::Manifest& manifest : manifests) {
    const std::string what = fmt::format("{}: {} {}", manifest.file, manifest.kind(), manifest.name());
    if (!resourceIn(manifest.object)) {
      report(what +
             ": skipped, because it is no graph, component deployment, request or checkpoint of a served "
             "version");
      continue;
    }
    any = true;
    if (manifest.name().empty()) return fail(what + ": metadata.name is required");
    k8s::ensureNamespace(manifest.object, namespaceName, manifest.object.GetAllocator());
    if (!options.namespaceName.empty() && namespaceOf(manifest.object) != options.namespaceName) {
      return fail(fmt::format("{}: metadata.namespace is {}, but --namespace is {}", what,
                              namespaceOf(manifest.object), options.namespaceName));
    }
  }
  return any ? kSame : fail("there is nothing to compare");
}

}  // namespace

int runDiff(const DiffOptions& options) {
  log::configure({log::Level::Error, log::Format::Text});
  const std::optional<config::OperatorConfig> config = config::loadForCommand(options.configFile, std::cerr);
  if (!config) return kFailed;
  text::Manifests manifests = text::readManifests(options.files);
  for (const std::string& error : manifests.errors) report(error);
  if (!manifests.errors.empty()) return kFailed;
  runtime::EventLoop loop;
  kube::ClientOptions client = clientOptions();
  client.fieldManager = k8s::kClientSideApply;
  auto made = controller::makeCluster(loop, options.cluster, nullptr, client);
  if (const auto* error = std::get_if<std::string>(&made)) return fail(*error);
  controller::Cluster& cluster = std::get<controller::Cluster>(made);
  const std::string namespaceName =
      options.namespaceName.empty() ? cluster.namespaceName : options.namespaceName;
  int status = prepare(manifests.objects, options, namespaceName);
  if (status != kSame) return status;
  DiffCommand command{loop, *cluster.client, *config, styleFor(options.color)};
  loop.spawn(compareAll(command, manifests.objects, status));
  loop.run();
  return std::cout.flush() ? status : fail("cannot write to standard output");
}

}  // namespace dynamo::plugin
