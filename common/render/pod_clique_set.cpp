// Renders the PodCliqueSet of a graph (Grove pathway), with one clique per role of a service.
// Quirks pod-Q21, pod-Q22, child-Q8, child-Q34, child-Q35.
#include <fmt/format.h>

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/k8s/duration.h"
#include "common/k8s/names.h"
#include "common/model/names.h"
#include "common/render/hash.h"
#include "common/render/live_cliques.h"
#include "common/render/metadata.h"
#include "common/render/object.h"
#include "common/render/workloads.h"

namespace dynamo::render {
namespace {

using field::Members;
using json::Allocator;
using json::Value;

struct CliqueRole {
  std::string name;
  Role role;
  Value replicas;
};

/// A rendered clique. The set may have another order than the graph.
struct Clique {
  std::string name;
  Value object;
  std::optional<Origins> origins;
};

std::int64_t numberIn(const Value& value, std::int64_t fallback) {
  return value.IsInt64() ? value.GetInt64() : fallback;
}

bool kaiEnabled(const Context& context) {
  const std::optional<bool> configured = context.config.orchestrators.kaiSchedulerEnabled;
  return configured ? *configured : context.facts.api(Api::KaiScheduler).value_or(false);
}

class Cliques {
 public:
  Cliques(const Value& graph, const Value* liveSet, const Context& context, Children& children,
          Allocator& allocator)
      : graph_(graph),
        live_(liveSet),
        context_(context),
        children_(children),
        make_(allocator),
        groups_(make_.list()) {}

  void add(const Component& component) {
    const std::string base = k8s::lowerAscii(component.key);
    const Value* given = json::find(component.spec, "replicas");
    if (!component.multinode()) {
      addClique(component, {base, Role::Main, given == nullptr ? Value{1} : make_.value(*given)});
      return;
    }
    const std::string leader = base + "-ldr";
    const std::string worker = base + "-wkr";
    addClique(component, {leader, Role::Leader, Value{1}});
    addClique(component, {worker, Role::Worker, make_.value(component.nodes - 1)});
    addGroup(component, base, given, make_.list(leader, worker));
  }

  /// The spec.template of the PodCliqueSet.
  Value take() {
    sort();
    Value cliques = make_.list();
    for (Clique& clique : cliques_) make_.push(cliques, std::move(clique.object));
    std::string_view type = live_.startupType();
    if (type.empty()) type = ordered_ ? "CliqueStartupTypeExplicit" : "CliqueStartupTypeAnyOrder";
    Value body = make_.object("cliques", std::move(cliques), "cliqueStartupType", type,
                              "headlessServiceConfig", make_.object("publishNotReadyAddresses", true));
    if (!groups_.Empty()) make_.set(body, "podCliqueScalingGroups", std::move(groups_));
    const k8s::Duration delay = context_.config.orchestrators.grove.terminationDelay;
    if (delay.count() > 0) make_.set(body, "terminationDelay", k8s::formatDuration(delay));
    return body;
  }

  /// In the order of the cliques that take() returned.
  std::vector<Origins> takeOrigins() {
    std::vector<Origins> origins;
    for (Clique& clique : cliques_) {
      if (clique.origins) origins.push_back(std::move(*clique.origins));
    }
    return origins;
  }

 private:
  /// The order of a set that exists stays: Grove refuses another one if the start is ordered, and counts any
  /// change of it as an update.
  void sort() {
    std::vector<std::string_view> names;
    names.reserve(cliques_.size());
    for (const Clique& clique : cliques_) names.push_back(clique.name);
    const std::vector<std::string_view> wanted = live_.exists() ? live_.order() : cliqueOrder(names);
    const auto position = [&](const Clique& clique) {
      return std::find(wanted.begin(), wanted.end(), clique.name) - wanted.begin();
    };
    std::vector<std::pair<std::ptrdiff_t, std::size_t>> places;
    for (std::size_t i = 0; i < cliques_.size(); ++i) places.emplace_back(position(cliques_[i]), i);
    std::sort(places.begin(), places.end());
    std::vector<Clique> sorted;
    sorted.reserve(cliques_.size());
    for (const auto& [place, index] : places) sorted.push_back(std::move(cliques_[index]));
    cliques_ = std::move(sorted);
  }

  /// Grove refuses a group without replicas. A set that exists keeps the number that it has; its
  /// PodCliqueScalingGroup has its own, which only its scale subresource changes.
  void addGroup(const Component& component, const std::string& name, const Value* replicas, Value&& cliques) {
    const Value* live = live_.group(name);
    const Value* liveMinimum = json::find(live, "minAvailable");
    const std::int64_t minimum = liveMinimum == nullptr ? 1 : numberIn(*liveMinimum, 1);
    Value group = make_.object("name", name, "cliqueNames", std::move(cliques), "minAvailable", minimum);
    const bool tooFew = numberIn(replicas == nullptr ? Value{1} : make_.value(*replicas), 1) < minimum;
    const Value* kept = tooFew && !context_.trial() ? json::find(live, "replicas") : replicas;
    if (kept != nullptr) make_.set(group, "replicas", *kept);
    make_.push(groups_, std::move(group));
    if (!tooFew || live != nullptr || context_.trial()) return;
    children_.errors.push_back(
        {field::ErrorType::Invalid, component.at("replicas").path(), field::showValue(*replicas),
         "Grove needs at least one replica of a service with several nodes", "dgd.grove-replicas"});
  }

