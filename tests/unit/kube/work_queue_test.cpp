// The order in which workers receive keys.
#include "controller/kube/work_queue.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace dynamo::kube::test {
namespace {

using std::chrono::milliseconds;

/// Returns the key of "NAMESPACE/NAME". Without a namespace it is that of a cluster-scoped object.
WorkQueue::Key key(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {"", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

std::string textOf(const WorkQueue::Key& key) {
  return key.namespaceName.empty() ? key.name : key.namespaceName + "/" + key.name;
}

struct Fixture {
  explicit Fixture(observability::Registry* metrics = nullptr, std::size_t workers = kUnlimited)
      : queue(loop, "q", metrics, options(this, workers)) {}
  static WorkQueue::Options options(Fixture* self, std::size_t workers) {
    WorkQueue::Options options;
    options.workers = workers;
    options.clock = [self] { return self->now; };
    return options;
  }
  std::string next() {
    const std::optional<WorkQueue::Key> next = queue.tryNext();
    return next ? textOf(*next) : "-";
  }

  runtime::EventLoop loop;
  WorkQueue::TimePoint now{};
  WorkQueue queue;
};

TEST_CASE("a key is queued once") {
  Fixture f;
  f.queue.add(key("a"));
  f.queue.add(key("b"));
  f.queue.add(key("a"));
  CHECK(f.next() == "a");
  CHECK(f.next() == "b");
  CHECK(f.next() == "-");
}

TEST_CASE("a key is never processed by two workers at the same time") {
  Fixture f;
  f.queue.add(key("a"));
  CHECK(f.next() == "a");
  f.queue.add(key("a"));
  f.queue.add(key("a"));
  CHECK(f.next() == "-");
  f.queue.done(key("a"));
  CHECK(f.next() == "a");
  f.queue.done(key("a"));
  CHECK(f.next() == "-");
  CHECK(f.queue.idle());
}

TEST_CASE("delayed keys are returned when they are due") {
  Fixture f;
  f.queue.addAfter(key("a"), milliseconds{100});
  f.queue.addAfter(key("b"), milliseconds{50});
  f.queue.addAfter(key("a"), milliseconds{200});
  CHECK_FALSE(f.queue.idle());
  CHECK(f.next() == "-");
  f.now += milliseconds{60};
  CHECK(f.next() == "b");
  f.now += milliseconds{40};
  CHECK(f.next() == "a");
  CHECK(f.next() == "-");
  SECTION("a shorter delay replaces a longer one") {
    f.queue.addAfter(key("c"), milliseconds{100});
    f.queue.addAfter(key("c"), milliseconds{10});
    f.now += milliseconds{10};
    CHECK(f.next() == "c");
    f.queue.done(key("c"));
    f.now += milliseconds{100};
    CHECK(f.next() == "-");
  }
  SECTION("a delay of zero queues the key immediately") {
    f.queue.addAfter(key("c"), milliseconds{0});
    CHECK(f.next() == "c");
  }
}

TEST_CASE("the retry delay doubles until the key succeeds") {
  Fixture f;
  long long delay = 5;
  for (int i = 0; i < 40; ++i) {
    INFO(i);
    f.queue.addRateLimited(key("a"));
    f.now += milliseconds{delay - 1};
    REQUIRE(f.next() == "-");
    f.now += milliseconds{1};
    REQUIRE(f.next() == "a");
    f.queue.done(key("a"));
    delay = std::min(2 * delay, 1'000'000LL);
  }
  f.queue.forget(key("a"));
  f.queue.addRateLimited(key("a"));
  f.now += milliseconds{5};
  CHECK(f.next() == "a");
}

TEST_CASE("a retry is not earlier than the API server allows") {
  Fixture f;
  f.queue.addRateLimited(key("a"), milliseconds{120'000});
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
      const std::optional<WorkQueue::Key> next = co_await source.next();
      if (!next) break;
      log += next->name;
      source.done(*next);
      if (next->name == "b") source.shutDown();
    }
    log += ".";
  };
  const auto producer = [](runtime::EventLoop& on, WorkQueue& sink) -> runtime::Task<void> {
    const auto soon = std::chrono::steady_clock::now() + milliseconds{5};
    co_await on.sleepUntil(soon);
    sink.add(key("a"));
    sink.addAfter(key("b"), milliseconds{10});
  };
  loop.spawn(worker(queue, seen));
  loop.spawn(worker(queue, seen));
  loop.spawn(producer(loop, queue));
  loop.run();
  CHECK(seen == "ab..");
}

// Decision ctl-Q60.
TEST_CASE("namespaces take turns, and none takes all workers") {
  struct Row {
    const char* about;
    std::size_t workers;
    std::vector<const char*> steps;  ///< "+KEY" adds, "-KEY" is done; anything else is what `next` returns
  };
  for (const Row& row : {
           Row{"first in, first out within a namespace", 8, {"+a/1", "+a/2", "a/1", "a/2"}},
           Row{"one key of each namespace in turn",
               100,
               {"+a/1", "+a/2", "+a/3", "+b/1", "+b/2", "+c/1", "a/1", "b/1", "c/1", "a/2", "b/2", "a/3",
                "-"}},
           Row{"a namespace that has had its turn goes to the end",
               100,
               {"+a/1", "+b/1", "a/1", "+a/2", "+c/1", "b/1", "a/2", "c/1"}},
           Row{"one namespace has two thirds of the workers",
               6,
               {"+a/1", "+a/2", "+a/3", "+a/4", "+a/5", "+a/6", "a/1", "a/2", "a/3", "a/4", "-", "-a/2",
                "a/5", "-"}},
           Row{"another namespace has a worker at once",
               6,
               {"+a/1", "+a/2", "+a/3", "+a/4", "+a/5", "a/1", "a/2", "a/3", "a/4", "-", "+b/1", "b/1",
                "+c/1", "c/1", "-"}},
           Row{"all workers are used by as many namespaces",
               3,
               {"+a/1", "+b/1", "+c/1", "+d/1", "a/1", "b/1", "c/1", "-", "-b/1", "d/1"}},
           Row{"a share becomes smaller when others come",
               6,
               {"+a/1", "+a/2", "+a/3", "+a/4", "+b/1", "+b/2", "+b/3", "a/1", "b/1", "a/2", "b/2", "a/3",
                "-", "-a/1", "b/3", "-"}},
           Row{"one worker serves all",
               1,
               {"+a/1", "+a/2", "+b/1", "a/1", "-", "-a/1", "b/1", "-b/1", "a/2"}},
           Row{"a key that is added while it is processed waits for its worker",
               8,
               {"+a/1", "a/1", "+a/1", "+a/2", "a/2", "-", "-a/1", "a/1", "-"}},
           Row{"the same name in two namespaces is two keys", 8, {"+a/1", "+b/1", "a/1", "b/1"}},
           Row{"objects of the cluster share like a namespace",
               4,
               {"+1", "+2", "+3", "+a/1", "1", "a/1", "2"}},
           Row{"a name contains a slash", 8, {"+a/b/c", "a/b/c", "-a/b/c", "-"}},
       }) {
    CAPTURE(row.about);
    Fixture f{nullptr, row.workers};
    for (const std::string step : row.steps) {
      CAPTURE(step);
      if (step.starts_with('+')) {
        f.queue.add(key(step.substr(1)));
      } else if (step.size() > 1 && step.starts_with('-')) {
        f.queue.done(key(step.substr(1)));
      } else {
        CHECK(f.next() == step);
      }
    }
  }
}

TEST_CASE("a worker that becomes free wakes one that waits for its share") {
  runtime::EventLoop loop;
  WorkQueue::Options options;
  options.workers = 3;
  WorkQueue queue{loop, "q", nullptr, options};
  std::string seen;
  int running = 0;
  const auto worker = [&]() -> runtime::Task<void> {
    while (const std::optional<WorkQueue::Key> next = co_await queue.next()) {
      CHECK(++running <= 2);
      const auto soon = std::chrono::steady_clock::now() + milliseconds{2};
      co_await loop.sleepUntil(soon);
      --running;
      seen += next->name;
      queue.done(*next);
      if (seen.size() == 4) queue.shutDown();
    }
    seen += ".";
  };
  for (const char* name : {"a/1", "a/2", "a/3", "a/4"}) queue.add(key(name));
  for (int i = 0; i < 3; ++i) loop.spawn(worker());
  loop.run();
  CHECK(seen == "1234...");
}

TEST_CASE("a queue that is shut down returns no key and takes no more") {
  Fixture f;
  f.queue.add(key("a/1"));
  f.queue.add(key("a/2"));
  f.queue.addAfter(key("a/3"), milliseconds{5});
  CHECK(f.next() == "a/1");
  f.queue.shutDown();
  f.now += milliseconds{10};
  f.queue.add(key("b/1"));
  f.queue.addRateLimited(key("b/2"));
  CHECK(f.next() == "-");
  f.queue.done(key("a/1"));
  CHECK(f.next() == "-");
}

TEST_CASE("metrics of a work queue") {
  observability::Registry registry;
  Fixture f{&registry};
  f.queue.add(key("a"));
  f.queue.add(key("b"));
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
