// DynamoGraphDeploymentScalingAdapters.
#include "common/lifecycle/scaling_adapter.h"

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

std::string adapterText(const std::string& replicas, const std::string& status) {
  return "{'kind':'DynamoGraphDeploymentScalingAdapter','metadata':{'name':'g-worker','generation':1},'spec':"
         "{"
         "'replicas':" +
         replicas + ",'dgdRef':{'name':'g','serviceName':'Worker'}},'status':" + status + "}";
}

std::string graphText(const std::string& service) {
  return "{'kind':'DynamoGraphDeployment','metadata':{'name':'g','uid':'u','resourceVersion':'7'},'spec':{"
         "'services':{'Worker':" +
         service + "}}}";
}

const std::string kSelector = "nvidia.com/dynamo-graph-deployment-name=g,nvidia.com/dynamo-component=Worker";

TEST_CASE("an adapter of a deleted graph does not scale a new graph of that name") {
  const json::Document graph = parsed(graphText("{'replicas':2,'scalingAdapter':{'enabled':true}}"));
  struct Row {
    const char* about;
    std::string owner;
    bool scales;
  };
  for (const Row& row : {
           Row{"its own graph", "{'kind':'DynamoGraphDeployment','name':'g','uid':'u','controller':true}",
               true},
           Row{"the graph before", "{'kind':'DynamoGraphDeployment','name':'g','uid':'t','controller':true}",
               false},
           Row{"a user made it", "", true},
           Row{"another owner", "{'kind':'Helm','name':'g','uid':'t','controller':true}", true},
       }) {
    CAPTURE(row.about);
    const json::Document adapter = parsed(
        "{'kind':'DynamoGraphDeploymentScalingAdapter','metadata':{'name':'g-worker','generation':1,"
        "'ownerReferences':[" +
        row.owner + "]},'spec':{'replicas':5,'dgdRef':{'name':'g','serviceName':'Worker'}}}");
    json::Document memory;
    const Outcome outcome = adapterOutcome(adapter, &graph, false, kNow, memory.GetAllocator());
    CHECK(outcome.writes.empty() != row.scales);
    CHECK(outcome.status.has_value() == row.scales);
    const Outcome alone = adapterOutcome(adapter, nullptr, false, kNow, memory.GetAllocator());
    const bool owned = row.owner.find("DynamoGraphDeployment") != std::string::npos;
    CHECK(alone.status.has_value() != owned);
  }
}

TEST_CASE("an adapter does not scale a service with several nodes on Grove to 0 (decision child-Q43)") {
  const auto outcomeOf = [](const std::string& kind, const std::string& replicas) {
    std::string text = graphText("{'replicas':2,'scalingAdapter':{'enabled':true}}");
    text.pop_back();
    const json::Document graph =
        parsed(text + ",'status':{'services':{'Worker':{'componentKind':'" + kind + "'}}}}");
    const json::Document adapter = parsed(adapterText(replicas, "{}"));
    json::Document memory;
    const Outcome outcome = adapterOutcome(adapter, &graph, false, kNow, memory.GetAllocator());
    REQUIRE(outcome.status);
    return writesOf(outcome.writes) + conditionsOf(*outcome.status);
  };
  CHECK(outcomeOf("PodCliqueScalingGroup", "0") ==
        "Scalable=False GroveNeedsOneReplica: service Worker has several nodes: Grove needs at least one "
        "replica\n");
  const std::string follows = "Scalable=True ScalesService: service Worker follows spec.replicas\n";
  for (const auto& [kind, replicas] : {std::pair{"PodCliqueScalingGroup", "1"}, std::pair{"PodClique", "0"},
                                       std::pair{"LeaderWorkerSet", "0"}}) {
    CAPTURE(kind, replicas);
    const std::string found = outcomeOf(kind, replicas);
    CHECK(found.find(follows) != std::string::npos);
    CHECK(found.size() > follows.size());
  }
}

TEST_CASE("a second adapter of a service scales nothing (quirk ctl-Q56)") {
  const json::Document graph = parsed(graphText("{'replicas':2,'scalingAdapter':{'enabled':true}}"));
  const auto named = [](const std::string& name, const std::string& owners) {
    std::string text = adapterText("5", "{}");
    return parsed(text.replace(text.find("'name':'g-worker'"), 17,
                               "'name':'" + name + "','ownerReferences':[" + owners + "]"));
  };
  json::Document memory;
  const auto outcome = [&](const json::Document& adapter) {
    return adapterOutcome(adapter, &graph, false, kNow, memory.GetAllocator());
  };
  const Outcome second = outcome(named("mine", ""));
  CHECK(second.writes.empty());
  REQUIRE(second.status);
  CHECK(conditionsOf(*second.status) ==
        "Scalable=False OtherAdapter: service Worker follows adapter g-worker\n");
  CHECK(outcome(named("g-worker", "")).writes.size() == 1);
  CHECK(outcome(named("mine", "{'uid':'u','controller':true}")).writes.size() == 1);
}

