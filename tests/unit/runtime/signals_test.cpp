// Waits for the signal to stop.

#include "common/runtime/signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "support.h"
#include "tests/unit/certs/support.h"

namespace dynamo::runtime::test {
namespace {

/// Runs `body` in a child process, because signals affect the whole process. Returns its exit status.
int statusOf(const std::function<int()>& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(body());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

FileWatch counting(int& looks, std::chrono::milliseconds interval = 20s) {
  return {nullptr, [&looks] { ++looks; }, interval, 1ms};
}

}  // namespace

TEST_CASE("a signal to stop ends the wait and is returned") {
  for (const int number : {SIGTERM, SIGINT}) {
    CHECK(statusOf([number] {
            const Signals signals;
            ::raise(number);
            int looks = 0;
            return waitForStop(signals, counting(looks));
          }) == number);
  }
}

TEST_CASE("SIGHUP only checks the files") {
  CHECK(statusOf([] {
          const Signals signals;
          ::raise(SIGHUP);
          int looks = 0;
          const int number = waitForStop(signals, counting(looks), 300ms);
          return number == 0 && looks >= 1 ? 7 : 8;
        }) == 7);
}

TEST_CASE("files are checked after a change and at every interval") {
  const certs::test::TemporaryDirectory directory;
  CHECK(statusOf([&] {
          const Signals signals;
          DirectoryWatch watch{directory.path()};
          certs::test::writeText(directory.path() / "file", "x");
          int looks = 0;
          FileWatch files = counting(looks);
          files.directory = &watch;
          if (waitForStop(signals, files, 300ms) != 0 || looks < 1 || looks > 2) return 10;
          int polls = 0;
          if (waitForStop(signals, counting(polls, 20ms), 500ms) != 0 || polls < 2) return 11;
          return 7;
        }) == 7);
}

TEST_CASE("a closed peer does not end the program") {
  CHECK(statusOf([] {
          const Signals signals;
          ::raise(SIGPIPE);
          return 7;
        }) == 7);
}

}  // namespace dynamo::runtime::test
