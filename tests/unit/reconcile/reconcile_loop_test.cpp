// Retries, requeues and triggers of a reconcile loop.
#include "controller/reconcile/reconcile_loop.h"

#include <initializer_list>
#include <map>
#include <stdexcept>

#include "common/api/kinds.h"
#include "reconcile_support.h"
#include "tests/unit/kube/kube_support.h"

namespace dynamo::controller::test {
namespace {

using namespace std::chrono_literals;
using kube::test::in;
using runtime::EventLoop;
using runtime::Task;

/// What the reconciler of the tests does with each object, by the number of its reconciles so far.
struct Script {
  std::function<ReconcileResult(const std::string& name, int number)> run;
  std::map<std::string, int> calls = {};
  int running = 0;
  int most = 0;
  std::chrono::milliseconds takes{0};
};
Script* script = nullptr;  // a Reconciler holds a plain function pointer

Task<ReconcileResult> reconcileByScript(Environment& environment, k8s::ObjectKey key) {
  const int number = script->calls[key.name]++;
  script->most = std::max(script->most, ++script->running);
  if (script->takes > 0ms) co_await environment.loop.sleepUntil(in(script->takes));
  --script->running;
  co_return script->run(key.name, number);
}

const WatchedKind& kindByScript() {
  static const WatchedKind kKind = [] {
    WatchedKind kind =
        *findWatchedKind({std::string{api::kGroup}, "", std::string{api::kDynamoGraphDeployment}, "", ""});
    kind.reconciler = Reconciler{"test", &reconcileByScript};
    return kind;
  }();
  return kKind;
}

k8s::ObjectKey graphKey(const std::string& name, const std::string& namespaceName = "n") {
  return {std::string{api::kGroup}, "v1alpha1", std::string{api::kDynamoGraphDeployment}, namespaceName,
          name};
}

struct Scene {
  Scene(EventLoop& loop_, kube::Client& client, Script& used)
      : loop(loop_),
        f(loop_, client),
        reconciles(f.environment, kindByScript(), metrics,
                   [this](std::string_view name) { return handled(name); }) {
    script = &used;
  }

  /// Waits until the object was reconciled `calls` times or more.
  Task<bool> reached(std::string name, int calls) {
    const auto end = in(10s);
    while (script->calls[name] < calls) {
      if (std::chrono::steady_clock::now() > end) co_return false;
      co_await loop.sleepUntil(in(1ms));
    }
    co_return true;
  }
  /// Waits until the object was reconciled exactly `calls` times and nothing is queued.
  Task<bool> settled(std::string name, int calls) {
    const auto end = in(10s);
    while (script->calls[name] != calls || !reconciles.idle()) {
      if (std::chrono::steady_clock::now() > end) co_return false;
      co_await loop.sleepUntil(in(1ms));
    }
    co_return true;
  }
  Task<void> pause(std::chrono::milliseconds time) { co_await loop.sleepUntil(in(time)); }
  void expect(std::initializer_list<const char*> lines) const {
    const std::string text = metrics.render();
    for (const char* line : lines) {
      CAPTURE(line, text);
      CHECK(text.find(line) != std::string::npos);
    }
  }

  EventLoop& loop;
  EnvironmentFixture f;
  observability::Registry metrics;
  std::function<bool(std::string_view)> handled = [](std::string_view) { return true; };
  ReconcileLoop reconciles;
};

template <class Use>
void withLoop(Script& used, Use use) {
  kube::test::withClient(unreachable(), [&](EventLoop& loop, kube::Client& client) -> Task<void> {
    Scene scene{loop, client, used};
    co_await use(scene);
    co_await scene.reconciles.stop();
  });
}

ReconcileResult done() {
  return {};
}
ReconcileResult retried(std::string_view type = "unavailable") {
  using lifecycle::Ending;
  return {type == lifecycle::kConflictError ? Ending{lifecycle::Conflict{"refused"}}
                                            : Ending{lifecycle::Transient{"refused", type}}};
}
ReconcileResult lookedUp(const char* registry) {
  ReconcileResult result;
  result.lookedUp = {{render::FactKind::PullSecrets, "n", registry}};
  return result;
}
render::FactKeys changedFact(const char* registry) {
  return {{render::FactKind::PullSecrets, "n", registry}};
}

}  // namespace

TEST_CASE("an object is reconciled once for each trigger, and then rests") {
  Script used{[](const std::string&, int) { return done(); }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    for (const char* name : {"a", "a", "b"}) scene.reconciles.add(graphKey(name));
    scene.reconciles.start();
    const bool ended1 = co_await scene.settled("b", 1);
    CHECK(ended1);
    const bool ended2 = co_await scene.settled("a", 1);
    CHECK(ended2);
    scene.reconciles.add(graphKey("a"));
    const bool ended3 = co_await scene.settled("a", 2);
    CHECK(ended3);
    co_await scene.pause(30ms);
    CHECK(used.calls["a"] == 2);
    CHECK(used.calls["b"] == 1);
  });
}

