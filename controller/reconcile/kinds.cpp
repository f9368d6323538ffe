#include "controller/reconcile/kinds.h"

#include <algorithm>
#include <stdexcept>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/lifecycle/failed_create.h"
#include "controller/reconcile/reconcilers.h"
#include "controller/reconcile/resource_counts.h"

namespace dynamo::controller {
namespace {

using kube::hasLabel;
using kube::LabelSelector;
using kube::lacksLabel;
using kube::Resource;

std::string text(std::string_view view) {
  return std::string{view};
}

LabelSelector with(std::string_view label) {
  return {{hasLabel(text(label))}};
}

/// A custom resource of this operator, in the version that the CRD stores.
Resource ours(std::string_view plural, std::string_view kind, std::string_view version = "v1alpha1") {
  return {text(api::kGroup), text(version), text(plural), text(kind)};
}

const std::vector<LabelSelector> kAll = {LabelSelector{}};

std::vector<WatchedKind> makeKinds() {
  const std::vector<std::string> graph = {text(api::label::kGraph)};
  const std::vector<std::string> graphAndComponent = {text(api::label::kGraph), text(api::label::kComponent)};
  const std::vector<LabelSelector> ofComponents = {with(api::label::kComponent)};
  const std::vector<LabelSelector> ofGraphs = {with(api::label::kGraph)};
  // Services of components; Services of components on Grove, which have only the discovery labels; Services
  // of models.
  const std::vector<LabelSelector> services = {
      with(api::label::kComponent),
      {{hasLabel(text(api::label::kDiscoveryEnabled)), lacksLabel(text(api::label::kComponent))}},
      {{hasLabel(text(api::label::kBaseModelHash)), lacksLabel(text(api::label::kComponent)),
        lacksLabel(text(api::label::kDiscoveryEnabled))}}};
  // Pods of a DynamoComponentDeployment without a graph do not have the graph label; pods of checkpoints that
  // a user has made have neither label.
  const std::vector<LabelSelector> watchedPods = {
      with(api::label::kGraph),
      {{hasLabel(text(api::label::kComponent)), lacksLabel(text(api::label::kGraph))}},
      {{hasLabel(text(api::label::kCheckpointSource)), lacksLabel(text(api::label::kComponent)),
        lacksLabel(text(api::label::kGraph))}}};
  // Jobs of checkpoints, and of requests.
  const std::vector<LabelSelector> jobs = {
      with(api::label::kCheckpointHash), {{hasLabel("dgdr"), lacksLabel(text(api::label::kCheckpointHash))}}};
  const std::vector<LabelSelector> access = {
      {{{text(api::label::kAppManagedBy), kube::LabelRequirement::Operator::Equals, "dynamo-operator"}}}};
  const k8s::KeptFields all;
  k8s::KeptFields intent;  // managedFields distinguish fields of users from defaults
  intent.managedFields = true;
  intent.lastApplied = true;
  k8s::KeptFields scaled;  // managedFields tell who set the replicas
  scaled.managedFields = true;
  const k8s::KeptFields pods{{"metadata.labels", "metadata.creationTimestamp",
                              "metadata.deletionGracePeriodSeconds", "spec.nodeName", "status.phase",
                              "status.reason", "status.message", "status.conditions",
                              "status.containerStatuses", "status.initContainerStatuses"}};
  const k8s::KeptFields slices{{"metadata.labels", "addressType", "endpoints.addresses",
                                "endpoints.conditions", "endpoints.targetRef.kind",
                                "endpoints.targetRef.namespace", "endpoints.targetRef.name"}};
  const k8s::KeptFields claims{{"metadata.labels", "status.phase"}};
  const k8s::KeptFields events{
      {"metadata.creationTimestamp", "lastTimestamp", "involvedObject.name", "message"}};
  const Resource leaderWorkerSets{"leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"};
  return {
      {.resource = ours("dynamographdeployments", api::kDynamoGraphDeployment),
       .selectors = kAll,
       .kept = intent,
       .labels = {},
       .applied = false,
       .trigger = Trigger::Graph,
       .reconciler = Reconciler{"dynamographdeployment", &reconcileGraph},
       .countedStatus = &graphState},
      {.resource = ours("dynamocomponentdeployments", api::kDynamoComponentDeployment),
       .selectors = kAll,
       .kept = all,
       .labels = graph,
       .reconciler = Reconciler{"dynamocomponentdeployment", &reconcileComponent},
       .countedStatus = &componentReadiness},
      {.resource = ours("dynamographdeploymentscalingadapters", api::kDynamoGraphDeploymentScalingAdapter),
       .selectors = kAll,
       .kept = all,
       .labels = graph,
       .reconciler = Reconciler{"dgdscalingadapter", &reconcileScalingAdapter},
       .countedStatus = &adapterReadiness},
      {.resource = ours("dynamocheckpoints", api::kDynamoCheckpoint),
       .selectors = kAll,
       .kept = all,
       .labels = {},
       .reconciler = Reconciler{"checkpoint", &reconcileCheckpoint},
       .countedStatus = &phaseOf},
      {.resource = ours("dynamomodels", api::kDynamoModel),
       .selectors = kAll,
       .kept = all,
       .labels = {},
       .applied = false,
       .reconciler = Reconciler{"dynamomodel", &reconcileModel},
       .countedStatus = &modelReadiness},
      {.resource = ours("dynamographdeploymentrequests", api::kDynamoGraphDeploymentRequest, "v1beta1"),
       .selectors = kAll,
       .kept = all,
       .labels = {},
       .applied = false,
       .reconciler = Reconciler{"dynamographdeploymentrequest", &reconcileRequest},
       .alsoServed = {"v1alpha1"},
       .countedStatus = &phaseOf},
      {{"apps", "v1", "deployments", "Deployment"}, ofComponents, all, {}},
      {leaderWorkerSets, ofComponents, all, {}},
      // The API server caches no Events: each list reads all of the cluster from etcd.
      {.resource = {"", "v1", "events", "Event"},
       .selectors = kAll,
       .kept = events,
       .labels = {},
       .applied = false,
       .fieldSelector = text(lifecycle::kFailedCreateSelector),
       .with = leaderWorkerSets,
       .listed = true,
       .trigger = Trigger::FailedCreate},
      {{"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"}, kAll, all, {}},
      {.resource = {"grove.io", "v1alpha1", "podcliquesets", "PodCliqueSet"},
       .selectors = kAll,
       .kept = all,
       .labels = {},
       .trigger = Trigger::Grove},
      {.resource = {"grove.io", "v1alpha1", "podcliques", "PodClique"},
       .selectors = ofGraphs,
       .kept = scaled,
       .labels = graph,
       .applied = false,
       .trigger = Trigger::Grove},
      {.resource = {"grove.io", "v1alpha1", "podcliquescalinggroups", "PodCliqueScalingGroup"},
       .selectors = kAll,
       .kept = scaled,
       .labels = graph,
       .applied = false,
       .trigger = Trigger::Grove},
      {{"", "v1", "services", "Service"}, services, all, {}},
      {.resource = {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"},
       .selectors = {with(api::label::kBaseModelHash)},
       .kept = slices,
       .labels = {text(api::label::kBaseModelHash)},
       .applied = false,
       .trigger = Trigger::Model},
      {{"", "v1", "configmaps", "ConfigMap"}, ofGraphs, all, {}},
      {.resource = {"", "v1", "serviceaccounts", "ServiceAccount"},
       .selectors = access,
       .kept = all,
       .labels = {},
       .trigger = Trigger::Account},
      {{"rbac.authorization.k8s.io", "v1", "roles", "Role"}, access, all, {}},
      {.resource = {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"},
       .selectors = access,
       .kept = all,
       .labels = {},
       .trigger = Trigger::Account},
      {.resource = {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"},
       .selectors = kAll,
       .kept = claims,
       .labels = {},
       .applied = false,
       .trigger = Trigger::Claim},
      {{"networking.k8s.io", "v1", "ingresses", "Ingress"}, kAll, all, {}},
      {{"networking.istio.io", "v1beta1", "virtualservices", "VirtualService"}, kAll, all, {}},
      {{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"}, ofGraphs, all, {}},
      {{"inference.networking.k8s.io", "v1", "inferencepools", "InferencePool"}, ofGraphs, all, {}},
      {{"batch", "v1", "jobs", "Job"}, jobs, all, {}},
      {.resource = {"", "v1", "pods", "Pod"},
       .selectors = watchedPods,
       .kept = pods,
       .labels = graphAndComponent,
       .applied = false,
       .trigger = Trigger::Pod},
  };
}

}  // namespace

std::span<const WatchedKind> watchedKinds() {
  static const std::vector<WatchedKind> kKinds = makeKinds();
  return kKinds;
}

const WatchedKind* findWatchedKind(const k8s::ObjectKey& key) {
  const auto kinds = watchedKinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const WatchedKind& each) {
    return each.resource.kind == key.kind && each.resource.group == key.group;
  });
  return found == kinds.end() ? nullptr : &*found;
}

const Resource& resourceOf(std::string_view group, std::string_view kind) {
  const WatchedKind* found = findWatchedKind({text(group), "", text(kind), "", ""});
  if (found == nullptr) throw std::logic_error{"no resource of the controller"};
  return found->resource;
}

k8s::ObjectKey keyIn(const Resource& resource, std::string_view namespaceName, std::string_view name) {
  return {resource.group, resource.version, resource.kind, text(namespaceName), text(name)};
}

std::vector<k8s::StoredKind> storedKinds() {
  std::vector<k8s::StoredKind> stored;
  for (const WatchedKind& each : watchedKinds()) {
    stored.push_back({kube::apiVersionOf(each.resource), each.resource.kind, each.kept, each.labels,
                      each.applied ? text(kFieldManager) : std::string{},
                      each.listed || each.resource.group == api::kGroup});
  }
  return stored;
}

bool isWatched(const WatchedKind& kind, const json::Value& object) {
  return std::any_of(kind.selectors.begin(), kind.selectors.end(),
                     [&](const LabelSelector& selector) { return selector.matches(object); });
}

}  // namespace dynamo::controller
