#include "controller/plugin/credentials/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "common/runtime/fd.h"
#include "common/runtime/reason.h"

namespace dynamo::plugin {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kPart = 4096;

/// The arguments of posix_spawn that must be destroyed.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
    // This process ignores SIGPIPE and blocks the signals that it reads from a descriptor. A child process
    // inherits both settings, so they are reset.
    sigset_t empty{};
    sigemptyset(&empty);
    sigset_t defaults{};
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes_, &empty);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void connect(int output) {
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
  }
  int spawn(pid_t& child, const std::string& command, char* const* arguments, char* const* environment) {
    return posix_spawnp(&child, command.c_str(), &files_, &attributes_, arguments, environment);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

std::vector<std::string> environmentOf(const Program& program) {
  std::vector<std::string> out;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text{*each};
    const std::string_view name = text.substr(0, text.find('='));
    const bool overridden = std::any_of(program.environment.begin(), program.environment.end(),
                                        [&](const auto& own) { return own.first == name; });
    if (!overridden) out.emplace_back(text);
  }
  for (const auto& [name, value] : program.environment) {
    out.emplace_back(name).append("=").append(value);
  }
  return out;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// Reads to the end of the pipe. Returns an error message if the timeout or the output limit is exceeded.
std::optional<std::string> readAll(int fd, const Program& program, steady_clock::time_point end,
                                   std::string& out) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max(left, milliseconds{0}).count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return "did not end within " + std::to_string(program.timeout.count()) + " ms";
    std::array<char, kPart> part{};
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    out.append(part.data(), static_cast<std::size_t>(got));
    if (out.size() > program.maxOutputBytes) {
      return "printed more than " + std::to_string(program.maxOutputBytes) + " bytes";
    }
  }
}

/// Returns the wait status of the child, or nullopt after the deadline.
std::optional<int> waitFor(pid_t child, steady_clock::time_point end) {
  constexpr milliseconds kStep{5};
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return -1;
    if (steady_clock::now() >= end) return std::nullopt;
    ::usleep(static_cast<useconds_t>(std::chrono::microseconds{kStep}.count()));
  }
}

std::optional<std::string> problemOf(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  if (WIFEXITED(status)) return "ended with status " + std::to_string(WEXITSTATUS(status));
  return "was ended by signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

std::variant<ProgramOutput, ProgramError> run(const Program& program) {
  const auto end = steady_clock::now() + program.timeout;
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ProgramError{"cannot be run: " + runtime::reasonOf(errno)};
  const runtime::UniqueFd reading{ends[0]};
  runtime::UniqueFd writing{ends[1]};
  std::vector<std::string> arguments{program.command};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  std::vector<std::string> environment = environmentOf(program);
  SpawnSettings settings;
  settings.connect(writing.get());
  pid_t child = -1;
  const int error =
      settings.spawn(child, program.command, pointersTo(arguments).data(), pointersTo(environment).data());
  if (error != 0) return ProgramError{"cannot be run: " + runtime::reasonOf(error), error == ENOENT};
  writing.reset();
  ProgramOutput output;
  auto problem = readAll(reading.get(), program, end, output.text);
  std::optional<int> status;
  if (!problem) {
    status = waitFor(child, end);
    if (!status) problem = "did not end within " + std::to_string(program.timeout.count()) + " ms";
  }
  if (!status) {
    ::kill(-child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (!problem) problem = problemOf(*status);
  if (problem) return ProgramError{std::move(*problem)};
  return output;
}

}  // namespace dynamo::plugin