// Decision ctl-Q61.
TEST_CASE("after a restore nothing is reconciled until all watches have listed their objects again") {
  Script used{[](const std::string&, int) { return done(); }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    const auto& restores = scene.f.environment.client.restores();
    const kube::Restores::Watching one{restores};
    const kube::Restores::Watching other{restores};
    restores->noticed();
    restores->relisted();
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    co_await scene.pause(60ms);
    CHECK(used.calls["a"] == 0);
    const auto now = std::chrono::steady_clock::now();
    CHECK(restores->inProgress(now));
    CHECK_FALSE(restores->inProgress(now + kube::kMaxRelistTime));
    restores->relisted();
    const bool ended = co_await scene.settled("a", 1);
    CHECK(ended);
    // A stop does not wait for the watches.
    restores->noticed();
    scene.reconciles.add(graphKey("a"));
    co_await scene.pause(30ms);
  });
  CHECK(used.calls["a"] == 2);
}

TEST_CASE("a failed reconcile is retried until it succeeds, and other objects go on") {
  Script used{
      [](const std::string& name, int number) { return name == "bad" && number < 4 ? retried() : done(); }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    scene.reconciles.start();
    scene.reconciles.add(graphKey("bad"));
    scene.reconciles.add(graphKey("good"));
    const bool ended1 = co_await scene.settled("bad", 5);
    CHECK(ended1);
    CHECK(used.calls["good"] == 1);
    scene.expect(
        {R"(controller_runtime_reconcile_errors_total{controller="DynamoGraphDeployment"} 4)",
         R"(controller_runtime_terminal_reconcile_errors_total{controller="DynamoGraphDeployment"} 0)",
         R"(controller_runtime_reconcile_total{controller="DynamoGraphDeployment",result="success"} 2)",
         R"(controller_runtime_reconcile_total{controller="DynamoGraphDeployment",result="error"} 4)",
         R"(dynamo_operator_reconcile_errors_total{error_type="unavailable",namespace="n",resource_type="DynamoGraphDeployment"} 4)"});
  });
}

TEST_CASE("a conflict is retried, and is no error") {
  Script used{[](const std::string&, int number) { return number == 0 ? retried("conflict") : done(); }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    const bool ended = co_await scene.settled("a", 2);
    CHECK(ended);
    scene.expect(
        {R"(controller_runtime_reconcile_errors_total{controller="DynamoGraphDeployment"} 0)",
         R"(controller_runtime_reconcile_total{controller="DynamoGraphDeployment",result="requeue"} 1)"});
  });
}

TEST_CASE("a wait for a deletion is retried, is no error, and ends a failure") {
  const Environment* environment = nullptr;
  std::string failing;  // the number of failing objects at each reconcile
  Script used{[&](const std::string&, int number) {
    failing += std::to_string(environment->failingSince.size());
    if (number > 1) return done();
    if (number == 1) return ReconcileResult{lifecycle::LookAgain{"is being deleted"}};
    return retried();
  }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    environment = &scene.f.environment;
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    const bool ended = co_await scene.settled("a", 3);
    CHECK(ended);
    CHECK(failing == "010");
    scene.expect(
        {R"(controller_runtime_reconcile_errors_total{controller="DynamoGraphDeployment"} 1)",
         R"(controller_runtime_reconcile_total{controller="DynamoGraphDeployment",result="requeue"} 1)"});
  });
}

TEST_CASE("what is prevented is no error, and a failure that lasts does not begin anew (decision life-Q53)") {
  std::string failing;
  Script used{};
  const Environment* environment = nullptr;
  used.run = [&](const std::string&, int number) {
    failing += std::to_string(environment->failingSince.size());
    ReconcileResult result;
    if (number == 0) return retried();
    result.prevented = number < 3;
    if (number < 4) result.requeueAfter = 1ms;
    return result;
  };
  withLoop(used, [&](Scene& scene) -> Task<void> {
    environment = &scene.f.environment;
    scene.reconciles.add(graphKey("a"));
    scene.reconciles.start();
    const bool ended = co_await scene.settled("a", 5);
    CHECK(ended);
    CHECK(failing == "01110");
    scene.expect({R"(controller_runtime_reconcile_errors_total{controller="DynamoGraphDeployment"} 1)"});
  });
}

