// Whole reconciles: one call per reconcile, against a cluster that stores what is applied.
#include "common/lifecycle/reconcile.h"

#include <catch2/catch.hpp>
#include <map>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

using json::Value;

const std::string kWorker =
    "{'Worker':{'componentType':'worker','replicas':1,'extraPodSpec':{'mainContainer':{'image':'i:1'}}}}";

/// A cluster with one graph and a controller for it. Pods of components become ready at once.
class Cluster {
 public:
  explicit Cluster(const std::string& graph) : graph_(parsed(graph)) {
    config_.orchestrators.grove.enabled = false;
    facts_.setApi(render::Api::Grove, false);
  }

  /// The graph has the annotation that selects Grove.
  void useGrove() {
    config_.orchestrators.grove.enabled = true;
    facts_.setApi(render::Api::Grove, true);
    const json::Maker make{graph_.GetAllocator()};
    make.set(*json::find(graph_, "metadata"), "annotations",
             make.object(api::annotation::kEnableGrove, "true"));
  }

  /// Graphs get the account of the planner, which they share.
  void bindPlanner() { config_.rbac.plannerClusterRoleName = "planner"; }

  json::Document& graph() { return graph_; }
  std::vector<Ending> failures;  ///< of the next writes of children
  int applied = 0;               ///< calls of the function that writes children

  /// What a controller does for each key of its queue: one call, then the writes of the outcome.
  Reconciled reconcileOnce() {
    json::Allocator& memory = memory_.GetAllocator();
    Reconciled result = reconcileGraph(
        graph_, objects(), context(), kNow, [&](const render::Children& children) { return apply(children); },
        memory);
    for (const Write& write : result.outcome.writes) carryOut(write);
    if (result.outcome.status) set(graph_, "status", *result.outcome.status);
    return result;
  }

  void add(const std::string& text) {
    const json::Document object = parsed(text);
    store(object);
  }

  /// The status of every component as its controller would write it.
  void becomeReady() {
    const json::Maker make{memory_.GetAllocator()};
    for (auto& [name, object] : objects_) {
      if (json::findText(&object, "kind") != api::kDynamoComponentDeployment) continue;
      const std::int64_t replicas = countAt(specOf(object), "replicas", 1);
      Value status = make.object("observedGeneration", 1, "conditions",
                                 make.list(make.object("type", "Available", "status", "True")));
      make.set(status, "service",
               make.object("componentKind", "Deployment", "componentName", nameOf(object), "replicas",
                           replicas, "readyReplicas", replicas, "availableReplicas", replicas));
      make.set(object, "status", std::move(status));
    }
  }

  std::string names(std::string_view kind) const {
    std::string text;
    for (const auto& [name, object] : objects_) {
      if (json::findText(&object, "kind") == kind) text += (text.empty() ? "" : " ") + name;
    }
    return text;
  }

  const Value& object(const std::string& name) const { return objects_.at(name); }

 private:
  render::Context context() const { return {config_, defaults_, facts_}; }

  std::vector<const Value*> objects() const {
    std::vector<const Value*> all;
    for (const auto& [name, object] : objects_) all.push_back(&object);
    return all;
  }

  void set(Value& object, std::string_view key, const Value& value) {
    json::set(object, key, json::copy(value, memory_.GetAllocator()), memory_.GetAllocator());
  }

  void store(const Value& object) {
    Value copy = json::copy(object, memory_.GetAllocator());
    Value* metadata = json::find(copy, "metadata");
    if (json::find(metadata, "generation") == nullptr) set(*metadata, "generation", Value{1});
    const std::string name{nameOf(copy)};
    if (const auto old = objects_.find(name); old != objects_.end()) {
      if (const Value* status = statusOf(old->second)) set(copy, "status", *status);
    }
    objects_[name] = std::move(copy);
  }

  Applied apply(const render::Children& children) {
    ++applied;
    for (const std::size_t i : render::creationOrder(children)) {
      const Value& child = children.items[i].object;
      if (json::findText(&child, "kind") == api::kDynamoComponentDeployment) store(child);
    }
    return {objects(), failures};
  }

