// The order in which workers receive keys.
#include "controller/kube/work_queue.h"

#include <catch2/catch.hpp>

namespace dynamo::kube::test {
namespace {

using std::chrono::milliseconds;

struct Fixture {
  explicit Fixture(observability::Registry* metrics = nullptr) : queue(loop, "q", metrics, options(this)) {}
  static WorkQueue::Options options(Fixture* self) {
    WorkQueue::Options options;
    options.clock = [self] { return self->now; };
    return options;
  }
  std::string next() { return queue.tryNext().value_or("-"); }

  runtime::EventLoop loop;
  WorkQueue::TimePoint now{};
  WorkQueue queue;
};

TEST_CASE("a key is queued once") {
  Fixture f;
  f.queue.add("a");
  f.queue.add("b");
  f.queue.add("a");
  CHECK(f.next() == "a");
  CHECK(f.next() == "b");
  CHECK(f.next() == "-");
}

TEST_CASE("a key is never processed by two workers at the same time") {
  Fixture f;
  f.queue.add("a");
  CHECK(f.next() == "a");
  f.queue.add("a");
  f.queue.add("a");
  CHECK(f.next() == "-");
  f.queue.done("a");
  CHECK(f.next() == "a");
  f.queue.done("a");
  CHECK(f.next() == "-");
  CHECK(f.queue.idle());
}

TEST_CASE("delayed keys are returned when they are due") {
  Fixture f;
  f.queue.addAfter("a", milliseconds{100});
  f.queue.addAfter("b", milliseconds{50});
  f.queue.addAfter("a", milliseconds{200});
  CHECK_FALSE(f.queue.idle());
  CHECK(f.next() == "-");
  f.now += milliseconds{60};
  CHECK(f.next() == "b");
  f.now += milliseconds{40};
  CHECK(f.next() == "a");
  CHECK(f.next() == "-");
  SECTION("a shorter delay replaces a longer one") {
    f.queue.addAfter("c", milliseconds{100});
    f.queue.addAfter("c", milliseconds{10});
    f.now += milliseconds{10};
    CHECK(f.next() == "c");
    f.queue.done("c");
    f.now += milliseconds{100};
    CHECK(f.next() == "-");
  }
  SECTION("a delay of zero queues the key immediately") {
    f.queue.addAfter("c", milliseconds{0});
    CHECK(f.next() == "c");
  }
}

TEST_CASE("the retry delay doubles until the key succeeds") {
  Fixture f;
  long long delay = 5;
  for (int i = 0; i < 40; ++i) {
    INFO(i);
    f.queue.addRateLimited("a");
    f.now += milliseconds{delay - 1};
    REQUIRE(f.next() == "-");
    f.now += milliseconds{1};
    REQUIRE(f.next() == "a");
    f.queue.done("a");
    delay = std::min(2 * delay, 1'000'000LL);
  }
  f.queue.forget("a");
  f.queue.addRateLimited("a");
  f.now += milliseconds{5};
  CHECK(f.next() == "a");
}

TEST_CASE("a retry is not earlier than the API server allows") {
  Fixture f;
  f.queue.addRateLimited("a", milliseconds{120'000});
  f.now += milliseconds{119'999};
  CHECK(f.next() == "-");
  f.now += milliseconds{1};
  CHECK(f.next() == "a");
}

TEST_CASE("a worker waits for keys, for delays and for the shutdown") {
  runtime::EventLoop loop;
  WorkQueue queue{loop, "q", nullptr};
  std::string seen;
  const auto worker = [](WorkQueue& source, std::string& log) -> runtime::Task<void> {
    while (true) {
      const std::optional<std::string> key = co_await source.next();
      if (!key) break;
      log += *key;
      source.done(*key);
      if (*key == "b") source.shutDown();
    }
    log += ".";
  };
  const auto producer = [](runtime::EventLoop& on, WorkQueue& sink) -> runtime::Task<void> {
    const auto soon = std::chrono::steady_clock::now() + milliseconds{5};
    co_await on.sleepUntil(soon);
    sink.add("a");
    sink.addAfter("b", milliseconds{10});
  };
  loop.spawn(worker(queue, seen));
  loop.spawn(worker(queue, seen));
  loop.spawn(producer(loop, queue));
  loop.run();
  CHECK(seen == "ab..");
}

TEST_CASE("metrics of a work queue") {
  observability::Registry registry;
  Fixture f{&registry};
  f.queue.add("a");
  f.queue.add("b");
  f.next();
  f.now += std::chrono::seconds{3};
  f.queue.updateMetrics();
  const std::string text = registry.render();
  for (const std::string_view line : {R"(workqueue_depth{name="q"} 1)", R"(workqueue_adds_total{name="q"} 2)",
                                      R"(workqueue_longest_running_processor_seconds{name="q"} 3)",
                                      R"(workqueue_unfinished_work_seconds{name="q"} 3)",
                                      R"(workqueue_queue_duration_seconds_count{name="q"} 1)"}) {
    INFO(line);
    CHECK(text.find(line) != std::string::npos);
  }
}

}  // namespace
}  // namespace dynamo::kube::test
