#include "controller/view/object_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/request.h"
#include "common/lifecycle/request_status.h"
#include "controller/view/checkpoint_users.h"
#include "controller/view/status_node.h"

namespace dynamo::view {
namespace {

using json::Value;
using lifecycle::nameOf;
using lifecycle::specOf;
using lifecycle::statusOf;
using Objects = std::span<const Value* const>;

const Value* find(Objects objects, std::string_view kind, std::string_view name) {
  const auto found = std::find_if(objects.begin(), objects.end(), [&](const Value* object) {
    return json::findText(object, "kind") == kind && nameOf(*object) == name;
  });
  return name.empty() || found == objects.end() ? nullptr : *found;
}

/// The first container of the Job's pods.
std::string_view firstContainer(const Value& job) {
  const Value* pod = json::findObject(json::findObject(specOf(job), "template"), "spec");
  const Value* containers = json::find(pod, "containers");
  if (containers == nullptr || !containers->IsArray() || containers->Empty()) return {};
  return json::findText(containers->Begin(), "name");
}

Node jobNode(const Value& job, Objects objects, Time now) {
  Node node = nodeOf(job, {}, now);
  if (lifecycle::jobState(job) == lifecycle::JobState::Failed)
    node.message = lifecycle::jobFailure(job, firstContainer(job), objects);
  for (const Value* object : objects) {
    if (!lifecycle::isPodOfJob(*object, job)) continue;
    Node pod = nodeOf(*object, {}, now);
    const std::string_view phase = json::findText(statusOf(*object), "phase");
    // The condition Ready of a pod that has ended may still be true.
    if (phase == "Succeeded" || phase == "Failed") {
      pod.ready = phase == "Succeeded";
      pod.state = phase;
    }
    if (phase == "Succeeded") pod.message.clear();
    node.children.push_back(std::move(pod));
  }
  std::sort(node.children.begin(), node.children.end(),
            [](const Node& a, const Node& b) { return a.name < b.name; });
  return node;
}

/// Adds the Job of the object. A Job that has ended may be collected. Until then it should exist.
void addJob(std::vector<Node>& nodes, const Value& owner, std::string_view name, bool expected,
            Objects objects, Time now) {
  if (const Value* job = lifecycle::findControlled(objects, "Job", owner)) {
    nodes.push_back(jobNode(*job, objects, now));
  } else if (expected && !name.empty()) {
    nodes.push_back(missingNode("Job", name));
  }
}

Node graphNode(const Value& graph) {
  const GraphSummary summary = summaryOf(graph);
  Node node;
  node.kind = api::kDynamoGraphDeployment;
  node.name = summary.name;
  node.ready = summary.ready;
  node.state = summary.state;
  if (!summary.ready) node.message = summary.message;
  node.replicas = summary.replicas;
  node.created = summary.created;
  return node;
}

std::vector<Node> nodesOfRequest(const Value& request, Objects objects, const render::Context& context,
                                 Time now) {
  namespace phase = lifecycle::request_phase;
  const Value* status = statusOf(request);
  const std::string_view current = lifecycle::requestPhase(request);
  std::vector<Node> nodes;
  addJob(nodes, request, json::findText(status, "profilingJobName"), current == phase::kProfiling, objects,
         now);
  const std::string_view name = json::findText(status, "dgdName");
  const Value* graph = find(objects, api::kDynamoGraphDeployment, name);
  const bool isHere = graph != nullptr && lifecycle::isOfRequest(*graph, request);
  if (const std::string space = lifecycle::graphNamespaceOf(request);
      !isHere && !name.empty() && space != lifecycle::namespaceOf(request)) {
    Node node;
    node.kind = api::kDynamoGraphDeployment;
    node.name = fmt::format("{}/{}", space, name);
    node.ready = current == phase::kDeployed;
    node.state = current;
    node.message = fmt::format("in namespace {}: kubectl dynamo status {} -n {}", space, name, space);
    nodes.push_back(std::move(node));
    return nodes;
  }
  if (isHere) {
    Node node = graphNode(*graph);
    node.children = treeOf(*graph, objects, context, now).nodes;
    nodes.push_back(std::move(node));
  } else if (!name.empty() && (current == phase::kDeploying || current == phase::kDeployed)) {
    nodes.push_back(missingNode(api::kDynamoGraphDeployment, name));
  }
  return nodes;
}

std::vector<Node> nodesOfModel(const Value& model, Objects objects, Time now) {
  std::vector<Node> nodes;
  const Value* endpoints = json::find(statusOf(model), "endpoints");
  if (endpoints == nullptr || !endpoints->IsArray()) return nodes;
  // Nothing is loaded into the pods of a base model, and its endpoints are never called ready.
  const bool loaded = json::findText(specOf(model), "modelType") == "lora";
  for (const Value& endpoint : endpoints->GetArray()) {
    Node node;
    node.kind = "endpoint";
    node.name = json::findText(&endpoint, "address");
    const bool ready = json::findBool(&endpoint, "ready").value_or(false);
    node.ready = ready || !loaded;
    node.state = ready ? "Ready" : loaded ? "NotReady" : "Discovered";
    const std::string_view pod = json::findText(&endpoint, "podName");
    if (const Value* found = find(objects, "Pod", pod)) {
      node.children.push_back(nodeOf(*found, {}, now));
    } else if (!pod.empty()) {
      node.message = "of pod " + std::string{pod};
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<Node> nodesOfCheckpoint(const Value& checkpoint, Objects objects, Time now) {
  const Value* status = statusOf(checkpoint);
  std::vector<Node> nodes;
  addJob(nodes, checkpoint, json::findText(status, "jobName"), json::findText(status, "phase") == "Creating",
         objects, now);
  for (const CheckpointUser& user : usersOf(checkpoint, objects)) {
    Node node = graphNode(*user.graph);
    const Value* services = json::findObject(specOf(*user.graph), "services");
    const Value* observed = json::findObject(statusOf(*user.graph), "services");
    for (const std::string& name : user.services) {
      Node service;
      service.kind = "service";
      service.name = name;
      service.replicas = Counts{lifecycle::countAt(json::findObject(observed, name), "readyReplicas"),
                                lifecycle::countAt(json::findObject(services, name), "replicas", 1)};
      node.children.push_back(std::move(service));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

ObjectTree treeOfObject(const Value& object, Objects objects, const render::Context& context, Time now) {
  ObjectTree tree{.summary = summaryOfObject(object, objects), .nodes = {}};
  if (tree.summary.kind == api::kDynamoGraphDeploymentRequest) {
    tree.nodes = nodesOfRequest(object, objects, context, now);
  } else if (tree.summary.kind == api::kDynamoModel) {
    tree.nodes = nodesOfModel(object, objects, now);
  } else {
    tree.nodes = nodesOfCheckpoint(object, objects, now);
  }
  return tree;
}

}  // namespace dynamo::view