  void carryOut(const Write& write) {
    if (write.verb == Write::Verb::Delete) {
      REQUIRE(objects_.erase(write.target.key.name) == 1);
      return;
    }
    REQUIRE(write.verb == Write::Verb::Patch);
    Value& target =
        write.target.key.kind == api::kDynamoGraphDeployment ? graph_ : objects_.at(write.target.key.name);
    mergePatch(target, write.patch, memory_.GetAllocator());
  }

  config::OperatorConfig config_ = config::defaultConfig();
  model::ComponentDefaults defaults_{};
  render::Facts facts_;
  json::Document graph_;
  json::Document memory_;
  std::map<std::string, Value> objects_;
};

std::string_view stateOf(Cluster& cluster) {
  return json::findText(statusOf(cluster.graph()), "state");
}

void setImage(Cluster& cluster, const char* image) {
  Value& spec = *json::find(cluster.graph(), "spec");
  Value& worker = *json::find(*json::find(spec, "services"), "Worker");
  Value& container = *json::find(*json::find(worker, "extraPodSpec"), "mainContainer");
  json::set(container, "image", json::string(image, cluster.graph().GetAllocator()),
            cluster.graph().GetAllocator());
}

TEST_CASE("one call per reconcile returns children, status and the next reconcile") {
  Cluster cluster{graphText(kWorker)};
  const Reconciled first = cluster.reconcileOnce();
  REQUIRE(first.children.errors.empty());
  CHECK_FALSE(first.children.items.empty());
  CHECK(first.outcome.failures.empty());
  CHECK_FALSE(first.outcome.requeueAfter);
  CHECK(stateOf(cluster) == "pending");
  cluster.becomeReady();
  cluster.reconcileOnce();
  CHECK(stateOf(cluster) == "successful");
  const Reconciled last = cluster.reconcileOnce();
  CHECK(cluster.applied == 3);
  CHECK(last.outcome.writes.empty());
  CHECK_FALSE(last.outcome.status);
  CHECK(last.outcome.events.empty());
}

TEST_CASE("reconciles carry out a rolling update from its start to its end") {
  Cluster cluster{graphText(kWorker)};
  cluster.reconcileOnce();
  cluster.becomeReady();
  cluster.reconcileOnce();
  const std::string old = cluster.names(api::kDynamoComponentDeployment);
  setImage(cluster, "i:2");
  const Reconciled start = cluster.reconcileOnce();
  CHECK(stateOf(cluster) == "pending");
  CHECK(eventsOf(start.outcome.events).find("RollingUpdateStarted") != std::string::npos);
  CHECK(cluster.names(api::kDynamoComponentDeployment).find(old) != std::string::npos);
  CHECK(cluster.names(api::kDynamoComponentDeployment).size() == 2 * old.size() + 1);
  for (int i = 0; i < 4; ++i) {
    cluster.becomeReady();
    cluster.reconcileOnce();
  }
  CHECK(stateOf(cluster) == "successful");
  CHECK(cluster.names(api::kDynamoComponentDeployment).size() == old.size());
  CHECK(cluster.names(api::kDynamoComponentDeployment) != old);
}

TEST_CASE("workers keep the hash of an earlier release until the user changes them (quirk ctl-Q31)") {
  Cluster cluster{graphText(kWorker)};
  cluster.reconcileOnce();
  const std::string computed = cluster.names(api::kDynamoComponentDeployment);
  const Value& made = cluster.object(computed);
  std::string text = json::dump(made);
  const std::string hash = computed.substr(computed.rfind('-') + 1);
  for (std::size_t at = text.find(hash); at != std::string::npos; at = text.find(hash, at))
    text.replace(at, 8, "earlier1");

  Cluster later{graphText(kWorker, "earlier1")};
  later.add(text);
  for (int i = 0; i < 3; ++i) {
    later.becomeReady();
    const Reconciled result = later.reconcileOnce();
    CHECK(result.outcome.writes.empty());
  }
  CHECK(stateOf(later) == "successful");
  CHECK(later.names(api::kDynamoComponentDeployment) == "g-worker-earlier1");

  setImage(later, "i:2");
  later.reconcileOnce();
  CHECK(later.names(api::kDynamoComponentDeployment).size() == 2 * computed.size() + 1);
}

