// Renders the PodCliqueSet of a graph (Grove pathway), with one clique per role of a service.
// Quirks pod-Q21, pod-Q22, child-Q8, child-Q34, child-Q35.
#include <fmt/format.h>

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/k8s/duration.h"
#include "common/k8s/names.h"
#include "common/model/names.h"
#include "common/render/hash.h"
#include "common/render/metadata.h"
#include "common/render/object.h"
#include "common/render/workloads.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

struct CliqueRole {
  std::string name;
  Role role;
  Value replicas;
};

bool kaiEnabled(const Context& context) {
  const std::optional<bool> configured = context.config.orchestrators.kaiSchedulerEnabled;
  return configured ? *configured : context.facts.api(Api::KaiScheduler).value_or(false);
}

class Cliques {
 public:
  Cliques(const Value& graph, const Context& context, Children& children, Allocator& allocator)
      : graph_(graph),
        context_(context),
        children_(children),
        make_(allocator),
        cliques_(make_.list()),
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
    Value group = make_.object("name", base, "cliqueNames", make_.list(leader, worker), "minAvailable", 1);
    if (given != nullptr) make_.set(group, "replicas", *given);
    make_.push(groups_, std::move(group));
  }

  /// The spec.template of the PodCliqueSet.
  Value take() {
    Value body = make_.object("cliques", std::move(cliques_), "cliqueStartupType",
                              ordered_ ? "CliqueStartupTypeExplicit" : "CliqueStartupTypeAnyOrder",
                              "headlessServiceConfig", make_.object("publishNotReadyAddresses", true));
    if (!groups_.Empty()) make_.set(body, "podCliqueScalingGroups", std::move(groups_));
    const k8s::Duration delay = context_.config.orchestrators.grove.terminationDelay;
    if (delay.count() > 0) make_.set(body, "terminationDelay", k8s::formatDuration(delay));
    return body;
  }

  std::vector<Origins> takeOrigins() { return std::move(origins_); }

 private:
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
    Value spec = make_.object("roleName", role.name, "replicas", std::move(role.replicas), "minAvailable", 1,
                              "podSpec", std::move(pod.spec));
    // mpirun of the leader needs the SSH servers of the workers.
    if (role.role == Role::Leader && component.framework.name == model::kTrtllm) {
      ordered_ = true;
      make_.set(spec, "startsAfter", make_.list(k8s::lowerAscii(component.key) + "-wkr"));
    }
    Value clique = make_.object("name", role.name, "labels", std::move(labels), "spec", std::move(spec));
    if (!annotations.ObjectEmpty()) make_.set(clique, "annotations", std::move(annotations));
    make_.push(cliques_, std::move(clique));
    if (pod.origins) origins_.push_back(std::move(*pod.origins));
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
  const Context& context_;
  Children& children_;
  bool queueReported_ = false;
  json::Maker make_;
  Value cliques_;
  Value groups_;
  std::vector<Origins> origins_;
  bool ordered_ = false;
};

}  // namespace

void renderPodCliqueSet(const Value& graph, const std::vector<Component>& components, const Context& context,
                        Children& children) {
  Allocator& allocator = children.memory();
  const std::size_t before = children.errors.size();
  Cliques cliques{graph, context, children, allocator};
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
