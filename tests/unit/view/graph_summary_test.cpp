// The state of a graph, one line per graph, and JSON.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "../lifecycle/support.h"
#include "common/config/operator_config.h"
#include "common/model/component_defaults.h"
#include "controller/view/status_text.h"
#include "status_support.h"

namespace dynamo::view::test {

using lifecycle::test::kNow;
using lifecycle::test::parsed;

TEST_CASE("a graph is ready when its condition Ready is true for the latest spec") {
  struct Row {
    std::string what;
    std::string metadata;
    std::string status;
    bool ready;
    std::string message;
  };
  const std::string isTrue = "{'type':'Ready','status':'True','message':'m'";
  const std::vector<Row> rows = {
      {"true, observed", "", "'observedGeneration':3,'conditions':[" + isTrue + "}]", true, "m"},
      {"true, no generation in the status", "", "'conditions':[" + isTrue + "}]", true, "m"},
      {"false", "", "'observedGeneration':3,'conditions':[{'type':'Ready','status':'False','message':'m'}]",
       false, "m"},
      {"true, of an earlier spec", "", "'observedGeneration':2,'conditions':[" + isTrue + "}]", false,
       "its controller has not observed the latest spec"},
      {"the condition is of an earlier spec", "",
       "'observedGeneration':3,'conditions':[" + isTrue + ",'observedGeneration':2}]", false,
       "its controller has not observed the latest spec"},
      {"the latest spec could not be reconciled", "",
       "'observedGeneration':2,'conditions':[{'type':'Ready','status':'False','observedGeneration':3,"
       "'reason':'failed_to_reconcile_the_resources','message':'m'}]",
       false, "m"},
      {"an earlier spec could not be reconciled", "",
       "'observedGeneration':1,'conditions':[{'type':'Ready','status':'False','observedGeneration':2,"
       "'reason':'failed_to_reconcile_the_resources','message':'m'}]",
       false, "its controller has not observed the latest spec"},
      {"no status", "", "", false, "its controller has not reported a status"},
      {"being deleted", ",'deletionTimestamp':'2026-01-02T03:04:05Z'",
       "'observedGeneration':3,'conditions':[" + isTrue + "}]", false, "is being deleted"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const json::Document graph =
        parsed("{'metadata':{'name':'g','generation':3" + row.metadata + "},'status':{" + row.status + "}}");
    const GraphSummary summary = summaryOf(graph);
    CHECK(summary.ready == row.ready);
    CHECK(summary.message == row.message);
  }
}

TEST_CASE("replicas of a graph are those of its services") {
  const json::Document graph = parsed(
      "{'metadata':{},'spec':{'services':{'a':{'replicas':2},'b':{},'c':{'replicas':0},'d':null}},"
      "'status':{'services':{'a':{'readyReplicas':1,'availableReplicas':2},'b':{'availableReplicas':1}}}}");
  CHECK(summaryOf(graph).replicas == Counts{2, 4});
}

TEST_CASE("texts of a graph do not control the terminal") {
  GraphTree tree;
  tree.summary.namespaceName = "demo";
  tree.summary.name = "g\x1b[2J";
  tree.summary.state = "pending\n";
  tree.summary.restart = RestartStatus{"Completed", "\xc2\x9b", {}};
  Node node;
  node.kind = "Pod";
  node.name = "p\x1b[2J";
  node.message = "\x7f";
  tree.nodes = {node};
  const std::string text = toText(tree, {Style{}, kNow, false});
  CHECK(text.starts_with("DynamoGraphDeployment demo/g [2J\n  state     pending \n"));
  CHECK_THAT(text, Catch::Contains("restart   Completed, id  \n") && Catch::Contains("└─ Pod p [2J "));
  CHECK(text.find_first_of("\x1b\x7f") == std::string::npos);
}

TEST_CASE("a list of graphs has one line for each") {
  GraphSummary first;
  first.namespaceName = "demo";
  first.name = "llama";
  first.ready = true;
  first.state = "successful";
  first.message = "All resources are ready";
  first.replicas = {3, 3};
  first.created = kNow - std::chrono::minutes{5};
  GraphSummary second;
  second.namespaceName = "test";
  second.name = "qwen";
  second.state = "pending";
  second.message = "Rolling update in progress";
  second.replicas = {1, 4};
  second.rollingUpdate = RollingUpdateStatus{"InProgress", {}, {}, {}};
  second.restart = RestartStatus{"Superseded", "1", {}};
  const std::vector<GraphSummary> graphs = {first, second};
  CHECK(toText(graphs, true, {Style{}, kNow}) ==
        "NAMESPACE  NAME   READY  REPLICAS  STATE       ROLLING UPDATE  RESTART     AGE  MESSAGE\n"
        "demo       llama  True   3/3       successful  -               -           5m\n"
        "test       qwen   False  1/4       pending     InProgress      Superseded       Rolling update in "
        "progress\n");
  CHECK(toText({graphs.data(), 1}, false, {Style{}, kNow, false}) ==
        "NAME   READY  REPLICAS  STATE       ROLLING UPDATE  RESTART  AGE  MESSAGE\n"
        "llama  True   3/3       successful  -               -\n");
  CHECK(toJson(graphs).starts_with(
      R"([{"kind":"DynamoGraphDeployment","namespace":"demo","name":"llama","ready":true,"state":"successful",)"));
}

TEST_CASE("JSON has the same content as the text") {
  const json::Document root = parsed(
      graph("'services':{'Frontend':{'componentType':'frontend'}}",
            "'state':'pending','rollingUpdate':{'phase':'Completed','endTime':'2026-01-02T03:00:00Z'}," +
                readyCondition("False", "some_resources_are_not_ready", "m")));
  const lifecycle::test::Objects objects{std::vector<std::string>{
      component("g-frontend", "Frontend", "", 1, 0, "'status':'False','message':'why'")}};
  const config::OperatorConfig config;
  const model::ComponentDefaults defaults;
  render::Facts facts;
  facts.setDiscovered();
  const std::string text = toJson(treeOf(root, objects.view(), {config, defaults, facts}, kNow));
  const json::Document expected = parsed(
      "{'kind':'DynamoGraphDeployment','namespace':'demo','name':'g','ready':false,'state':'pending','reason'"
      ":'some_resources_are_not_ready'"
      ","
      "'message':'m','replicas':{'ready':0,'desired':1},'created':'2026-01-02T03:00:00Z',"
      "'rollingUpdate':{'phase':'Completed','endTime':'2026-01-02T03:00:00Z'},'children':[{'kind':'service',"
      "'name':'Frontend','ready':false,'reason':'Unavailable','replicas':{'ready':0,'desired':1},"
      "'created':'2026-01-02T03:00:00Z','children':[{'kind':'DynamoComponentDeployment','name':'g-frontend',"
      "'ready':false,'reason':'Unavailable','message':'why','replicas':{'ready':0,'desired':1},"
      "'created':'2026-01-02T03:00:00Z'}]}]}");
  INFO(text);
  CHECK(json::equal(parsed(text), expected));
}

}  // namespace dynamo::view::test
