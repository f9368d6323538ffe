#include "controller/plugin/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/field/show.h"
#include "common/runtime/notification.h"
#include "controller/kube/decode.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::plugin {
namespace {

using kube::ApiError;
using kube::Resource;
using runtime::Task;

/// The maximum length of a label value. Objects of graphs with longer names do not have the label.
constexpr std::size_t kMaxLabelValue = 63;

Resource ours(std::string_view kind) {
  return controller::resourceOf(api::kGroup, kind);
}

std::vector<k8s::StoredKind> storedKinds(const std::vector<Selection>& selections) {
  k8s::KeptFields all;
  all.managedFields = true;
  all.lastApplied = true;
  std::vector<k8s::StoredKind> kinds;
  kinds.reserve(selections.size());
  for (const Selection& each : selections)
    kinds.push_back({kube::apiVersionOf(each.resource), each.resource.kind, all, {}});
  return kinds;
}

std::string nameOf(const Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

/// Adds apiVersion and kind, which items in lists of built-in resources lack.
void addType(json::Value& object, const Resource& resource, json::Allocator& allocator) {
  json::set(object, "apiVersion", json::string(kube::apiVersionOf(resource), allocator), allocator);
  json::set(object, "kind", json::string(resource.kind, allocator), allocator);
}

}  // namespace

Selection selectGraphs(const std::string& name) {
  Selection selection{ours(api::kDynamoGraphDeployment)};
  if (!name.empty()) selection.fieldSelector = "metadata.name=" + name;
  selection.required = true;
  return selection;
}

std::vector<Selection> selectChildren(const std::string& graph) {
  kube::LabelSelector ofGraph;
  if (!graph.empty() && graph.size() <= kMaxLabelValue) {
    ofGraph.requirements.push_back(
        {std::string{api::label::kGraph}, kube::LabelRequirement::Operator::Equals, graph});
  }
  return {
      {ours(api::kDynamoComponentDeployment)},
      {ours(api::kDynamoGraphDeploymentScalingAdapter)},
      {ours(api::kDynamoCheckpoint)},
      {controller::resourceOf("apps", "Deployment"), ofGraph},
      {controller::resourceOf("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), ofGraph},
      {controller::resourceOf("scheduling.volcano.sh", "PodGroup")},
      {controller::resourceOf("grove.io", "PodCliqueSet")},
      {controller::resourceOf("grove.io", "PodClique")},
      {controller::resourceOf("grove.io", "PodCliqueScalingGroup")},
      {controller::resourceOf("", "Service")},
      {controller::resourceOf("", "ConfigMap"), ofGraph},
      {controller::resourceOf("", "PersistentVolumeClaim")},
      {controller::resourceOf("networking.k8s.io", "Ingress")},
      {controller::resourceOf("networking.istio.io", "VirtualService")},
      {controller::resourceOf("inference.networking.k8s.io", "InferencePool")},
      {controller::resourceOf("autoscaling", "HorizontalPodAutoscaler"), ofGraph},
      {controller::resourceOf("", "Pod"), ofGraph},
  };
}

std::optional<Resource> childResource(const k8s::ObjectKey& key) {
  const controller::WatchedKind* kind = controller::findWatchedKind(key);
  return kind == nullptr ? std::nullopt : std::optional{kind->resource};
}

struct Snapshot::Loading {
  explicit Loading(runtime::EventLoop& loop) : ended(loop) {}

  std::size_t left = 0;
  std::optional<std::string> error;
  runtime::Notification ended;
};

Snapshot::Snapshot(runtime::EventLoop& loop, kube::Client& client, std::string namespaceName,
                   std::vector<Selection> selections)
    : loop_(loop),
      client_(client),
      namespaceName_(std::move(namespaceName)),
      cache_(storedKinds(selections)) {
  for (Selection& each : selections) parts_.push_back({std::move(each)});
}

Task<std::optional<ApiError>> Snapshot::list(const Selection& selection) {
  const kube::Sink sink = cache_.sinkFor(selection.resource, namespaceName_, selection.labels);
  kube::ListOptions options;
  options.labelSelector = selection.labels.text();
  options.fieldSelector = selection.fieldSelector;
  options.limit = kube::kPageLimit;
  sink.listBegins();
  for (;;) {
    auto answer = co_await client_.list(selection.resource, namespaceName_, options);
    if (auto* error = std::get_if<ApiError>(&answer)) co_return std::move(*error);
    auto decoded = kube::decodeList(std::move(std::get<json::Document>(answer)));
    if (auto* error = std::get_if<ApiError>(&decoded)) co_return std::move(*error);
    kube::ListPage& page = std::get<kube::ListPage>(decoded);
    options.continueToken = page.continueToken();
    const std::string version{page.resourceVersion()};
    if (json::Value* items = json::find(page.list, "items"); items != nullptr && items->IsArray()) {
      for (json::Value& item : items->GetArray()) {
        addType(item, selection.resource, page.list.GetAllocator());
        sink.present(item);
      }
    }
    if (!options.continueToken.empty()) continue;
    sink.listEnds(version);
    co_return std::nullopt;
  }
}

Task<void> Snapshot::loadPart(Part& part, std::shared_ptr<Loading> loading) {
  const std::optional<ApiError> error = co_await list(part.selection);
  if (error) {
    const std::string text =
        fmt::format("cannot list {}: {}", nameOf(part.selection.resource), error->message);
    const bool absent = error->reason == kube::Reason::NotFound;
    part.forbidden = error->reason == kube::Reason::Forbidden;
    part.served = false;
    if (part.selection.required && absent) {
      loading->error = fmt::format("the cluster does not serve {}", nameOf(part.selection.resource));
    } else if (part.selection.required || (!absent && !part.forbidden && !part.selection.optional)) {
      loading->error = text;
    } else if (!absent) {
      part.note = text;
    }
  }
  --loading->left;
  loading->ended.notify();
}

Task<std::optional<std::string>> Snapshot::load(runtime::Deadline end) {
  const auto loading = std::make_shared<Loading>(loop_);
  loading->left = parts_.size();
  for (Part& part : parts_) loop_.spawn(loadPart(part, loading));
  while (loading->left > 0) {
    if (loop_.stopping()) co_return "interrupted";
    if (std::chrono::steady_clock::now() >= end) co_return "the cluster has not answered within the timeout";
    co_await loading->ended.wait(end);
  }
  co_return loading->error;
}

void Snapshot::watch(std::function<void()> changed) {
  cache_.onChange([changed = std::move(changed)](const kube::Change&) { changed(); });
  for (const Part& part : parts_) {
    if (!part.served) continue;
    const Selection& selection = part.selection;
    kube::WatchedSet set{namespaceName_, selection.labels.text(), selection.fieldSelector};
    reflectors_.push_back(std::make_unique<kube::Reflector>(
        loop_, selection.resource, std::move(set),
        kube::listWatchOf(client_, selection.resource, namespaceName_),
        cache_.sinkFor(selection.resource, namespaceName_, selection.labels)));
    loop_.spawn(reflectors_.back()->run());
  }
}

LoadedObjects Snapshot::objects() const {
  LoadedObjects loaded;
  for (const Part& part : parts_) {
    const kube::Resource& resource = part.selection.resource;
    for (const k8s::ObjectKey& key : cache_.keysOfKind(kube::apiVersionOf(resource), resource.kind)) {
      if (auto cached = cache_.find(key)) loaded.documents.push_back(std::move(cached->object));
    }
  }
  for (const json::Document& document : loaded.documents) loaded.pointers.push_back(&document);
  return loaded;
}

std::optional<bool> Snapshot::serves(std::string_view kind) const {
  for (const Part& part : parts_) {
    if (part.selection.resource.kind != kind) continue;
    return part.forbidden ? std::nullopt : std::optional{part.served};
  }
  return std::nullopt;
}

std::vector<std::string> Snapshot::forbiddenKinds() const {
  std::vector<std::string> kinds;
  for (const Part& part : parts_) {
    if (part.forbidden) kinds.push_back(part.selection.resource.kind);
  }
  return kinds;
}

std::vector<std::string> Snapshot::notes() const {
  std::vector<std::string> notes;
  for (const Part& part : parts_) {
    if (!part.note.empty()) notes.push_back(field::oneLine(part.note));
  }
  for (const auto& reflector : reflectors_) {
    if (reflector->problem().empty()) continue;
    notes.push_back(field::oneLine(
        fmt::format("cannot watch {}: {}", nameOf(reflector->resource()), reflector->problem())));
  }
  return notes;
}

}  // namespace dynamo::plugin
