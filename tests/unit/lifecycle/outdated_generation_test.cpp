// Worker generations that their graph wants no more (decision ctl-Q70).
#include "common/lifecycle/outdated_generation.h"

#include <catch2/catch.hpp>

#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/reconcile.h"
#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

using json::Value;

std::string services(const std::string& image) {
  const std::string pod = ",'extraPodSpec':{'mainContainer':{'image':'" + image + "'}}}";
  return "{'Worker':{'componentType':'worker'" + pod + ",'Frontend':{'componentType':'frontend'" + pod + "}";
}

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// A graph with a worker and a frontend of the image i:1, and what an earlier release has made for it: each
/// component has a Deployment, whose pods lack what this release renders, and a Service.
class Upgrade {
 public:
  Upgrade() {
    config_.orchestrators.grove.enabled = false;
    facts_.setApi(render::Api::Grove, false);
    const json::Document graph = parsed(graphText(services("i:1")));
    json::Document memory;
    const GraphReconcile plan = planGraphReconcile(graph, {}, context(), kNow, memory.GetAllocator());
    hash = plan.workerHash;
    for (const render::Child& child : plan.children.items) {
      if (child.key.kind != api::kDynamoComponentDeployment) continue;
      json::Document made;
      made.CopyFrom(child.object, made.GetAllocator());
      const json::Maker make{made.GetAllocator()};
      Value& metadata = *json::find(made, "metadata");
      make.set(metadata, "uid", "uid-" + child.key.name);
      make.set(metadata, "generation", 2);
      texts_[child.service] = json::dump(made);
    }
  }

  std::string hash;  ///< of the workers of the image i:1

  std::string component(const std::string& service) const { return texts_.at(service); }

  /// Reconciles `component`, which has `replicas` and whose status is of its generation `seen`. Its
  /// Deployment has `live` replicas. `graph`: text; empty: there is none.
  ComponentReconcile reconcile(std::string component, const std::string& graph, int replicas, int seen,
                               int live, std::vector<Ending> failures = {}) {
    deployment_ = parsed(std::move(component));
    const json::Maker make{deployment_.GetAllocator()};
    make.set(*json::find(deployment_, "spec"), "replicas", replicas);
    make.set(deployment_, "status", make.object("observedGeneration", seen));
    const std::string owner =
        "'namespace':'ns','generation':3,'ownerReferences':[{'controller':true,'uid':'" +
        std::string{uidOf(deployment_)} + "'}]";
    const std::string name{nameOf(deployment_)};
    const std::string count = std::to_string(live);
    observed_ = Objects{};
    observed_.add("{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'" + name + "'," + owner +
                  "},'spec':{'replicas':" + count + "},'status':{'observedGeneration':3,'replicas':" + count +
                  ",'readyReplicas':" + count + ",'availableReplicas':" + count + "}}");
    observed_.add("{'apiVersion':'v1','kind':'Service','metadata':{'name':'" + name + "'," + owner + "}}");
    observed_.add(json::dump(deployment_));
    if (!graph.empty()) observed_.add(graph);
    ComponentReconcile plan = planComponentReconcile(deployment_, observed_.view(), context());
    outcome = finishComponentReconcile(
        deployment_, plan, {{observed_.view().begin(), observed_.view().end()}, std::move(failures)},
        context(), kNow, memory_.GetAllocator());
    return plan;
  }

  Outcome outcome;

 private:
  render::Context context() const { return {config_, defaults_, facts_}; }

  config::OperatorConfig config_ = config::defaultConfig();
  model::ComponentDefaults defaults_{};
  render::Facts facts_;
  std::map<std::string, std::string> texts_;
  json::Document deployment_;
  json::Document memory_;
  Objects observed_;
};

/// The children that are applied.
std::string appliedOf(const render::Children& children) {
  std::string text;
  for (const render::Child& child : children.items) {
    if (child.policy == render::Policy::Applied) text += (text.empty() ? "" : " ") + child.key.kind;
  }
  return text;
}