TEST_CASE("a requested restart reaches the children in the same reconcile (quirk ctl-Q41)") {
  Cluster cluster{graphText(kWorker)};
  cluster.reconcileOnce();
  cluster.becomeReady();
  cluster.reconcileOnce();
  Value& spec = *json::find(cluster.graph(), "spec");
  const json::Document request = parsed("{'id':'r1'}");
  json::set(spec, "restart", json::copy(request, cluster.graph().GetAllocator()),
            cluster.graph().GetAllocator());
  cluster.reconcileOnce();
  const Value& component = cluster.object(cluster.names(api::kDynamoComponentDeployment));
  CHECK(json::findText(json::find(specOf(component), "annotations"), "nvidia.com/restartAt") == "r1");
  CHECK(json::findText(json::find(statusOf(cluster.graph()), "restart"), "phase") == "Restarting");
  cluster.reconcileOnce();
  CHECK(stateOf(cluster) == "successful");
}

TEST_CASE("services whose children have the same key are not written, and are named (decision ctl-Q69)") {
  const std::string two =
      "{'Worker':{'componentType':'worker','replicas':1,'extraPodSpec':{'mainContainer':{'image':'i:1'}}},"
      "'worker':{'componentType':'worker','replicas':2,'extraPodSpec':{'mainContainer':{'image':'i:2'}}},"
      "'Frontend':{'componentType':'frontend','extraPodSpec':{'mainContainer':{'image':'i:1'}}}}";
  const std::string named = R"(services "Worker", "worker" have the same child)";
  SECTION("on Deployments") {
    Cluster cluster{graphText(two)};
    const Reconciled result = cluster.reconcileOnce();
    CHECK(cluster.names(api::kDynamoComponentDeployment) == "g-frontend");
    CHECK(stateOf(cluster) == "failed");
    REQUIRE_FALSE(result.outcome.failures.empty());
    CHECK(messageOf(result.outcome.failures[0]).find(named) != std::string::npos);
    const std::size_t events = result.outcome.events.size();
    CHECK(events == 1);
    CHECK(cluster.reconcileOnce().outcome.events.empty());
  }
  SECTION("on Grove") {
    Cluster cluster{graphText(two)};
    cluster.useGrove();
    const Reconciled result = cluster.reconcileOnce();
    CHECK(cluster.names("PodCliqueSet").empty());
    REQUIRE_FALSE(result.outcome.failures.empty());
    CHECK(messageOf(result.outcome.failures[0]).find(named) != std::string::npos);
  }
}

TEST_CASE("children that are no longer rendered are deleted, but not after a failure (quirk child-Q24)") {
  Cluster cluster{graphText(kWorker)};
  const std::string ingress =
      "{'apiVersion':'networking.k8s.io/"
      "v1','kind':'Ingress','metadata':{'name':'left','namespace':'ns','ownerReferences':[{"
      "'controller':true,'uid':'u'}]}}";
  cluster.add(ingress);
  cluster.failures = {Permanent{"denied"}};
  const Reconciled failed = cluster.reconcileOnce();
  CHECK_FALSE(failed.outcome.failures.empty());
  CHECK(stateOf(cluster) == "failed");
  CHECK(cluster.names("Ingress") == "left");
  cluster.failures.clear();
  cluster.reconcileOnce();
  CHECK(cluster.names("Ingress").empty());
}

