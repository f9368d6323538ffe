#include "controller/view/status_tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/lifecycle/component_status.h"
#include "common/lifecycle/graph_view.h"
#include "common/lifecycle/missing_references.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/pathway.h"
#include "common/model/names.h"
#include "common/render/hash.h"
#include "controller/view/status_node.h"

namespace dynamo::view {
namespace {

using json::Value;
using lifecycle::labelOf;
using lifecycle::nameOf;
using lifecycle::specOf;
using lifecycle::uidOf;
using Objects = std::vector<const Value*>;

/// The order of the children of one parent.
constexpr std::array<std::string_view, 18> kOrder = {api::kDynamoComponentDeployment,
                                                     "PodCliqueSet",
                                                     "PodCliqueScalingGroup",
                                                     "PodClique",
                                                     "Deployment",
                                                     "LeaderWorkerSet",
                                                     "PodGroup",
                                                     "Job",
                                                     "Pod",
                                                     "Service",
                                                     "Ingress",
                                                     "VirtualService",
                                                     "InferencePool",
                                                     "ConfigMap",
                                                     "PersistentVolumeClaim",
                                                     api::kDynamoCheckpoint,
                                                     api::kDynamoGraphDeploymentScalingAdapter,
                                                     "ServiceAccount"};

// Labels that other controllers set on pods and cliques.
constexpr std::string_view kSetLabel = "leaderworkerset.sigs.k8s.io/name";
constexpr std::string_view kCliqueLabel = "grove.io/podclique";
constexpr std::string_view kScalingGroupLabel = "grove.io/podcliquescalinggroup";

std::string_view kindOf(const Value& object) {
  return json::findText(&object, "kind");
}

Objects ofKind(std::span<const Value* const> objects, std::string_view kind) {
  Objects found;
  std::copy_if(objects.begin(), objects.end(), std::back_inserter(found),
               [&](const Value* object) { return kindOf(*object) == kind; });
  return found;
}

const Value* named(const Objects& objects, std::string_view name) {
  if (name.empty()) return nullptr;
  const auto found =
      std::find_if(objects.begin(), objects.end(), [&](const Value* o) { return nameOf(*o) == name; });
  return found == objects.end() ? nullptr : *found;
}

/// Returns the service for which a child was created; empty: the child belongs to the whole graph.
std::string_view serviceOf(const Value& child) {
  if (kindOf(child) == api::kDynamoComponentDeployment) return json::findText(specOf(child), "serviceName");
  if (kindOf(child) == api::kDynamoGraphDeploymentScalingAdapter)
    return json::findText(json::findObject(specOf(child), "dgdRef"), "serviceName");
  const std::string_view label = labelOf(child, api::label::kComponent);
  if (!label.empty() || kindOf(child) != "Service") return label;
  return json::findText(json::findObject(specOf(child), "selector"), api::label::kComponent);
}

/// Returns the desired worker generation. If no worker has the computed hash, it is the generation in the
/// annotation, because a new release keeps the generation of unchanged workers (quirk ctl-Q31).
std::string workerHashOf(const Value& graph, const Objects& components) {
  json::Document memory;
  std::string computed = render::workerHash(defaults::intent(graph, memory.GetAllocator()));
  const std::string_view stored =
      json::findText(lifecycle::annotationsOf(graph), api::annotation::kCurrentWorkerHash);
  const auto exists = [&](std::string_view hash) {
    return std::any_of(components.begin(), components.end(), [&](const Value* component) {
      return labelOf(*component, api::label::kWorkerHash) == hash;
    });
  };
  return !stored.empty() && exists(stored) && !exists(computed) ? std::string{stored} : computed;
}

bool byOrder(const Value* a, const Value* b) {
  const auto rank = [](const Value* object) {
    return std::find(kOrder.begin(), kOrder.end(), kindOf(*object)) - kOrder.begin();
  };
  return std::pair{rank(a), nameOf(*a)} < std::pair{rank(b), nameOf(*b)};
}

class Builder {
 public:
  Builder(const Value& graph, std::span<const Value* const> objects, const render::Context& context, Time now)
      : graph_(graph),
        now_(now),
        components_(ofKind(objects, api::kDynamoComponentDeployment)),
        deployments_(ofKind(objects, "Deployment")),
        sets_(ofKind(objects, "LeaderWorkerSet")),
        podGroups_(ofKind(objects, "PodGroup")),
        cliques_(ofKind(objects, "PodClique")),
        scalingGroups_(ofKind(objects, "PodCliqueScalingGroup")),
        claims_(ofKind(objects, "PersistentVolumeClaim")),
        pods_(ofKind(objects, "Pod")) {
    const Objects cliqueSets = ofKind(objects, "PodCliqueSet");
    const auto own = std::find_if(cliqueSets.begin(), cliqueSets.end(),
                                  [&](const Value* set) { return lifecycle::isControlledBy(*set, graph); });
    if (own != cliqueSets.end()) cliqueSet_ = *own;
    for (const Value* object : objects) byUid_.emplace(uidOf(*object), object);
    byUid_.emplace(uidOf(graph), &graph);
    for (const Value* object : objects) {
      if (const Value* parent = parentOf(*object)) children_[parent].push_back(object);
    }
    for (auto& [parent, list] : children_) std::sort(list.begin(), list.end(), byOrder);
    // The children that exist show the pathway. The configuration of the controller is not known here.
    const std::optional<bool> present = lifecycle::runsOnGrove(graph, components_, cliqueSet_);
    grove_ = present ? *present : lifecycle::selectsGrove(graph, context, components_, cliqueSet_);
  }

