// How outcomes of reconciles are carried out.
#include "controller/reconcile/outcome.h"

#include "common/json/build.h"
#include "common/render/scale_plan.h"
#include "common/runtime/task_group.h"
#include "controller/reconcile/result.h"
#include "fake_api.h"
#include "reconcile_support.h"

namespace dynamo::controller::test {
namespace {

using namespace std::chrono_literals;
using kube::Client;
using kube::test::failure;
using lifecycle::Outcome;
using lifecycle::Write;
using runtime::EventLoop;
using runtime::Task;

const std::string kGraphs = "/apis/nvidia.com/v1alpha1/namespaces/n/dynamographdeployments/";
const std::string kComponents = "/apis/nvidia.com/v1alpha1/namespaces/n/dynamocomponentdeployments/";
const std::string kGraph =
    "{'apiVersion':'nvidia.com/"
    "v1alpha1','kind':'DynamoGraphDeployment','metadata':{'namespace':'n','name':'g'},'spec':{}}";

std::string component(const std::string& name, const std::string& rest = "") {
  return "{'apiVersion':'nvidia.com/"
         "v1alpha1','kind':'DynamoComponentDeployment','metadata':{'namespace':'n','name':'" +
         name + "'" + rest + "},'spec':{'replicas':1}}";
}

/// A graph that `api` stores, and the environment to reconcile it.
struct Scene {
  Scene(EventLoop& loop, Client& client, FakeApi& api_) : f(loop, client), api(api_) {
    api.store(kGraphs + "g", kGraph);
    graph = read(kGraphs + "g");
  }

  /// The object at `path`, which a watch has reported.
  json::Document read(const std::string& path) {
    f.see(api.at(path));
    return parsed(api.at(path));
  }
  Write patchOf(const json::Document& object, const std::string& patch, bool atThisVersion = false) {
    const json::Document value = parsed(patch);
    return lifecycle::patchOf(object, json::copy(value, memory.GetAllocator()), atThisVersion);
  }
  json::Value statusOf(const std::string& text) {
    const json::Document value = parsed(text);
    return json::copy(value, memory.GetAllocator());
  }
  /// textOf() of the ending.
  Task<std::string> carryOut(const Outcome& outcome) {
    const Writer writer{"DynamoGraphDeployment", "dynamographdeployment"};
    const auto failed = co_await controller::carryOut(f.environment, graph, outcome, writer);
    co_return textOf(failed);
  }