TEST_CASE("a permanent error is retried, too, because its cause may end without an event") {
  Script used{[](const std::string&, int number) {
    return number == 0 ? ReconcileResult{lifecycle::Permanent{"refused", "forbidden"}} : done();
  }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    const bool ended = co_await scene.settled("a", 2);
    CHECK(ended);
    scene.expect(
        {R"(controller_runtime_terminal_reconcile_errors_total{controller="DynamoGraphDeployment"} 0)",
         R"(controller_runtime_reconcile_errors_total{controller="DynamoGraphDeployment"} 1)",
         R"(dynamo_operator_reconcile_errors_total{error_type="forbidden",namespace="n",resource_type="DynamoGraphDeployment"} 1)"});
  });
}

TEST_CASE("an exception is a failed reconcile") {
  Script used{[](const std::string&, int number) -> ReconcileResult {
    if (number == 0) throw std::runtime_error{"secret"};
    return done();
  }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    const bool ended1 = co_await scene.settled("a", 2);
    CHECK(ended1);
    scene.expect(
        {R"(controller_runtime_reconcile_panics_total{controller="DynamoGraphDeployment"} 1)",
         R"(dynamo_operator_reconcile_errors_total{error_type="internal",namespace="n",resource_type="DynamoGraphDeployment"} 1)"});
  });
}

TEST_CASE("an object is requeued after the time that its reconcile returned") {
  Script used{[](const std::string&, int number) {
    ReconcileResult result;
    if (number < 2) result.requeueAfter = 20ms;
    return result;
  }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    const auto began = std::chrono::steady_clock::now();
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    const bool ended1 = co_await scene.settled("a", 3);
    CHECK(ended1);
    CHECK(std::chrono::steady_clock::now() - began >= 40ms);
    co_await scene.pause(50ms);
    CHECK(used.calls["a"] == 3);
  });
}

TEST_CASE("an object is never reconciled by two workers, and many objects are reconciled at once") {
  // One namespace has two thirds of the workers (ctl-Q60).
  Script used{[](const std::string&, int) { return done(); }};
  used.takes = 20ms;
  withLoop(used, [&](Scene& scene) -> Task<void> {
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    const bool ended1 = co_await scene.reached("a", 1);
    CHECK(ended1);
    scene.reconciles.add(graphKey("a"));
    const bool ended2 = co_await scene.settled("a", 2);
    CHECK(ended2);
    CHECK(used.most == 1);
    for (int i = 0; i < 40; ++i) scene.reconciles.add(graphKey("o" + std::to_string(i)));
    const bool ended3 = co_await scene.settled("o39", 1);
    CHECK(ended3);
    CHECK(used.calls.size() == 41);
    CHECK(used.most == static_cast<int>(kWorkers * 2 / 3));
  });
}

TEST_CASE("a fact triggers the objects whose last reconcile looked it up") {
  Script used{[](const std::string& name, int number) {
    if (name == "a") return lookedUp(number < 2 ? "a.io" : "b.io");
    return name == "b" ? lookedUp("b.io") : done();
  }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    scene.reconciles.start();
    for (const char* name : {"a", "b", "c"}) scene.reconciles.add(graphKey(name));
    const bool ended1 = co_await scene.settled("c", 1);
    CHECK(ended1);
    scene.reconciles.factsChanged(changedFact("a.io"));
    const bool ended2 = co_await scene.settled("a", 2);
    CHECK(ended2);
    scene.reconciles.factsChanged(changedFact("other.io"));
    scene.reconciles.factsChanged(changedFact("a.io"));
    const bool ended3 = co_await scene.settled("a", 3);
    CHECK(ended3);
    // Now "a" depends on b.io.
    scene.reconciles.factsChanged(changedFact("a.io"));
    co_await scene.pause(20ms);
    CHECK(used.calls["a"] == 3);
    CHECK(used.calls["b"] == 1);
    scene.reconciles.factsChanged(changedFact("b.io"));
    const bool ended4 = co_await scene.settled("a", 4);
    CHECK(ended4);
    const bool ended5 = co_await scene.settled("b", 2);
    CHECK(ended5);
    CHECK(used.calls["c"] == 1);
    scene.reconciles.forget(graphKey("b"));
    scene.reconciles.factsChanged(changedFact("b.io"));
    const bool ended6 = co_await scene.settled("a", 5);
    CHECK(ended6);
    CHECK(used.calls["b"] == 2);
  });
}

