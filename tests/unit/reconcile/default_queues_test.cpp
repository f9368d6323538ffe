// The default queue of the KAI scheduler (decision inst-Q20).
#include "controller/reconcile/default_queues.h"

#include "apply_support.h"
#include "common/runtime/task_group.h"

namespace dynamo::controller::test {
namespace {

using namespace std::chrono_literals;

const std::string kPost = "POST /apis/scheduling.run.ai/v2/queues";

/// Runs the task until it has sent `requests`, or for `time`. Returns "METHOD /path" of all requests.
std::string linesOf(FakeApi& api, const render::Facts& facts, std::size_t requests,
                    std::chrono::milliseconds time = 10s, const char* needed = "dynamo") {
  kube::test::withClient(api.roundTripper(), [&](EventLoop& loop, Client& client) -> Task<void> {
    DefaultQueues queues{loop, client, facts};
    queues.lookedUp({{render::FactKind::Queue, "", needed}});
    runtime::TaskGroup running{loop};
    running.spawn(queues.run());
    const auto deadline = kube::test::in(time);
    while (api.requests().size() < requests && std::chrono::steady_clock::now() < deadline)
      static_cast<void>(co_await loop.sleepUntil(kube::test::in(1ms)));
    queues.stop();
    co_await running.join();
  });
  return api.lines();
}

render::Facts withScheduler() {
  render::Facts facts;
  facts.setApi(render::Api::KaiScheduler, true);
  facts.setQueuesKnown();
  return facts;
}

}  // namespace

TEST_CASE("missing queues are created, the parent first") {
  FakeApi api;
  const render::Facts facts = withScheduler();
  CHECK(linesOf(api, facts, 2) == kPost + "\n" + kPost + "\n");
  const std::vector<std::string> bodies = api.bodies(kPost);
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[0] == queueDocument("dynamo-default", ""));
  CHECK(bodies[1] == queueDocument("dynamo", "dynamo-default"));
  CHECK(bodies[1] ==
        R"({"apiVersion":"scheduling.run.ai/v2","kind":"Queue","metadata":{"name":"dynamo","labels":)"
        R"({"app.kubernetes.io/managed-by":"dynamo-operator"}},"spec":{"resources":)"
        R"({"cpu":{"quota":-1,"limit":-1,"overQuotaWeight":1},"gpu":{"quota":-1,"limit":-1,)"
        R"("overQuotaWeight":1},"memory":{"quota":-1,"limit":-1,"overQuotaWeight":1}},)"
        R"("parentQueue":"dynamo-default"}})");
}

TEST_CASE("queues are created only where the scheduler is and its queue is missing") {
  struct Row {
    const char* what;
    bool scheduler;
    bool known;
    std::vector<const char*> queues;
    std::size_t requests;
  };
  const Row rows[] = {{"no scheduler", false, true, {}, 0},
                      {"the queues are not known yet", true, false, {}, 0},
                      {"the queue exists", true, true, {"dynamo"}, 0},
                      {"only its parent exists", true, true, {"dynamo-default"}, 1}};
  for (const Row& row : rows) {
    INFO(row.what);
    render::Facts facts;
    facts.setApi(render::Api::KaiScheduler, row.scheduler);
    if (row.known) facts.setQueuesKnown();
    for (const char* queue : row.queues) facts.addQueue(queue);
    FakeApi api;
    linesOf(api, facts, row.requests == 0 ? 1 : row.requests, row.requests == 0 ? 50ms : 10s);
    CHECK(api.requests().size() == row.requests);
  }
}

TEST_CASE("queues are created only for a graph that needs the default one") {
  FakeApi api;
  const render::Facts facts = withScheduler();
  linesOf(api, facts, 1, 50ms, "team");
  CHECK(api.requests().empty());
}

TEST_CASE("a parent that somebody else has just created counts") {
  FakeApi api;
  api.store("/apis/scheduling.run.ai/v2/queues/dynamo-default", queueDocument("dynamo-default", ""));
  const render::Facts facts = withScheduler();
  linesOf(api, facts, 2);
  REQUIRE(api.bodies(kPost).size() == 2);
  CHECK_FALSE(api.at("/apis/scheduling.run.ai/v2/queues/dynamo").empty());
}

}  // namespace dynamo::controller::test