TEST_CASE(
    "after a change to Grove, components are deleted although they control Services of the graph (quirk "
    "child-Q23)") {
  Cluster cluster{graphText(kWorker)};
  cluster.useGrove();
  cluster.add(Component{}.text());
  cluster.failures = {
      Permanent{"Service n/g-frontend is controlled by DynamoComponentDeployment g-frontend"}};
  cluster.reconcileOnce();
  CHECK(cluster.names(api::kDynamoComponentDeployment) == "g-worker-new");
  cluster.add(
      "{'apiVersion':'grove.io/"
      "v1alpha1','kind':'PodCliqueSet','metadata':{'name':'g','namespace':'ns','ownerReferences':[{"
      "'controller':true,'uid':'u'}]}}");
  cluster.reconcileOnce();
  CHECK(cluster.names(api::kDynamoComponentDeployment).empty());
}

TEST_CASE("errors of rendering and missing claims fail the reconcile") {
  Cluster broken{graphText("{'Worker':null}")};
  CHECK_FALSE(broken.reconcileOnce().outcome.failures.empty());
  CHECK(conditionsOf(*statusOf(broken.graph())).find("a service must not be null") != std::string::npos);
  Cluster missing{graphText(kWorker, "", "{}", ",'pvcs':[{'name':'data'}]")};
  missing.reconcileOnce();
  CHECK(conditionsOf(*statusOf(missing.graph())) ==
        "Ready=False failed_to_reconcile_the_resources: PersistentVolumeClaim \"data\" does not exist\n");
  missing.add("{'kind':'PersistentVolumeClaim','metadata':{'name':'data'}}");
  missing.reconcileOnce();
  CHECK(stateOf(missing) == "pending");
}

TEST_CASE(
    "without an object that the graph refers to, only claims and shared objects are written (quirk "
    "child-Q25)") {
  Cluster cluster{graphText("{'Planner':{'componentType':'planner'},'Worker':{'componentType':'worker'}}", "",
                            "{}", ",'pvcs':[{'name':'ours','create':true},{'name':'theirs'}]")};
  cluster.bindPlanner();
  const auto written = [&] {
    std::string text;
    for (const render::Child& child : cluster.reconcileOnce().children.items)
      text += child.key.kind + "/" + child.key.name + "\n";
    return text;
  };
  CHECK(written() ==
        "ServiceAccount/planner-serviceaccount\n"
        "RoleBinding/planner-serviceaccount-binding\n"
        "PersistentVolumeClaim/ours\n");
  CHECK(cluster.names(api::kDynamoComponentDeployment).empty());
  CHECK_FALSE(json::findText(annotationsOf(cluster.graph()), api::annotation::kCurrentWorkerHash).empty());
  cluster.add("{'kind':'PersistentVolumeClaim','metadata':{'name':'theirs'}}");
  CHECK(written().find("DynamoComponentDeployment/g-worker-") != std::string::npos);
}

TEST_CASE("a claim that a service mounts is awaited, although spec.pvcs does not list it (quirk dec-1)") {
  Cluster cluster{
      graphText("{'Frontend':{'componentType':'frontend'},'Worker':{'componentType':'worker',"
                "'volumeMounts':[{'name':'weights','mountPoint':'/w'}]}}")};
  CHECK(cluster.reconcileOnce().children.items.empty());
  CHECK(conditionsOf(*statusOf(cluster.graph())) ==
        "Ready=False failed_to_reconcile_the_resources: service Worker mounts PersistentVolumeClaim "
        "\"weights\", "
        "which does not exist\n");
  cluster.add("{'kind':'PersistentVolumeClaim','metadata':{'name':'weights'}}");
  cluster.reconcileOnce();
  CHECK(stateOf(cluster) == "pending");
  CHECK(cluster.names(api::kDynamoComponentDeployment).find("g-worker-") != std::string::npos);
}

TEST_CASE("an object that is being deleted gets no children (quirk ctl-Q1)") {
  std::string text = graphText(kWorker);
  text.replace(text.find("'metadata':{"), 12,
               "'metadata':{'deletionTimestamp':'t','finalizers':['nvidia.com/finalizer'],");
  Cluster cluster{text};
  const Reconciled result = cluster.reconcileOnce();
  CHECK(cluster.applied == 0);
  CHECK(result.children.items.empty());
  CHECK(writesOf(result.outcome.writes) ==
        "patch DynamoGraphDeployment/g@7 {\"metadata\":{\"finalizers\":[]}}\n");
}