  EnvironmentFixture f;
  FakeApi& api;
  json::Document graph;
  json::Document memory;
};

template <class Use>
void withScene(FakeApi& api, Use use) {
  kube::test::withClient(api.roundTripper(), [&](EventLoop& loop, Client& client) -> Task<void> {
    Scene scene{loop, client, api};
    co_await use(scene);
  });
}

}  // namespace

TEST_CASE("a patch carries uid and resourceVersion, and the cache takes the answer") {
  FakeApi api;
  withScene(api, [&](Scene& scene) -> Task<void> {
    api.store(kComponents + "c", component("c"));
    const json::Document child = scene.read(kComponents + "c");
    std::string writers;
    scene.f.cache.onChange([&](const kube::Change& change) { writers += std::string{change.writer} + ";"; });
    Outcome outcome;
    outcome.writes.push_back(scene.patchOf(child, "{'spec':{'replicas':3}}"));
    outcome.writes.push_back(scene.patchOf(scene.graph, "{'metadata':{'annotations':{'a':'b'}}}", true));
    const std::string failed = co_await scene.carryOut(outcome);
    CHECK(failed.empty());
    // The answer about the child may contain edits of others, so the graph is reconciled again.
    CHECK(writers == ";DynamoGraphDeployment;");
  });
  const auto child = api.bodies("PATCH " + kComponents + "c");
  REQUIRE(child.size() == 1);
  CHECK(child[0] == R"({"spec":{"replicas":3},"metadata":{"uid":"uid-102"}})");
  const auto graph = api.bodies("PATCH " + kGraphs + "g");
  REQUIRE(graph.size() == 1);
  CHECK(graph[0] == R"({"metadata":{"annotations":{"a":"b"},"uid":"uid-101","resourceVersion":"101"}})");
}

TEST_CASE("replicas are written through the scale subresource") {
  FakeApi api;
  const std::string path = "/apis/grove.io/v1alpha1/namespaces/n/podcliques/p";
  withScene(api, [&](Scene& scene) -> Task<void> {
    api.store(path,
              "{'apiVersion':'grove.io/v1alpha1','kind':'PodClique','metadata':{'namespace':'n','name':'p',"
              "'labels':{'nvidia.com/dynamo-graph-deployment-name':'g'}},'spec':{'replicas':1}}");
    const json::Document clique = scene.read(path);
    Outcome outcome;
    outcome.writes.push_back({Write::Verb::Scale, lifecycle::referenceTo(clique), json::Value{}, 4});
    render::ScaledObject live;
    live.key = k8s::keyOf(clique);
    live.replicas = 1;
    live.rendered = 4;
    outcome.writes[0].plan = render::planScale(live, nullptr, {}, scene.memory.GetAllocator());
    const std::string failed = co_await scene.carryOut(outcome);
    CHECK(failed.empty());
    CHECK(scene.f.environment.contests.find(live.key, "spec.replicas") != nullptr);
  });
  const auto bodies = api.bodies("PATCH " + path + "/scale");
  REQUIRE(bodies.size() == 1);
  CHECK(bodies[0] == R"({"spec":{"replicas":4}})");
}

TEST_CASE("deletions") {
  struct Row {
    const char* about;
    std::string stored;    ///< of the server; empty: nothing
    std::string observed;  ///< of the cache
    const char* failed;
    bool cached;  ///< afterwards
  };
  for (const Row& row : {
           Row{"the object is deleted", component("c", ",'uid':'u'"),
               component("c", ",'uid':'u','resourceVersion':'5'"), "", false},
           Row{"it does not exist", "", component("c", ",'uid':'u','resourceVersion':'5'"), "", false},
           Row{"another object has its name", component("c", ",'uid':'v'"),
               component("c", ",'uid':'u','resourceVersion':'5'"),
               "conflict: DynamoComponentDeployment.nvidia.com n/c: no", true},
           Row{"a finalizer keeps it", component("c", ",'uid':'u','finalizers':['example.com/x']"),
               component("c", ",'uid':'u','resourceVersion':'5','finalizers':['example.com/x']"), "", true},
       }) {
    CAPTURE(row.about);
    FakeApi api;
    withScene(api, [&](Scene& scene) -> Task<void> {
      if (!row.stored.empty()) api.store(kComponents + "c", row.stored);
      scene.f.see(row.observed);
      Outcome outcome;
      outcome.writes.push_back(lifecycle::deletionOf(parsed(row.observed)));
      const std::string failed = co_await scene.carryOut(outcome);
      CHECK(failed == row.failed);
      CHECK(scene.f.cache.contains(keyOf(row.observed)) == row.cached);
    });
    const auto bodies = api.bodies("DELETE " + kComponents + "c");
    REQUIRE(bodies.size() == 1);
    CHECK(bodies[0].find(R"("preconditions":{"uid":"u"})") != std::string::npos);
    CHECK(bodies[0].find(R"("propagationPolicy":"Background")") != std::string::npos);
  }
}

TEST_CASE("the status is written at the version after the writes of the same object") {
  FakeApi api;
  withScene(api, [&](Scene& scene) -> Task<void> {
    Outcome outcome;
    outcome.writes.push_back(scene.patchOf(scene.graph, "{'metadata':{'annotations':{'a':'b'}}}", true));
    outcome.status = scene.statusOf("{'state':'pending'}");
    const std::string failed = co_await scene.carryOut(outcome);
    CHECK(failed.empty());
    const auto cached = scene.f.cache.find(keyOf(kGraph));
    REQUIRE(cached);
    CHECK(json::findText(json::findObject(&cached->object, "status"), "state") == "pending");
  });
  const auto bodies = api.bodies("PATCH " + kGraphs + "g/status");
  REQUIRE(bodies.size() == 1);
  CHECK(bodies[0] == R"([{"op":"replace","path":"/metadata/resourceVersion","value":"102"},)"
                     R"({"op":"add","path":"/status","value":{"state":"pending"}}])");
  const std::string line = kube::test::lineOf(api.requests().back());
  CHECK(line.find("fieldManager=dynamo-controller-status") != std::string::npos);
}

TEST_CASE("a status of an older version is a conflict, which is retried") {
  FakeApi api;
  withScene(api, [&](Scene& scene) -> Task<void> {
    api.store(
        kGraphs + "g",
        "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoGraphDeployment','metadata':{'namespace':'n',"
        "'name':'g','uid':'uid-101'},'spec':{'services':{}}}");
    Outcome outcome;
    outcome.status = scene.statusOf("{'state':'pending'}");
    outcome.events.push_back(lifecycle::normal("Reason", "message"));
    const Writer writer{"DynamoGraphDeployment", "c"};
    const auto failed = co_await controller::carryOut(scene.f.environment, scene.graph, outcome, writer);
    CHECK_FALSE(isDone(failed));
    CHECK_FALSE(isPermanent(failed));
    CHECK(scene.f.events.queued() == 0);
    const ReconcileResult result = resultOf(outcome, failed, {});
    CHECK(result.ending.index() == failed.index());
    CHECK(messageOf(result.ending) == messageOf(failed));
  });
  CHECK(api.at(kGraphs + "g").find("status") == std::string::npos);
}

TEST_CASE("Events about writes survive a status that is refused") {
  struct Row {
    const char* about;
    int status;
    const char* ending;
    bool writes;
    std::size_t events;
  };
  for (const Row& row : {Row{"a conflict after writes", 409, "conflict: ", true, 1},
                         Row{"an error after writes", 500, "transient: ", true, 1},
                         Row{"the retry finds the same change of the status", 409, "conflict: ", false, 0}}) {
    CAPTURE(row.about);
    FakeApi api{[&](const std::string& line, int) -> std::optional<std::string> {
      return line.ends_with("/status") ? std::optional{failure(row.status, "Reason")} : std::nullopt;
    }};
    withScene(api, [&](Scene& scene) -> Task<void> {
      Outcome outcome;
      if (row.writes)
        outcome.writes.push_back(scene.patchOf(scene.graph, "{'metadata':{'annotations':{'a':'b'}}}", true));
      outcome.status = scene.statusOf("{'state':'pending'}");
      outcome.events.push_back(lifecycle::normal("Reason", "message"));
      const std::string failed = co_await scene.carryOut(outcome);
      CHECK(failed == row.ending + std::string{"DynamoGraphDeployment.nvidia.com n/g: no"});
      CHECK(scene.f.events.queued() == row.events);
    });
  }
}

TEST_CASE("the status of an object that was deleted meanwhile is not an error") {
  FakeApi api{[](const std::string& line, int) -> std::optional<std::string> {
    return line.ends_with("/status") ? std::optional{failure(404, "NotFound")} : std::nullopt;
  }};
  withScene(api, [&](Scene& scene) -> Task<void> {
    Outcome outcome;
    outcome.status = scene.statusOf("{}");
    const std::string failed = co_await scene.carryOut(outcome);
    CHECK(failed.empty());
  });
}

TEST_CASE("the first write that fails stops the rest") {
  struct Row {
    int status;
    const char* failed;
  };
  for (const Row& row : {Row{409, "conflict: DynamoComponentDeployment.nvidia.com n/b: no"},
                         Row{500, "transient: DynamoComponentDeployment.nvidia.com n/b: no"},
                         Row{422, "DynamoComponentDeployment.nvidia.com n/b: no"}}) {
    CAPTURE(row.status);
    FakeApi api{[&](const std::string& line, int) -> std::optional<std::string> {
      return line == "PATCH " + kComponents + "b" ? std::optional{failure(row.status, "Reason")}
                                                  : std::nullopt;
    }};
    withScene(api, [&](Scene& scene) -> Task<void> {
      Outcome outcome;
      for (const std::string name : {"a", "b", "c"}) {
        api.store(kComponents + name, component(name));
        const json::Document child = scene.read(kComponents + name);
        outcome.writes.push_back(scene.patchOf(child, "{'spec':{'replicas':3}}"));
      }
      outcome.status = scene.statusOf("{'state':'pending'}");
      outcome.events.push_back(lifecycle::normal("Reason", "message"));
      const std::string failed = co_await scene.carryOut(outcome);
      CHECK(failed == row.failed);
      CHECK(scene.f.events.queued() == 0);
    });
    CHECK(api.lines() == "PATCH " + kComponents + "a\nPATCH " + kComponents + "b\n");
  }
}

TEST_CASE("Events are recorded after all writes, about the object, with the source of the reference") {
  FakeApi api;
  kube::test::withClient(api.roundTripper(), [&](EventLoop& loop, Client& client) -> Task<void> {
    Scene scene{loop, client, api};
    Outcome outcome;
    outcome.events.push_back(lifecycle::warning("Broken", "it is broken"));
    const std::string failed = co_await scene.carryOut(outcome);
    CHECK(failed.empty());
    CHECK(scene.f.events.queued() == 1);
    scene.f.events.stop();
    co_await scene.f.events.run();
  });
  const auto bodies = api.bodies("POST /api/v1/namespaces/n/events");
  REQUIRE(bodies.size() == 1);
  for (const char* part : {R"("type":"Warning")", R"("reason":"Broken")", R"("message":"it is broken")",
                           R"("component":"dynamographdeployment")", R"("kind":"DynamoGraphDeployment")",
                           R"("uid":"uid-101")"}) {
    CAPTURE(part);
    CHECK(bodies[0].find(part) != std::string::npos);
  }
}

TEST_CASE("an Event that is being written counts as queued, so that a stop waits for it") {
  EventLoop* onLoop = nullptr;
  bool answers = false;
  FakeApi api{{}, {}, [&](int) -> Task<void> {
                while (!answers) co_await onLoop->sleepUntil(kube::test::in(1ms));
              }};
  kube::test::withClient(api.roundTripper(), [&](EventLoop& loop, Client& client) -> Task<void> {
    onLoop = &loop;
    Scene scene{loop, client, api};
    Outcome outcome;
    outcome.events.push_back(lifecycle::warning("Broken", "it is broken"));
    const std::string failed = co_await scene.carryOut(outcome);
    CHECK(failed.empty());
    scene.f.events.stop();
    runtime::TaskGroup running{loop};
    running.spawn(scene.f.events.run());
    while (api.requests().empty()) co_await loop.sleepUntil(kube::test::in(1ms));
    CHECK(scene.f.events.queued() == 1);
    answers = true;
    while (scene.f.events.queued() != 0) co_await loop.sleepUntil(kube::test::in(1ms));
    co_await running.join();
    CHECK(api.requests().size() == 1);
  });
}

TEST_CASE("an unknown kind fails without a request") {
  FakeApi api;
  withScene(api, [&](Scene& scene) -> Task<void> {
    Outcome outcome;
    outcome.writes.push_back(lifecycle::deletionOf(
        parsed("{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'namespace':'n','name':'w'}}")));
    const std::string failed = co_await scene.carryOut(outcome);
    CHECK(failed == "Widget.example.com n/w: unknown kind");
  });
  CHECK(api.requests().empty());
}

TEST_CASE("results of reconciles") {
  Outcome outcome;
  outcome.requeueAfter = std::chrono::milliseconds{30};
  using lifecycle::Conflict, lifecycle::Done, lifecycle::Permanent;
  ReconcileResult result = resultOf(outcome, Done{}, {{render::FactKind::Api, "", "grove"}});
  CHECK(isDone(result.ending));
  CHECK(result.requeueAfter == std::chrono::milliseconds{30});
  CHECK(result.lookedUp.size() == 1);
  outcome.failures = {Conflict{"first"}, Permanent{"second", "forbidden"}, Permanent{"third"}};
  result = resultOf(outcome, Done{}, {});
  CHECK(messageOf(result.ending) == "second");
  CHECK(errorTypeOf(result.ending) == "forbidden");
  // A failed write of the outcome counts for more than what failed before.
  result = resultOf(outcome, Conflict{"the status"}, {});
  CHECK(messageOf(result.ending) == "the status");
  CHECK(errorTypeOf(result.ending) == "conflict");
}

}  // namespace dynamo::controller::test
