#include "common/render/children.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "common/api/kinds.h"
#include "common/render/hash.h"

namespace dynamo::render {
namespace {

struct Row {
  std::string_view group;
  std::string_view kind;
  ChildKind made;
};

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

constexpr std::array<Row, 18> kRows = {{
    // Shared: pods of an earlier configuration, other graphs and other subjects may use them.
    {"", "ServiceAccount", {Policy::Shared, Stage::Access}},
    {kRbac, "Role", {Policy::Shared, Stage::Access}},
    {kRbac, "RoleBinding", {Policy::Shared, Stage::Workloads}},
    {"", "ConfigMap", {Policy::Applied, Stage::Storage}},
    {"", "PersistentVolumeClaim", {Policy::CreatedOnce, Stage::Storage}},
    {api::kGroup, api::kDynamoCheckpoint, {Policy::CreatedOnce, Stage::Records}},
    {api::kGroup, api::kDynamoGraphDeploymentScalingAdapter, {Policy::Applied, Stage::Records}},
    {"", "Service", {Policy::Applied, Stage::Services}},
    {"scheduling.volcano.sh", "PodGroup", {Policy::Applied, Stage::Groups}},
    {"apps", "Deployment", {Policy::Applied, Stage::Workloads}},
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", {Policy::Applied, Stage::Workloads}},
    {"grove.io", "PodCliqueSet", {Policy::Applied, Stage::Workloads}},
    {api::kGroup, api::kDynamoComponentDeployment, {Policy::Applied, Stage::Workloads}},
    {"batch", "Job", {Policy::CreatedOnce, Stage::Jobs}},
    {"networking.k8s.io", "Ingress", {Policy::Applied, Stage::Routes}},
    {"networking.istio.io", "VirtualService", {Policy::Applied, Stage::Routes}},
    {"inference.networking.k8s.io", "InferencePool", {Policy::Applied, Stage::Routes}},
    {"autoscaling", "HorizontalPodAutoscaler", {Policy::Applied, Stage::Scaling}},
}};

/// Whether `name` is that of a model Service. It does not contain the graph name, so all graphs of the model
/// share the Service.
bool isModelService(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (!name.starts_with(kModelServicePrefix)) return false;
  name.remove_prefix(kModelServicePrefix.size());
  return name.size() == kModelHashDigits && name.find_first_not_of(kDigits) == std::string_view::npos;
}

}  // namespace

std::vector<RenderedKind> renderedKinds() {
  std::vector<RenderedKind> kinds;
  kinds.reserve(kRows.size());
  for (const Row& row : kRows) kinds.push_back({row.group, row.kind});
  return kinds;
}

ChildKind childKind(const k8s::ObjectKey& key) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& each) {
    return each.kind == key.kind && each.group == key.group;
  });
  if (row == kRows.end()) return {};
  ChildKind found = row->made;
  if (found.stage == Stage::Services && isModelService(key.name)) found.policy = Policy::Shared;
  return found;
}

void Children::add(json::Value&& object, std::string_view service) {
  k8s::ObjectKey key = k8s::keyOf(object);
  const ChildKind kind = childKind(key);
  items.push_back({std::move(key), kind.policy, kind.stage, std::move(object), std::string{service}});
}

std::vector<std::size_t> creationOrder(const Children& children) {
  std::vector<std::size_t> order(children.items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return children.items[a].stage < children.items[b].stage;
  });
  return order;
}

}  // namespace dynamo::render
