// Requests that wait for others. Decision ctl-Q60.

#include <algorithm>
#include <mutex>
#include <thread>

#include "common/runtime/task_group.h"
#include "controller/kube/discovery.h"
#include "controller/kube/event_recorder.h"
#include "controller/kube/reflector.h"
#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

using Clock = std::chrono::steady_clock;

/// How long the server takes for a request about namespace "slow".
constexpr std::chrono::milliseconds kSlow{400};

bool isSlow(const std::string& request) {
  return lineOf(request).find("/namespaces/slow/") != std::string::npos;
}

std::string answer(const std::string& request, int) {
  if (isSlow(request)) std::this_thread::sleep_for(kSlow);
  return ok("{}");
}

struct Scene {
  Task<void> write(Client& client, std::string namespaceName, CallOptions call) {
    const PatchOptions options;
    auto patched =
        co_await client.patch(configMaps(), namespaceName, "x", PatchType::Apply, "{}", options, call);
    CHECK(textOf(patched) == "{}");
  }
  /// The time that `task` takes.
  Task<Clock::duration> time(Task<void> task) {
    const auto began = Clock::now();
    co_await std::move(task);
    co_return Clock::now() - began;
  }
};

}  // namespace

TEST_CASE("slow writes of one namespace delay no other namespace and nothing about the cluster") {
  ApiServer server{answer};
  ClientOptions options;
  options.maxInFlight = 4;
  options.maxClusterInFlight = 2;
  options.maxEventsInFlight = 2;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        Scene scene;
        const CallOptions objects;
        const CallOptions cluster{Slots::Cluster};
        const CallOptions event{Slots::Events};
        for (int i = 0; i < 6; ++i) loop.spawn(scene.write(client, "slow", objects));
        while (server.requests().size() < 3) co_await loop.sleepUntil(in(1ms));
        // One of four slots is left, however many requests of the namespace wait.
        for (const char* name : {"a", "b"}) {
          CAPTURE(name);
          const auto took = co_await scene.time(scene.write(client, name, objects));
          CHECK(took < kSlow / 2);
        }
        for (const CallOptions& call : {cluster, event}) {
          const auto took = co_await scene.time(scene.write(client, "a", call));
          CHECK(took < kSlow / 2);
        }
        const auto reading = Clock::now();
        auto groups = co_await discover(client);
        CHECK(std::holds_alternative<ApiGroups>(groups));
        const ListWatch source = listWatchOf(client, configMaps(), "");
        const ListOptions all;
        auto listed = co_await source.list(all);
        CHECK(std::holds_alternative<json::Document>(listed));
        CHECK(Clock::now() - reading < kSlow / 2);
        std::size_t slow = 0;
        for (const std::string& request : server.requests()) slow += isSlow(request) ? 1 : 0;
        CHECK(slow == 3);
      },
      options);
  std::size_t slow = 0;
  for (const std::string& request : server.requests()) slow += isSlow(request) ? 1 : 0;
  CHECK(slow == 6);
}

TEST_CASE("slots that are all taken by slow requests about the cluster delay no objects and no lease") {
  ApiServer server{answer};
  ClientOptions options;
  options.maxInFlight = 3;
  options.maxClusterInFlight = 1;
  options.maxEventsInFlight = 1;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        Scene scene;
        for (const Slots slots : {Slots::Cluster, Slots::Events, Slots::Objects}) {
          const CallOptions call{slots};
          for (int i = 0; i < 3; ++i) loop.spawn(scene.write(client, "slow", call));
        }
        while (server.requests().size() < 4) co_await loop.sleepUntil(in(1ms));
        const CallOptions objects;
        const auto took = co_await scene.time(scene.write(client, "a", objects));
        CHECK(took < kSlow / 2);
        const CallOptions lease{10s, true};
        const auto renewed = co_await scene.time(scene.write(client, "a", lease));
        CHECK(renewed < kSlow / 2);
      },
      options);
  CHECK(server.requests().size() == 11);
}

TEST_CASE("a request that no longer waits leaves its place to others") {
  ApiServer server{answer};
  ClientOptions options;
  options.maxInFlight = 1;
  std::vector<std::string> results;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        Scene scene;
        const CallOptions call;
        loop.spawn(scene.write(client, "slow", call));
        while (server.requests().empty()) co_await loop.sleepUntil(in(1ms));
        const CallOptions hurried{50ms};
        co_await getOnce(client, results, hurried);
        CHECK(results == std::vector<std::string>{"Timeout: too many other requests were in progress"});
        co_await getOnce(client, results, call);
      },
      options);
  CHECK(results.back() == "{}");
  CHECK(server.requests().size() == 2);
}

TEST_CASE("Events of one namespace are written one by one, and delay no other namespace") {
  std::mutex mutex;
  int slow = 0;
  int most = 0;
  ApiServer server{[&](const std::string& request, int number) {
    if (isSlow(request)) {
      const std::lock_guard lock{mutex};
      most = std::max(most, ++slow);
    }
    std::string text = answer(request, number);
    const std::lock_guard lock{mutex};
    slow -= isSlow(request) ? 1 : 0;
    return text;
  }};
  const auto event = [](const std::string& namespaceName, const std::string& message) {
    return EventInput{{"v1", "Pod", namespaceName, "p", "uid", "1"}, true, "Failed", message, "dynamo"};
  };
  withClient(server.config(), [&](EventLoop& loop, Client& client) -> Task<void> {
    EventRecorder recorder{loop, client, nullptr};
    for (const char* message : {"a", "b", "a"}) recorder.record(event("slow", message));
    recorder.record(event("quick", "a"));
    recorder.record(event("quick", "b"));
    const auto began = Clock::now();
    runtime::TaskGroup running{loop};
    running.spawn(recorder.run());
    while (recorder.queued() > 3) co_await loop.sleepUntil(in(1ms));
    CHECK(Clock::now() - began < kSlow);
    recorder.stop();
    co_await running.join();
    CHECK(recorder.queued() == 0);
  });
  CHECK(most == 1);
  std::string methods;
  for (const std::string& request : server.requests()) {
    if (isSlow(request)) methods += request.starts_with("POST") ? "create " : "count ";
  }
  CHECK(methods == "create create count ");
}

}  // namespace dynamo::kube::test