TEST_CASE("workers that the graph wants no more are not rendered again (decision ctl-Q70)") {
  Upgrade upgrade;
  const std::string worker = upgrade.component("Worker");
  const auto renamed = [&](const std::string& name, const std::string& hash) {
    std::string text = worker;
    replaceAll(text, "g-worker-" + upgrade.hash, name);
    replaceAll(text, upgrade.hash, hash);
    return text;
  };
  std::string legacy = renamed("g-worker", "");
  replaceAll(legacy, "\"nvidia.com/dynamo-worker-hash\":\"\",", "");
  replaceAll(legacy, ",\"nvidia.com/dynamo-worker-hash\":\"\"", "");
  const std::string earlier = renamed("g-worker-0123abcd", "0123abcd");
  const std::string same = graphText(services("i:1"), upgrade.hash);
  std::string deleted = graphText(services("i:2"), upgrade.hash);
  replaceAll(deleted, "'metadata':{", "'metadata':{'deletionTimestamp':'t',");
  std::string foreign = graphText(services("i:2"), upgrade.hash);
  replaceAll(foreign, "'uid':'u'", "'uid':'v'");
  const char* rendered = "Deployment Service";
  struct Row {
    const char* name;
    std::string component;
    std::string graph;
    bool outdated;
  };
  const Row rows[] = {
      {"the graph wants them", worker, same, false},
      {"the image has changed", worker, graphText(services("i:2"), upgrade.hash), true},
      {"a rolling update back to them", worker, graphText(services("i:1"), "fedcba98"), false},
      {"the hash of an earlier release, of the same content", earlier, graphText(services("i:1"), "0123abcd"),
       false},
      {"the hash of an earlier release, of another content", earlier, graphText(services("i:2"), "0123abcd"),
       true},
      {"a release without hashes", legacy, graphText(services("i:1")), true},
      {"a frontend", upgrade.component("Frontend"), graphText(services("i:2"), upgrade.hash), false},
      {"the graph is not known", worker, "", false},
      {"the graph is being deleted", worker, deleted, false},
      {"a graph of the same name", worker, foreign, false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const ComponentReconcile plan = upgrade.reconcile(row.component, row.graph, 1, 2, 1);
    CHECK(plan.children.errors.empty());
    CHECK(plan.outdated == row.outdated);
    CHECK(appliedOf(plan.children) == (row.outdated ? "" : rendered));
    CHECK(upgrade.outcome.writes.empty());
  }
}

TEST_CASE("outdated workers are scaled (decision ctl-Q70)") {
  Upgrade upgrade;
  const std::string worker = upgrade.component("Worker");
  const std::string graph = graphText(services("i:2"), upgrade.hash);
  const std::string patch = "patch Deployment/g-worker-" + upgrade.hash + " {\"spec\":{\"replicas\":";
  struct Row {
    const char* name;
    int replicas;
    int seen;  ///< status.observedGeneration; the generation is 2
    int live;
    std::string write;
    bool status;
  };
  const Row rows[] = {
      {"the Deployment has the number", 2, 1, 2, "", true},
      {"a new number", 1, 1, 2, patch + "1}}\n", false},
      {"somebody has scaled the Deployment since", 2, 2, 5, "", true},
      {"no replicas: whoever has scaled it", 0, 2, 5, patch + "0}}\n", false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    upgrade.reconcile(worker, graph, row.replicas, row.seen, row.live);
    CHECK(writesOf(upgrade.outcome.writes) == row.write);
    CHECK(upgrade.outcome.status.has_value() == row.status);
  }
  // Also if a child is refused.
  upgrade.reconcile(worker, graph, 0, 1, 2, {Permanent{"Service ns/c: denied"}});
  CHECK(writesOf(upgrade.outcome.writes) == patch + "0}}\n");
  CHECK(upgrade.outcome.status.has_value());
}

TEST_CASE("children of others are not kept, and nothing is scaled without a Deployment") {
  Upgrade upgrade;
  json::Document deployment = parsed(upgrade.component("Worker"));
  render::Children children;
  children.add(
      json::copy(parsed("{'apiVersion':'v1','kind':'Service','metadata':{'name':'s','namespace':'ns'}}"),
                 children.memory()));
  const Objects foreign{{"{'apiVersion':'v1','kind':'Service','metadata':{'name':'s','namespace':'ns'}}"}};
  keepChildren(deployment, foreign.view(), children);
  CHECK(children.items.front().policy == render::Policy::Applied);
  json::Document memory;
  CHECK_FALSE(scaleOutdated(deployment, nullptr, memory.GetAllocator()));
}

}  // namespace
}  // namespace dynamo::lifecycle::test