TEST_CASE("a namespace that this process no longer handles is left alone") {
  Script used{[](const std::string& name, int) { return name == "a" ? retried() : lookedUp("a.io"); }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    scene.reconciles.add(graphKey("x", "other"));
    const bool ended1 = co_await scene.reached("a", 3);
    CHECK(ended1);
    scene.handled = [](std::string_view name) { return name == "other"; };
    // The next retry of "a" ends without a reconcile and without another retry.
    const bool ended2 = co_await scene.settled("x", 1);
    CHECK(ended2);
    const int before = used.calls["a"];
    scene.reconciles.add(graphKey("a"));
    scene.reconciles.factsChanged(changedFact("a.io"));
    const bool ended3 = co_await scene.settled("x", 2);
    CHECK(ended3);
    CHECK(used.calls["a"] == before);
  });
}

TEST_CASE("what was known of a namespace is removed once this process no longer handles it") {
  Script used{[](const std::string&, int) { return lookedUp("a.io"); }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    bool ours = true;
    scene.handled = [&](std::string_view) { return ours; };
    scene.reconciles.start();
    scene.reconciles.add(graphKey("a"));
    const bool ended1 = co_await scene.settled("a", 1);
    CHECK(ended1);
    ours = false;
    scene.reconciles.factsChanged(changedFact("a.io"));
    const bool ended2 = co_await scene.settled("a", 1);
    CHECK(ended2);
    ours = true;
    scene.reconciles.factsChanged(changedFact("a.io"));
    co_await scene.pause(20ms);
    CHECK(used.calls["a"] == 1);
    // The objects of a namespace that returns are added again.
    scene.reconciles.add(graphKey("a"));
    const bool ended3 = co_await scene.settled("a", 2);
    CHECK(ended3);
  });
}

TEST_CASE("the metrics of a namespace go some time after its last object, and only those") {
  Script used{
      [](const std::string& name, int number) { return name == "a" && number == 0 ? retried() : done(); }};
  withLoop(used, [&](Scene& scene) -> Task<void> {
    const auto see = [&](const std::string& namespaceName) {
      scene.f.see(
          "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoGraphDeployment','metadata':{'namespace':'" +
          namespaceName + "','name':'a','uid':'u','resourceVersion':'1'}}");
    };
    const auto series = [&](std::string_view namespaceName) {
      const std::string text = scene.metrics.render();
      const std::string label = "namespace=\"" + std::string{namespaceName} + "\"";
      int found = 0;
      for (const char* metric :
           {"dynamo_operator_reconcile_total{", "dynamo_operator_reconcile_errors_total{",
            "dynamo_operator_reconcile_duration_seconds_count{"}) {
        for (std::size_t at = text.find(metric); at != std::string::npos; at = text.find(metric, at + 1)) {
          if (text.substr(at, text.find('\n', at) - at).find(label) != std::string::npos) ++found;
        }
      }
      return found;
    };
    scene.reconciles.start();
    for (const char* name : {"gone", "used", "foreign"}) {
      see(name);
      scene.reconciles.add(graphKey(name == std::string{"gone"} ? "a" : "b", name));
    }
    const bool ended = co_await scene.settled("a", 2);
    CHECK(ended);
    CHECK(series("gone") == 5);
    CHECK(series("used") == 2);
    // An object was deleted in each, and one is left.
    for (const char* name : {"gone", "used", "foreign"}) scene.reconciles.forget(graphKey("c", name));
    scene.f.cache.deleted(graphKey("a", "gone"), "u", "");
    scene.handled = [](std::string_view name) { return name != "foreign"; };
    const auto now = std::chrono::steady_clock::now();
    scene.reconciles.updateMetrics(now + kKeepMetrics - 1s);
    CHECK(series("gone") == 5);
    scene.reconciles.updateMetrics(now + kKeepMetrics + 1s);
    CHECK(series("gone") == 0);
    CHECK(series("foreign") == 0);
    CHECK(series("used") == 2);
  });
}

TEST_CASE("a stop waits for running reconciles and starts no others") {
  Script used{[](const std::string&, int) { return done(); }};
  used.takes = 50ms;
  withLoop(used, [&](Scene& scene) -> Task<void> {
    scene.reconciles.start();
    for (int i = 0; i < 40; ++i) scene.reconciles.add(graphKey("o" + std::to_string(i)));
    const bool ended1 = co_await scene.reached("o0", 1);
    CHECK(ended1);
    co_await scene.reconciles.stop();
    CHECK(used.running == 0);
    CHECK(used.calls.size() <= kWorkers + 1);
  });
}

}  // namespace dynamo::controller::test