TEST_CASE("a component is reconciled in one call, too") {
  const json::Document deployment = parsed(
      "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoComponentDeployment','metadata':{'name':'c',"
      "'namespace':'ns','uid':'u','generation':1},'spec':{'componentType':'frontend','replicas':1,"
      "'extraPodSpec':{'mainContainer':{'image':'i'}}}}");
  const std::string owner = "'ownerReferences':[{'controller':true,'uid':'u'}]";
  const Objects observed{
      {"{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'c','namespace':'ns','generation':1," +
           owner +
           "},'spec':{'replicas':1},'status':{'observedGeneration':1,'replicas':1,'updatedReplicas':1,"
           "'readyReplicas':1,'availableReplicas':1,'conditions':[{'type':'Available','status':'True'}]}}",
       "{'apiVersion':'leaderworkerset.x-k8s.io/"
       "v1','kind':'LeaderWorkerSet','metadata':{'name':'c-0','namespace':'ns'," +
           owner + "}}"}};
  const config::OperatorConfig config = config::defaultConfig();
  const model::ComponentDefaults defaults{};
  const render::Facts facts;
  json::Document memory;
  std::vector<Ending> failures;
  const auto reconcile = [&] {
    return reconcileComponent(
        deployment, observed.view(), {config, defaults, facts}, kNow,
        [&](const render::Children&) {
          return Applied{{observed.view().begin(), observed.view().end()}, failures};
        },
        memory.GetAllocator());
  };
  const Reconciled good = reconcile();
  CHECK_FALSE(good.children.items.empty());
  CHECK(writesOf(good.outcome.writes) == "delete LeaderWorkerSet/c-0\n");
  REQUIRE(good.outcome.status);
  CHECK(conditionsOf(*good.outcome.status).find("Available=True") == 0);
  failures = {Permanent{"denied"}};
  const Reconciled failed = reconcile();
  CHECK_FALSE(failed.outcome.failures.empty());
  CHECK(failed.outcome.writes.empty());
}

/// Reconciles a component of two nodes, whose LeaderWorkerSets are `sets`. Returns its children.
std::string multinodeChildren(int replicas, const std::vector<std::string>& sets, const render::Facts& facts,
                              const config::OperatorConfig& config, Reconciled& result,
                              json::Document& memory, const std::vector<Ending>& failures = {}) {
  const json::Document deployment = parsed(
      "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoComponentDeployment','metadata':{'name':'c',"
      "'namespace':'ns','uid':'u','generation':1},'spec':{'componentType':'worker','multinode':{'nodeCount':"
      "2},"
      "'replicas':" +
      std::to_string(replicas) +
      ",'extraPodSpec':{'mainContainer':{'image':'i','command':['python3','-m','dynamo.vllm'],'args':['--"
      "model',"
      "'m']}}}}");
  const model::ComponentDefaults defaults{};
  const Objects observed{sets};
  result = reconcileComponent(
      deployment, observed.view(), {config, defaults, facts}, kNow,
      [&](const render::Children&) {
        return Applied{{observed.view().begin(), observed.view().end()}, failures};
      },
      memory.GetAllocator());
  std::string names;
  for (const render::Child& child : result.children.items) {
    if (child.key.kind == "LeaderWorkerSet" || child.key.kind == "Deployment" || child.key.kind == "PodGroup")
      names += (names.empty() ? "" : " ") + child.key.kind + "/" + child.key.name;
  }
  return names;
}

std::string setOfComponent(int number, int ready) {
  return "{'apiVersion':'leaderworkerset.x-k8s.io/v1','kind':'LeaderWorkerSet','metadata':{'name':'c-" +
         std::to_string(number) +
         "','namespace':'ns','uid':'s','generation':1,'ownerReferences':[{'uid':'u','controller':true}]},"
         "'spec':{'replicas':1},'status':{'replicas':1,'updatedReplicas':" +
         std::to_string(ready) + ",'readyReplicas':" + std::to_string(ready) +
         ",'conditions':[{'type':'Available','status':'True'}]}}";
}