  std::vector<Node> build(const render::Context& context) {
    const std::string hash = workerHashOf(graph_, components_);
    const lifecycle::GraphView view{.graph = graph_,
                                    .grove = grove_,
                                    .workerHash = hash,
                                    .facts = context.facts,
                                    .components = components_,
                                    .podCliqueSet = cliqueSet_,
                                    .podCliques = cliques_,
                                    .scalingGroups = scalingGroups_,
                                    .pods = pods_};
    std::vector<Node> nodes;
    for (const lifecycle::ServiceState& service : lifecycle::serviceStates(view))
      nodes.push_back(serviceNode(service));
    addChildren(graph_, nodes);
    addClaims(nodes);
    return nodes;
  }

 private:
  const Value* withUid(std::string_view uid) const {
    const auto found = byUid_.find(uid);
    return uid.empty() || found == byUid_.end() ? nullptr : found->second;
  }

  /// Returns the object under which `object` is shown, or nullptr if it does not belong to the graph.
  const Value* parentOf(const Value& object) const {
    if (const Value* group = named(scalingGroups_, labelOf(object, kScalingGroupLabel));
        group != nullptr && kindOf(object) == "PodClique") {
      return group;
    }
    const Value* other = nullptr;
    for (const Value& reference : lifecycle::ownersOf(object)) {
      const Value* owner = withUid(json::findText(&reference, "uid"));
      if (owner == nullptr || !lifecycle::isOwner(*owner, reference, object)) continue;
      if (json::findBool(&reference, "controller").value_or(false)) return owner;
      other = owner;
    }
    if (other != nullptr || kindOf(object) != "Pod") return other;
    return parentOfPod(object);
  }

  /// Returns the workload of a pod. ReplicaSets and StatefulSets between them are not observed.
  const Value* parentOfPod(const Value& pod) const {
    if (const Value* set = named(sets_, labelOf(pod, kSetLabel))) return set;
    if (const Value* clique = named(cliques_, labelOf(pod, kCliqueLabel))) return clique;
    const auto component = std::find_if(components_.begin(), components_.end(),
                                        [&](const Value* each) { return lifecycle::isPodOf(pod, *each); });
    if (component == components_.end()) return nullptr;
    const auto deployment = std::find_if(deployments_.begin(), deployments_.end(), [&](const Value* each) {
      return lifecycle::isControlledBy(*each, **component);
    });
    return deployment == deployments_.end() ? *component : *deployment;
  }