  /// Grove refuses changes of minAvailable. In a new set all workers of a replica start together.
  std::int64_t minAvailable(const Component& component, const CliqueRole& role) {
    const std::int64_t replicas = numberIn(role.replicas, 1);
    const auto live = live_.minAvailable(role.name);
    if (!live) return role.role == Role::Worker ? replicas : 1;
    // Grove starts one pod of a clique whose replicas are 0.
    if (std::max<std::int64_t>(replicas, 1) < *live) {
      const bool worker = role.role == Role::Worker;
      const Members field = worker ? Members{"multinode.nodeCount"} : Members{"replicas"};
      children_.errors.push_back(
          {field::ErrorType::Invalid, component.at(field).path(),
           fmt::format("{}", worker ? component.nodes : replicas),
           fmt::format("must be at least {}: PodCliqueSet {} was made with minAvailable {}, which cannot "
                       "change; delete the PodCliqueSet, or give the service another name",
                       *live + (worker ? 1 : 0), model::dashed(nameOf(graph_)), *live),
           "dgd.grove-nodes"});
    }
    return *live;
  }

  void addClique(const Component& component, CliqueRole role) {
    Pod pod = renderPod(component, role.role, context_, children_.errors, make_.allocator());
    if (!pod.good) return;
    Value labels = podLabels(component, model::componentName(component.graph, component.key), pod.recorder(),
                             make_.allocator());
    const Value* identity = json::findObject(json::findObject(&component.spec, "checkpoint"), "identity");
    if (component.checkpoint.enabled && !component.checkpoint.ready && identity != nullptr) {
      make_.set(labels, api::label::kCheckpointHash, identityHash(*identity));
      if (pod.origins) {
        pod.origins->made(field::Path{"metadata.labels"}.key(api::label::kCheckpointHash),
                          field::Path{"checkpoint.identity"});
      }
    }
    addQueue(pod, labels);
    Value annotations =
        podAnnotations(component, pod, BaseAnnotations::OfComponent, pod.recorder(), make_.allocator());
    const std::int64_t minimum = minAvailable(component, role);
    Value spec = make_.object("roleName", role.name, "replicas", std::move(role.replicas), "minAvailable",
                              minimum, "podSpec", std::move(pod.spec));
    addStartOrder(component, role, spec);
    Value clique = make_.object("name", role.name, "labels", std::move(labels), "spec", std::move(spec));
    if (!annotations.ObjectEmpty()) make_.set(clique, "annotations", std::move(annotations));
    cliques_.push_back({role.name, std::move(clique), std::move(pod.origins)});
  }

  /// Grove refuses changes of startsAfter.
  void addStartOrder(const Component& component, const CliqueRole& role, Value& spec) {
    if (const Value* live = live_.clique(role.name)) {
      const Value* after = json::find(json::findObject(live, "spec"), "startsAfter");
      if (after != nullptr) make_.set(spec, "startsAfter", *after);
      return;
    }
    // mpirun of the leader needs the SSH servers of the workers.
    if (role.role != Role::Leader || component.framework.name != model::kTrtllm) return;
    ordered_ = true;
    make_.set(spec, "startsAfter", make_.list(k8s::lowerAscii(component.key) + "-wkr"));
  }

  void addQueue(Pod& pod, Value& labels) {
    Value& podSpec = pod.spec;
    const std::string_view scheduler = json::findText(&podSpec, "schedulerName");
    if ((!scheduler.empty() && scheduler != "kai-scheduler") || !kaiEnabled(context_)) return;
    make_.set(podSpec, "schedulerName", "kai-scheduler");
    const std::string_view queue = model::kaiQueue(annotationsOf(graph_));
    make_.set(labels, api::label::kKaiQueue, queue);
    reportMissingQueue(queue);
    if (!pod.origins) return;
    pod.origins->byOperator(field::Path{"spec.schedulerName"});
    pod.origins->byOperator(field::Path{"metadata.labels"}.key(api::label::kKaiQueue));
  }

  /// Pods of a queue that does not exist are never scheduled (decision dec-7).
  void reportMissingQueue(std::string_view queue) {
    if (!context_.online || queueReported_ || context_.facts.queue(queue).value_or(true)) return;
    queueReported_ = true;
    children_.errors.push_back(
        {field::ErrorType::NotFound, field::Path{"metadata.annotations"}.key(api::annotation::kKaiQueue),
         field::showValue(queue), "the queue of the KAI scheduler does not exist", "render.kai-queue"});
  }

  const Value& graph_;
  LiveCliques live_;
  const Context& context_;
  Children& children_;
  bool queueReported_ = false;
  json::Maker make_;
  std::vector<Clique> cliques_;
  Value groups_;
  bool ordered_ = false;
};

}  // namespace

void renderPodCliqueSet(const Value& graph, const std::vector<Component>& components, const Value* liveSet,
                        const Context& context, Children& children) {
  Allocator& allocator = children.memory();
  const std::size_t before = children.errors.size();
  Cliques cliques{graph, liveSet, context, children, allocator};
  for (const Component& component : components) cliques.add(component);
  const bool decided = std::all_of(components.begin(), components.end(),
                                   [](const Component& c) { return c.framework.error.empty(); });
  if (!decided || children.errors.size() != before) return;
  const json::Maker make{allocator};
  Value set = makeObject("grove.io/v1alpha1", "PodCliqueSet", model::dashed(nameOf(graph)),
                         namespaceOf(graph), allocator);
  setOwner(set, graph, allocator);
  make.set(set, "spec", make.object("replicas", 1, "template", cliques.take()));
  children.add(std::move(set));
  children.items.back().origins = cliques.takeOrigins();
}

}  // namespace dynamo::render