TEST_CASE("an adapter writes its replicas into the graph") {
  struct Row {
    const char* name;
    const char* desired;
    const char* service;
    std::string status;
    const char* written;  ///< replicas in the graph; empty: no write
    bool timed;           ///< lastScaleTime is now
  };
  const std::string known = "{'replicas':2,'selector':'" + kSelector + "','lastScaleTime':'before'}";
  const Row rows[] = {
      {"equal", "2", "'replicas':2,", known, "", false},
      {"new", "2", "'replicas':2,", "{}", "", false},
      {"up", "5", "'replicas':2,", known, "5", true},
      {"to zero", "0", "'replicas':2,", known, "0", true},
      {"absent replicas are one", "1", "", "{}", "", false},
      {"absent replicas are not three", "3", "", "{}", "3", true},
      {"the graph has them, the status was lost (quirk ctl-Q39)", "5", "'replicas':5,", known, "", true},
      {"the graph has them, without earlier replicas", "5", "'replicas':5,",
       "{'selector':'" + kSelector + "'}", "", true}};
  for (const Row& row : rows) {
    INFO(row.name);
    const json::Document adapter = parsed(adapterText(row.desired, row.status));
    const json::Document graph =
        parsed(graphText("{" + std::string{row.service} + "'scalingAdapter':{'enabled':true}}"));
    json::Document memory;
    const Outcome outcome = adapterOutcome(adapter, &graph, false, kNow, memory.GetAllocator());
    const std::string write =
        *row.written == 0
            ? ""
            : "patch DynamoGraphDeployment/g@7 {\"spec\":{\"services\":{\"Worker\":{\"replicas\":" +
                  std::string{row.written} + "}}}}\n";
    CHECK(writesOf(outcome.writes) == write);
    CHECK(outcome.events.size() == (write.empty() ? 0 : 1));
    REQUIRE(outcome.status);
    CHECK(std::to_string(json::find(*outcome.status, "replicas")->GetInt64()) == row.desired);
    CHECK(json::findText(&*outcome.status, "selector") == kSelector);
    CHECK((json::findText(&*outcome.status, "lastScaleTime") == kNowText) == row.timed);
    CHECK(conditionsOf(*outcome.status) ==
          "Scalable=True ScalesService: service Worker follows spec.replicas\n");

    const json::Document later = parsed(adapterText(row.desired, json::dump(*outcome.status)));
    const json::Document after =
        parsed(graphText("{'replicas':" + std::string{row.desired} + ",'scalingAdapter':{'enabled':true}}"));
    const Outcome next =
        adapterOutcome(later, &after, false, kNow + std::chrono::hours{1}, memory.GetAllocator());
    CHECK_FALSE(next.status);
    CHECK(next.writes.empty());
  }
}

TEST_CASE("an adapter without a service to scale reports it and waits (quirks child-Q12, ctl-Q22)") {
  struct Row {
    std::string graph;  ///< empty: none
    const char* condition;
  };
  const Row rows[] = {
      {"", "GraphNotFound: DynamoGraphDeployment g does not exist"},
      {"{'metadata':{'deletionTimestamp':'t'}}", "GraphNotFound: DynamoGraphDeployment g does not exist"},
      {"{'spec':{'services':{}}}", "ServiceNotFound: DynamoGraphDeployment g has no service Worker"},
      {graphText("{'replicas':1}"), "AdapterDisabled: service Worker does not enable scalingAdapter"},
      {graphText("{'replicas':1,'scalingAdapter':{'enabled':false}}"),
       "AdapterDisabled: service Worker does not enable scalingAdapter"}};
  for (const Row& row : rows) {
    INFO(row.condition);
    const json::Document adapter = parsed(adapterText("5", "{}"));
    const json::Document graph = parsed(row.graph.empty() ? "{}" : row.graph);
    json::Document memory;
    const Outcome outcome =
        adapterOutcome(adapter, row.graph.empty() ? nullptr : &graph, false, kNow, memory.GetAllocator());
    CHECK(outcome.writes.empty());
    REQUIRE(outcome.status);
    CHECK(conditionsOf(*outcome.status) == "Scalable=False " + std::string{row.condition} + '\n');
  }
}

TEST_CASE("autoscaling enables the adapter only with compatibility.autoscaling (dec-3)") {
  const json::Document adapter = parsed(adapterText("5", "{}"));
  for (const bool honoured : {false, true}) {
    for (const bool enabled : {false, true}) {
      INFO(honoured << enabled);
      const json::Document graph = parsed(graphText(std::string{"{'replicas':1,'autoscaling':{'enabled':"} +
                                                    (enabled ? "true" : "false") + "}}"));
      json::Document memory;
      const Outcome outcome = adapterOutcome(adapter, &graph, honoured, kNow, memory.GetAllocator());
      CHECK(outcome.writes.size() == (honoured && enabled ? 1 : 0));
    }
  }
}

TEST_CASE("a rejected scaling is reported once, a conflict never") {
  json::Document memory;
  const json::Document adapter = parsed(adapterText("5", "{}"));
  Outcome outcome = adapterFailure(adapter, Conflict{"conflict"}, kNow, memory.GetAllocator());
  CHECK_FALSE(outcome.status);
  outcome = adapterFailure(adapter, Permanent{"denied"}, kNow, memory.GetAllocator());
  CHECK(eventsOf(outcome.events) == "Warning UpdateFailed: denied\n");
  const json::Document later = parsed(adapterText("5", json::dump(*outcome.status)));
  outcome = adapterFailure(later, Permanent{"denied"}, kNow, memory.GetAllocator());
  CHECK(outcome.events.empty());
  CHECK_FALSE(outcome.status);
}

}  // namespace
}  // namespace dynamo::lifecycle::test
