#include "graph_support.h"

namespace dynamo::lifecycle::test {

std::string graphText(const std::string& services, const std::string& annotation, const std::string& status,
                      const std::string& spec) {
  const std::string annotations =
      annotation.empty() ? "{}" : "{'nvidia.com/current-worker-hash':'" + annotation + "'}";
  return "{'apiVersion':'nvidia.com/"
         "v1alpha1','kind':'DynamoGraphDeployment','metadata':{'name':'g','namespace':"
         "'ns','uid':'u','resourceVersion':'7','generation':1,'annotations':" +
         annotations + "},'spec':{'services':" + services + spec + "},'status':" + status + "}";
}

std::string Component::name() const {
  std::string lower = service == "Worker" ? "g-worker" : "g-frontend";
  return service == "Worker" && !hash.empty() ? lower + '-' + hash : lower;
}

std::string Component::text() const {
  const bool worker = service == "Worker";
  const std::string count = std::to_string(replicas);
  const std::string pods = std::to_string(present < 0 ? replicas : present);
  const bool available = ready >= replicas && !refused;
  const std::string good = std::to_string(ready);
  const std::string label = worker && !hash.empty() ? "'nvidia.com/dynamo-worker-hash':'" + hash + "'" : "";
  return "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoComponentDeployment','metadata':{'name':'" +
         name() + "','namespace':'ns','uid':'uid-" + name() + "','generation':1,'creationTimestamp':'" +
         created + "','labels':{" + label +
         "},'ownerReferences':[{'controller':true,'uid':'u'}]},'spec':{'serviceName':'" + service +
         "','componentType':'" + (worker ? "worker" : "frontend") + "','replicas':" + count +
         (more.empty() ? "" : "," + more) + "},'status':{'observedGeneration':" + (observed ? "1" : "0") +
         ",'conditions':[{'type':'Available','status':'" + (available ? "True" : "False") + "','message':'" +
         (available ? "" : "Deployment is not ready") + "'" +
         (refused ? ",'reason':'Reconciling','observedGeneration':1" : "") +
         "}],'service':{'componentKind':'Deployment','componentName':'" + name() + "','componentNames':['" +
         name() + "'],'replicas':" + pods + ",'updatedReplicas':" + pods + ",'readyReplicas':" + good +
         ",'availableReplicas':" + good + "}}}";
}

GraphView World::view() const {
  GraphView view{.graph = graph, .facts = facts};
  view.grove = grove;
  view.workerHash = hash;
  view.components = components.view();
  view.podCliqueSet = set.IsNull() ? nullptr : &set;
  view.podCliques = cliques.view();
  view.scalingGroups = groups.view();
  view.pods = pods.view();
  return view;
}

GraphPlan World::plan() {
  return planGraph(view(), kNow, memory.GetAllocator());
}

Outcome World::pass(std::vector<Ending> failures) {
  const GraphView seen = view();
  const GraphPlan plan = planGraph(seen, kNow, memory.GetAllocator());
  return graphOutcome(seen, plan, failures, kNow, memory.GetAllocator());
}

void World::keep(const Outcome& outcome) {
  if (outcome.status)
    json::set(graph, "status", json::copy(*outcome.status, graph.GetAllocator()), graph.GetAllocator());
}

}  // namespace dynamo::lifecycle::test
