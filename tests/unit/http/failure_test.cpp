// What the process cannot go on with: no thread at start, a loop that fails. Each in a process of its own.

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

/// What a child process wrote to standard error, and how it ended.
struct Ended {
  std::string said;
  int status = 0;  ///< as waitpid has it
};

/// Runs `child` in a process of its own, and `meanwhile` with the first line that it wrote.
Ended runApart(const std::function<int()>& child,
               const std::function<void(const std::string&)>& meanwhile = {}) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::alarm(60);  // a child that hangs ends by a signal
    ::dup2(pipe[1], STDERR_FILENO);
    ::close(pipe[0]);
    ::close(pipe[1]);
    std::_Exit(child());
  }
  ::close(pipe[1]);
  Ended ended;
  std::array<char, 4096> part{};
  bool told = false;
  for (ssize_t got = 0; (got = ::read(pipe[0], part.data(), part.size())) > 0;) {
    ended.said.append(part.data(), static_cast<std::size_t>(got));
    const auto line = ended.said.find('\n');
    if (told || !meanwhile || line == std::string::npos) continue;
    told = true;
    meanwhile(ended.said.substr(0, line));
  }
  ::close(pipe[0]);
  ::waitpid(pid, &ended.status, 0);
  return ended;
}

void say(const std::string& text) {
  static_cast<void>(::write(STDERR_FILENO, text.data(), text.size()));
}

const Route* findNothing(std::string_view) {
  return nullptr;
}

}  // namespace

TEST_CASE("no thread at start is an error") {
  constexpr unsigned kThreads = 2;
  // This one, the workers, those of connections. A limit that other processes of the user use up as well may
  // be met earlier.
  const rlim_t allowed = GENERATE(1U, 2U, 3U, 4U, 5U);
  const Ended ended = runApart([&] {
    const ContextPtr context = serverContext();
    const rlimit scarce{allowed, allowed};
    // The limit is none of root's.
    if (::setrlimit(RLIMIT_NPROC, &scarce) != 0 || (::getuid() == 0 && ::setuid(65'534) != 0)) return 2;
    ServerOptions options;
    options.listen = {"127.0.0.1", 0};
    options.threads = kThreads;
    const auto started = Server::start(options, findNothing, [&] { return context; });
    if (const auto* error = std::get_if<runtime::StartError>(&started)) say(error->message);
    return std::holds_alternative<runtime::StartError>(started) ? 1 : 0;
  });
  CAPTURE(allowed, ended.said);
  REQUIRE(WIFEXITED(ended.status));
  if (WEXITSTATUS(ended.status) == 0) {
    CHECK(allowed == 5);
    return;
  }
  CHECK(WEXITSTATUS(ended.status) == 1);
  CHECK(ended.said == "cannot start a thread: Resource temporarily unavailable");
}

TEST_CASE("a loop that fails ends the process and says why") {
  const Ended ended = runApart(
      [] {
        ServerOptions options;
        options.listen = {"127.0.0.1", 0};
        options.threads = 1;
        // What accepts is prepared for exceptions of the library, not for a number.
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
  CAPTURE(ended.said);
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == EXIT_FAILURE);
  CHECK(ended.said.find(
            R"("level":"error","logger":"http","msg":"the loop of a server failed","type":"int"})") !=
        std::string::npos);
}

}  // namespace dynamo::webhook::test
