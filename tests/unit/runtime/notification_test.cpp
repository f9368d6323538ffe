// Tasks that wait for one another.

#include "common/runtime/notification.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support.h"

namespace dynamo::runtime::test {
namespace {

Task<void> waitFor(Notification& notification, Deadline deadline, std::string name,
                   std::vector<std::string>& log) {
  const WaitResult how = co_await notification.wait(deadline);
  constexpr const char* kHow[] = {" ready", " late", " cancelled"};
  log.push_back(name + kHow[static_cast<int>(how)]);
}

Task<void> pause(EventLoop& loop) {
  static_cast<void>(co_await loop.sleepUntil(in(20ms)));
}

}  // namespace

TEST_CASE("a notification wakes every task that waits, in order, and only those") {
  EventLoop loop;
  Notification notification{loop};
  std::vector<std::string> log;
  const auto run = [&]() -> Task<void> {
    notification.notify();  // nobody waits yet
    loop.spawn(waitFor(notification, kNoDeadline, "a", log));
    loop.spawn(waitFor(notification, kNoDeadline, "b", log));
    co_await pause(loop);
    CHECK(log.empty());
    notification.notify();
    loop.spawn(waitFor(notification, kNoDeadline, "c", log));
    co_await pause(loop);
    CHECK(log == std::vector<std::string>{"a ready", "b ready"});
    notification.notify();
  };
  loop.spawn(run());
  loop.run();
  CHECK(log == std::vector<std::string>{"a ready", "b ready", "c ready"});
}

TEST_CASE("a wait for a notification ends at its deadline, when the loop stops, or with the notification") {
  EventLoop loop;
  Notification notification{loop};
  std::optional<Notification> shortLived;
  shortLived.emplace(loop);
  std::vector<std::string> log;
  const auto run = [&]() -> Task<void> {
    loop.spawn(waitFor(notification, in(1ms), "deadline", log));
    co_await pause(loop);
    loop.spawn(waitFor(*shortLived, kNoDeadline, "destroyed", log));
    co_await pause(loop);
    shortLived.reset();
    co_await pause(loop);
    loop.spawn(waitFor(notification, kNoDeadline, "stopped", log));
    co_await pause(loop);
    loop.stop();
  };
  loop.spawn(run());
  loop.run();
  CHECK(log == std::vector<std::string>{"deadline late", "destroyed cancelled", "stopped cancelled"});
}

TEST_CASE("a notification between making a wait and awaiting it is not lost, and leaves nothing behind") {
  EventLoop loop;
  Notification notification{loop};
  std::vector<std::string> log;
  const auto run = [&]() -> Task<void> {
    Wait wait = notification.wait();
    notification.notify();
    const WaitResult how = co_await std::move(wait);
    CHECK(how == WaitResult::Ready);
    loop.stop();  // goes through all waits that have begun
    static_cast<void>(co_await loop.sleepUntil(in(10s)));
  };
  loop.spawn(run());
  loop.run();
}

}  // namespace dynamo::runtime::test
