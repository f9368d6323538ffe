// Requests that wait for others. Decision ctl-Q60.

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "common/runtime/task_group.h"
#include "controller/kube/discovery.h"
#include "controller/kube/event_recorder.h"
#include "controller/kube/reflector.h"
#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

bool isSlow(const std::string& request) {
  return lineOf(request).find("/namespaces/slow/") != std::string::npos;
}

/// A server that answers requests about the namespace "slow" when it is told to.
class SlowServer {
 public:
  SlowServer() = default;
  SlowServer(const SlowServer&) = delete;
  SlowServer& operator=(const SlowServer&) = delete;
  ~SlowServer() { release(); }

  RestConfig config() const { return server_.config(); }
  std::vector<std::string> requests() const { return server_.requests(); }
  std::size_t slowRequests() const {
    const std::vector<std::string> all = requests();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), &isSlow));
  }
  /// The most slow requests that were in progress at one time.
  int most() const {
    const std::lock_guard lock{mutex_};
    return most_;
  }
  /// Answers the slow requests that were received, and all others from now on.
  void release() {
    const std::lock_guard lock{mutex_};
    released_ = true;
    change_.notify_all();
  }

 private:
  std::string answer(const std::string& request) {
    if (!isSlow(request)) return ok("{}");
    std::unique_lock lock{mutex_};
    most_ = std::max(most_, ++slow_);
    change_.wait(lock, [this] { return released_; });
    --slow_;
    return ok("{}");
  }

  mutable std::mutex mutex_;
  std::condition_variable change_;
  bool released_ = false;
  int slow_ = 0;
  int most_ = 0;
  ApiServer server_{[this](const std::string& request, int) { return answer(request); }};
};

/// Writes an object. The answer must arrive before that of a slow request may.
Task<void> write(Client& client, std::string namespaceName, CallOptions call) {
  const PatchOptions options;
  auto patched =
      co_await client.patch(configMaps(), namespaceName, "x", PatchType::Apply, "{}", options, call);
  CHECK(textOf(patched) == "{}");
}

}  // namespace

TEST_CASE("slow writes of one namespace delay no other namespace and nothing about the cluster") {
  SlowServer server;
  ClientOptions options;
  options.maxInFlight = 4;
  options.maxClusterInFlight = 2;
  options.maxEventsInFlight = 2;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        const CallOptions objects;
        const CallOptions cluster{Slots::Cluster};
        const CallOptions event{Slots::Events};
        for (int i = 0; i < 6; ++i) loop.spawn(write(client, "slow", objects));
        while (server.requests().size() < 3) co_await loop.sleepUntil(in(1ms));
        // One of four slots is left, however many requests of the namespace wait.
        for (const char* name : {"a", "b"}) {
          CAPTURE(name);
          co_await write(client, name, objects);
        }
        for (const CallOptions& call : {cluster, event}) {
          co_await write(client, "a", call);
        }
        auto groups = co_await discover(client);
        CHECK(std::holds_alternative<ApiGroups>(groups));
        const ListWatch source = listWatchOf(client, configMaps(), "");
        const ListOptions all;
        auto listed = co_await source.list(all);
        CHECK(std::holds_alternative<json::Document>(listed));
        CHECK(server.slowRequests() == 3);
        server.release();
      },
      options);
  CHECK(server.slowRequests() == 6);
}

TEST_CASE("slots that are all taken by slow requests about the cluster delay no objects and no lease") {
  SlowServer server;
  ClientOptions options;
  options.maxInFlight = 3;
  options.maxClusterInFlight = 1;
  options.maxEventsInFlight = 1;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        for (const Slots slots : {Slots::Cluster, Slots::Events, Slots::Objects}) {
          const CallOptions call{slots};
          for (int i = 0; i < 3; ++i) loop.spawn(write(client, "slow", call));
        }
        while (server.requests().size() < 4) co_await loop.sleepUntil(in(1ms));
        const CallOptions objects;
        co_await write(client, "a", objects);
        const CallOptions lease{10s, true};
        co_await write(client, "a", lease);
        server.release();
      },
      options);
  CHECK(server.requests().size() == 11);
}

TEST_CASE("a request that no longer waits leaves its place to others") {
  SlowServer server;
  ClientOptions options;
  options.maxInFlight = 1;
  std::vector<std::string> results;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        const CallOptions call;
        loop.spawn(write(client, "slow", call));
        while (server.requests().empty()) co_await loop.sleepUntil(in(1ms));
        const CallOptions hurried{50ms};
        co_await getOnce(client, results, hurried);
        CHECK(results == std::vector<std::string>{"Timeout: too many other requests were in progress"});
        server.release();
        co_await getOnce(client, results, call);
      },
      options);
  CHECK(results.back() == "{}");
  CHECK(server.requests().size() == 2);
}

TEST_CASE("Events of one namespace are written one by one, and delay no other namespace") {
  SlowServer server;
  const auto event = [](const std::string& namespaceName, const std::string& message) {
    return EventInput{{"v1", "Pod", namespaceName, "p", "uid", "1"}, true, "Failed", message, "dynamo"};
  };
  withClient(server.config(), [&](EventLoop& loop, Client& client) -> Task<void> {
    EventRecorder recorder{loop, client, nullptr};
    for (const char* message : {"a", "b", "a"}) recorder.record(event("slow", message));
    recorder.record(event("quick", "a"));
    recorder.record(event("quick", "b"));
    runtime::TaskGroup running{loop};
    running.spawn(recorder.run());
    while (recorder.queued() > 3) co_await loop.sleepUntil(in(1ms));
    server.release();
    recorder.stop();
    co_await running.join();
    CHECK(recorder.queued() == 0);
  });
  CHECK(server.most() == 1);
  std::string methods;
  for (const std::string& request : server.requests()) {
    if (isSlow(request)) methods += request.starts_with("POST") ? "create " : "count ";
  }
  CHECK(methods == "create create count ");
}

}  // namespace dynamo::kube::test