  Related relatedTo(const Value& object) const {
    Related related{.podGroup = nullptr, .podCliqueSet = cliqueSet_};
    if (kindOf(object) == "LeaderWorkerSet") related.podGroup = named(podGroups_, nameOf(object));
    return related;
  }

  Node subtree(const Value& object, const Related& related) {
    placed_.insert(&object);
    Node node = nodeOf(object, related, now_);
    addChildren(object, node.children);
    return node;
  }

  /// Adds the children of `parent` that have not been added yet.
  void addChildren(const Value& parent, std::vector<Node>& nodes) {
    const auto found = children_.find(&parent);
    if (found == children_.end()) return;
    for (const Value* child : found->second) {
      if (!placed_.contains(child)) nodes.push_back(subtree(*child, relatedTo(*child)));
    }
  }

  Node serviceNode(const lifecycle::ServiceState& service) {
    Node node;
    node.kind = "service";
    node.name = service.name;
    node.ready = service.readiness.ready;
    node.state = service.readiness.reason;
    if (service.child == nullptr) {
      node.children.push_back(missingNode(service.kind, service.childName));
    } else {
      node.created =
          lifecycle::parseTime(json::findText(lifecycle::metadataOf(*service.child), "creationTimestamp"));
      Related related = relatedTo(*service.child);
      related.desired = service.desired;
      node.children.push_back(subtree(*service.child, related));
    }
    addOfService(service, node);
    Counts replicas;
    for (const Node& child : node.children) {
      if (child.kind == service.kind && child.replicas) replicas.ready += child.replicas->ready;
    }
    const std::optional<Counts> own = node.children.front().replicas;
    replicas.desired = service.desired.value_or(own ? own->desired : 1);
    node.replicas = replicas;
    return node;
  }

  /// Adds the other children of the graph that belong to the service.
  void addOfService(const lifecycle::ServiceState& service, Node& node) {
    if (const auto found = children_.find(&graph_); found != children_.end()) {
      for (const Value* child : found->second) {
        if (placed_.contains(child) || serviceOf(*child) != service.name) continue;
        Node made = subtree(*child, relatedTo(*child));
        if (made.kind == api::kDynamoComponentDeployment) {
          made.earlier = true;
          made.message = made.message.empty() ? "earlier worker generation"
                                              : "earlier worker generation; " + made.message;
        }
        node.children.push_back(std::move(made));
      }
    }
    for (const Value* pod : pods_) {
      if (placed_.contains(pod) || serviceOf(*pod) != service.name || parentOf(*pod) != nullptr ||
          labelOf(*pod, api::label::kGraph) != nameOf(graph_)) {
        continue;
      }
      node.children.push_back(subtree(*pod, {}));
    }
  }

  /// Adds the claims that the graph names, regardless of their owner.
  void addClaims(std::vector<Node>& nodes) {
    for (const std::string_view name : lifecycle::claimsOf(graph_)) {
      const Value* claim = named(claims_, name);
      if (claim == nullptr) {
        nodes.push_back(missingNode("PersistentVolumeClaim", name));
      } else if (!placed_.contains(claim)) {
        nodes.push_back(subtree(*claim, {}));
      }
    }
  }

  const Value& graph_;
  Time now_;
  Objects components_;
  Objects deployments_;
  Objects sets_;
  Objects podGroups_;
  Objects cliques_;
  Objects scalingGroups_;
  Objects claims_;
  Objects pods_;
  const Value* cliqueSet_ = nullptr;
  bool grove_ = false;
  std::map<std::string_view, const Value*> byUid_;
  std::map<const Value*, Objects> children_;
  std::set<const Value*> placed_;
};

}  // namespace

GraphTree treeOf(const Value& graph, std::span<const Value* const> objects, const render::Context& context,
                 Time now) {
  return {summaryOf(graph), Builder{graph, objects, context, now}.build(context)};
}

}  // namespace dynamo::view
