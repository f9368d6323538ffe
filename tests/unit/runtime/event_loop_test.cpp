// Tasks and the loop that runs them.

#include "common/runtime/event_loop.h"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace dynamo::runtime::test {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    out = UniqueFd{ends[0]};
    in = UniqueFd{ends[1]};
  }
  UniqueFd out;
  UniqueFd in;
};

Task<int> addLater(EventLoop& loop, int a, int b) {
  static_cast<void>(co_await loop.sleepUntil(in(1ms)));
  co_return a + b;
}

Task<void> note(EventLoop& loop, std::chrono::milliseconds after, std::string text,
                std::vector<std::string>& out) {
  static_cast<void>(co_await loop.sleepUntil(in(after)));
  out.push_back(std::move(text));
}

Task<WaitResult> waitFor(Descriptor& descriptor, Deadline deadline) {
  co_return co_await descriptor.readable(deadline);
}

}  // namespace

TEST_CASE("a task returns its result or throws its exception to the awaiting task") {
  EventLoop loop;
  CHECK(runTask(loop, addLater(loop, 2, 3)) == 5);
  const auto fails = [](EventLoop& on) -> Task<int> {
    const int sum = co_await addLater(on, 1, 1);
    throw std::runtime_error{std::to_string(sum)};
  };
  const auto catches = [&](EventLoop& on) -> Task<std::string> {
    try {
      co_return std::to_string(co_await fails(on));
    } catch (const std::runtime_error& error) {
      co_return std::string{"caught "} + error.what();
    }
  };
  CHECK(runTask(loop, catches(loop)) == "caught 2");
}

TEST_CASE("a long chain of tasks that never wait does not grow the stack") {
  EventLoop loop;
  const auto one = []() -> Task<int> { co_return 1; };
  const auto many = [&]() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 200'000; ++i) sum += co_await one();
    co_return sum;
  };
  CHECK(runTask(loop, many()) == 200'000);
}

TEST_CASE("tasks alternate at their waits") {
  EventLoop loop;
  std::vector<std::string> order;
  loop.spawn(note(loop, 60ms, "late", order));
  loop.spawn(note(loop, 1ms, "early", order));
  loop.run();
  CHECK(order == std::vector<std::string>{"early", "late"});
}

TEST_CASE("an uncaught exception leaves run(), and the other tasks can still be destroyed") {
  EventLoop loop;
  std::vector<std::string> order;
  loop.spawn(note(loop, 1h, "never", order));
  const auto fails = [](EventLoop& on) -> Task<void> {
    static_cast<void>(co_await on.sleepUntil(in(1ms)));
    throw std::runtime_error{"lost"};
  };
  loop.spawn(fails(loop));
  CHECK_THROWS_WITH(loop.run(), "lost");
  CHECK(order.empty());
}

TEST_CASE("a wait for a descriptor ends when it is ready, at the deadline, or when it is cancelled") {
  EventLoop loop;
  Pipe pipe;
  Descriptor out{loop, std::move(pipe.out)};
  SECTION("ready already") {
    REQUIRE(::write(pipe.in.get(), "x", 1) == 1);
    CHECK(runTask(loop, waitFor(out, in(10s))) == WaitResult::Ready);
    CHECK(runTask(loop, waitFor(out, kNoDeadline)) == WaitResult::Ready);  // nothing was read
  }
  SECTION("ready later") {
    std::thread writer{[&] {
      std::this_thread::sleep_for(20ms);
      if (::write(pipe.in.get(), "x", 1) != 1) std::abort();
    }};
    CHECK(runTask(loop, waitFor(out, in(10s))) == WaitResult::Ready);
    writer.join();
  }
  SECTION("deadline") {
    CHECK(runTask(loop, waitFor(out, in(20ms))) == WaitResult::TimedOut);
    CHECK(runTask(loop, waitFor(out, in(-1s))) == WaitResult::TimedOut);
    REQUIRE(::write(pipe.in.get(), "x", 1) == 1);
    CHECK(runTask(loop, waitFor(out, in(10s))) == WaitResult::Ready);
  }
  SECTION("cancelled by another task") {
    const auto cancels = [](EventLoop& on, Descriptor& descriptor) -> Task<void> {
      static_cast<void>(co_await on.sleepUntil(in(20ms)));
      descriptor.cancel();
    };
    loop.spawn(cancels(loop, out));
    CHECK(runTask(loop, waitFor(out, kNoDeadline)) == WaitResult::Cancelled);
  }
  SECTION("the peer hangs up") {
    pipe.in.reset();
    CHECK(runTask(loop, waitFor(out, in(10s))) == WaitResult::Ready);
  }
}

TEST_CASE("stopping from another thread ends every wait, present and future") {
  EventLoop loop;
  Pipe pipe;
  Descriptor out{loop, std::move(pipe.out)};
  std::vector<WaitResult> seen;
  const auto waits = [&]() -> Task<void> {
    seen.push_back(co_await out.readable());
    seen.push_back(co_await loop.sleepUntil(kNoDeadline));
    CHECK(loop.stopping());
  };
  const auto sleeps = [&]() -> Task<void> { seen.push_back(co_await loop.sleepUntil(in(1h))); };
  loop.spawn(waits());
  loop.spawn(sleeps());
  std::thread stopper{[&] {
    std::this_thread::sleep_for(20ms);
    loop.stop();
  }};
  loop.run();
  stopper.join();
  CHECK(seen == std::vector(3, WaitResult::Cancelled));
}

TEST_CASE("work on another thread does not block the loop and need not be awaited") {
  EventLoop loop;
  std::vector<std::string> order;
  const auto offloads = [&]() -> Task<void> {
    const auto self = std::this_thread::get_id();
    const auto other = std::make_shared<std::thread::id>();
    std::function<void()> work = [other] {
      std::this_thread::sleep_for(50ms);
      *other = std::this_thread::get_id();
    };
    const WaitResult done = co_await loop.offload(std::move(work));
    CHECK(done == WaitResult::Ready);
    CHECK(*other != self);
    CHECK(std::this_thread::get_id() == self);
    order.emplace_back("work");
    std::function<void()> slow = [] { std::this_thread::sleep_for(100ms); };
    const WaitResult late = co_await loop.offload(std::move(slow), in(5ms));
    CHECK(late == WaitResult::TimedOut);
  };
  loop.spawn(offloads());
  loop.spawn(note(loop, 1ms, "sleep", order));
  loop.run();
  CHECK(order == std::vector<std::string>{"sleep", "work"});
}

TEST_CASE("functions posted by other threads run on the loop's thread") {
  EventLoop loop;
  int calls = 0;
  const auto self = std::this_thread::get_id();
  const auto counts = [&]() -> Task<void> {
    while (calls < 400) static_cast<void>(co_await loop.sleepUntil(in(1ms)));
  };
  loop.spawn(counts());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        loop.post([&] { calls += std::this_thread::get_id() == self ? 1 : 1000; });
    });
  }
  loop.run();
  for (auto& thread : threads) thread.join();
  CHECK(calls == 400);
}

}  // namespace dynamo::runtime::test
