// Failures that end the process: no thread at start, a failing loop. Each test runs in a child process.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <variant>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

/// The standard error and the exit status of a child process.
struct Ended {
  std::string output;
  int status = 0;  ///< as returned by waitpid
};

/// Runs `child` in a child process and calls `meanwhile` with its first line of output.
Ended runApart(const std::function<int()>& child,
               const std::function<void(const std::string&)>& meanwhile = {}) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::alarm(60);  // a signal ends a child that hangs
    ::dup2(pipe[1], STDERR_FILENO);
    ::close(pipe[0]);
    ::close(pipe[1]);
    std::_Exit(child());
  }
  ::close(pipe[1]);
  Ended ended;
  std::array<char, 4096> part{};
  bool seenFirstLine = false;
  for (ssize_t got = 0; (got = ::read(pipe[0], part.data(), part.size())) > 0;) {
    ended.output.append(part.data(), static_cast<std::size_t>(got));
    const auto line = ended.output.find('\n');
    if (seenFirstLine || !meanwhile || line == std::string::npos) continue;
    seenFirstLine = true;
    meanwhile(ended.output.substr(0, line));
  }
  ::close(pipe[0]);
  ::waitpid(pid, &ended.status, 0);
  return ended;
}

void say(const std::string& text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) std::abort();
}

const Route* findNothing(std::string_view) {
  return nullptr;
}

}  // namespace

TEST_CASE("no thread at start is an error") {
  constexpr unsigned kThreads = 2;
  // The main thread, the workers and the I/O threads. Other processes of the user count against the same
  // limit, so it may be reached earlier.
  const rlim_t allowed = GENERATE(1U, 2U, 3U, 4U, 5U);
  const Ended ended = runApart([&] {
    const ContextPtr context = serverContext();
    const rlimit scarce{allowed, allowed};
    // The limit does not apply to root.
    if (::setrlimit(RLIMIT_NPROC, &scarce) != 0 || (::getuid() == 0 && ::setuid(65'534) != 0)) return 2;
    ServerOptions options;
    options.listen = {"127.0.0.1", 0};
    options.threads = kThreads;
    const auto started = Server::start(options, findNothing, [&] { return context; });
    if (const auto* error = std::get_if<runtime::StartError>(&started)) say(error->message);
    return std::holds_alternative<runtime::StartError>(started) ? 1 : 0;
  });
  CAPTURE(allowed, ended.output);
  REQUIRE(WIFEXITED(ended.status));
  if (WEXITSTATUS(ended.status) == 0) {
    CHECK(allowed == 5);
    return;
  }
  CHECK(WEXITSTATUS(ended.status) == 1);
  CHECK(ended.output == "cannot start a thread: Resource temporarily unavailable");
}

TEST_CASE("a loop that fails ends the process and says why") {
  const Ended ended = runApart(
      [] {
        ServerOptions options;
        options.listen = {"127.0.0.1", 0};
        options.threads = 1;
        // The acceptor handles exceptions of the library, but not a thrown number.
        const auto started =
            Server::start(options, findNothing, []() -> std::shared_ptr<SSL_CTX> { throw 42; });
        if (std::holds_alternative<runtime::StartError>(started)) return 2;
        say(std::to_string(std::get<Server>(started).port()) + "\n");
        ::pause();
        return 3;
      },
      [](const std::string& port) {
        const Client client{static_cast<std::uint16_t>(std::stoi(port)), Client::Tls::none};
      });
  CAPTURE(ended.output);
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == EXIT_FAILURE);
  CHECK(
      ended.output.find(R"("level":"error","logger":"http","msg":"the server loop failed","type":"int"})") !=
      std::string::npos);
}

}  // namespace dynamo::webhook::test