TEST_CASE("a component with fewer replicas keeps the LeaderWorkerSets that serve (decision ctl-Q54)") {
  const config::OperatorConfig config = config::defaultConfig();
  const render::Facts facts;
  json::Document memory;
  Reconciled result;
  const std::vector<std::string> sets = {setOfComponent(0, 0), setOfComponent(1, 0), setOfComponent(2, 1)};
  CHECK(multinodeChildren(1, sets, facts, config, result, memory) == "PodGroup/c-2 LeaderWorkerSet/c-2");
  CHECK(writesOf(result.outcome.writes) == "delete LeaderWorkerSet/c-0\ndelete LeaderWorkerSet/c-1\n");
  REQUIRE(result.outcome.status);
  CHECK(conditionsOf(*result.outcome.status).find("Available=True") == 0);
  CHECK(json::findText(json::find(*result.outcome.status, "service"), "componentName") == "c-2");
}

TEST_CASE("fewer replicas on several nodes end although another child is refused (decision ctl-Q65)") {
  const config::OperatorConfig config = config::defaultConfig();
  const render::Facts facts;
  json::Document memory;
  Reconciled result;
  const std::vector<std::string> sets = {setOfComponent(0, 1), setOfComponent(1, 1)};
  multinodeChildren(0, sets, facts, config, result, memory, {Permanent{"Service ns/c: denied"}});
  CHECK(writesOf(result.outcome.writes) == "delete LeaderWorkerSet/c-0\ndelete LeaderWorkerSet/c-1\n");
  REQUIRE(result.outcome.status);
  CHECK(json::find(*json::find(*result.outcome.status, "service"), "readyReplicas")->GetInt64() == 2);
  CHECK_FALSE(result.outcome.failures.empty());
}

TEST_CASE("sets of a deleted component of the same name are not counted (quirk ctl-Q8)") {
  const config::OperatorConfig config = config::defaultConfig();
  const render::Facts facts;
  json::Document memory;
  Reconciled result;
  std::string earlier = setOfComponent(0, 1);
  earlier.replace(earlier.find("'uid':'u'"), 9, "'uid':'before'");
  multinodeChildren(2, {earlier, setOfComponent(1, 1)}, facts, config, result, memory);
  REQUIRE(result.outcome.status);
  const json::Value& service = *json::find(*result.outcome.status, "service");
  CHECK(json::find(service, "readyReplicas")->GetInt64() == 1);
  CHECK(conditionsOf(*result.outcome.status).find("c-0: does not exist yet") != std::string::npos);
}

TEST_CASE("a component keeps its LeaderWorkerSets if their API is gone (decision dec-21)") {
  config::OperatorConfig config = config::defaultConfig();
  render::Facts facts;
  facts.setApi(render::Api::LeaderWorkerSet, false);
  facts.setDiscovered();
  json::Document memory;
  Reconciled result;
  CHECK(multinodeChildren(1, {setOfComponent(0, 1)}, facts, config, result, memory).empty());
  CHECK(result.outcome.writes.empty());
  CHECK_FALSE(result.outcome.failures.empty());
  REQUIRE(result.outcome.status);
  CHECK(conditionsOf(*result.outcome.status).find("needs LeaderWorkerSet and Volcano") != std::string::npos);
  // Without sets, or if the configuration turns them off, it runs as a Deployment.
  CHECK(multinodeChildren(1, {}, facts, config, result, memory) == "Deployment/c");
  config.orchestrators.lwsEnabled = false;
  CHECK(multinodeChildren(1, {setOfComponent(0, 1)}, facts, config, result, memory) == "Deployment/c");
  CHECK(writesOf(result.outcome.writes) == "delete LeaderWorkerSet/c-0\n");
}

}  // namespace
}  // namespace dynamo::lifecycle::test
