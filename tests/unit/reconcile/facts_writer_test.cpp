// The ConfigMap with the facts of the cluster.
#include "controller/reconcile/facts_writer.h"

#include "apply_support.h"
#include "common/runtime/task_group.h"

namespace dynamo::controller::test {

TEST_CASE("facts that change while they are published are published at once") {
  using namespace std::chrono_literals;
  const std::string path = "/api/v1/namespaces/n/configmaps/dynamo-operator-facts";
  EventLoop* onLoop = nullptr;
  bool changed = false;
  FakeApi api{{}, {}, [&](int number) -> Task<void> {
                while (number == 0 && !changed) co_await onLoop->sleepUntil(kube::test::in(1ms));
              }};
  kube::test::withClient(api.roundTripper(), [&](EventLoop& loop, Client& client) -> Task<void> {
    onLoop = &loop;
    render::Facts facts;
    facts.setApi(render::Api::Grove, false);
    FactsWriter writer{loop, client, facts, "n"};
    runtime::TaskGroup running{loop};
    running.spawn(writer.run());
    while (api.requests().empty()) static_cast<void>(co_await loop.sleepUntil(kube::test::in(1ms)));
    facts.setApi(render::Api::Grove, true);
    writer.factsChanged();
    changed = true;
    const auto deadline = kube::test::in(10s);
    while (api.bodies("PATCH " + path).size() < 2 && std::chrono::steady_clock::now() < deadline)
      static_cast<void>(co_await loop.sleepUntil(kube::test::in(1ms)));
    writer.stop();
    co_await running.join();
  });
  const std::vector<std::string> bodies = api.bodies("PATCH " + path);
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[0].find("grove: false") != std::string::npos);
  CHECK(bodies[1].find("grove: true") != std::string::npos);
}

TEST_CASE("a process that does not lead publishes facts only if there are none") {
  const std::string path = "/api/v1/namespaces/n/configmaps/dynamo-operator-facts";
  FakeApi api;
  kube::test::withClient(api.roundTripper(), [&](EventLoop& loop, Client& client) -> Task<void> {
    render::Facts facts;
    facts.setApi(render::Api::Grove, false);
    FactsWriter writer{loop, client, facts, "n"};
    co_await writer.writeIfAbsent();
    facts.setApi(render::Api::Grove, true);
    co_await writer.writeIfAbsent();
  });
  const std::vector<std::string> bodies = api.bodies("PATCH " + path);
  REQUIRE(bodies.size() == 1);
  CHECK(bodies[0].find("grove: false") != std::string::npos);
}

}  // namespace dynamo::controller::test
