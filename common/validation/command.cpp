// Commands and arguments of services (quirk pod-Q30). They are remarks: only the image knows what it runs.

#include <fmt/format.h>

#include <array>

#include "common/api/dynamo.h"
#include "common/validation/graph.h"

namespace dynamo::validation {
namespace {

using json::Value;

constexpr std::string_view kCommand = "extraPodSpec.mainContainer.command";
constexpr std::string_view kArguments = "extraPodSpec.mainContainer.args";

std::vector<std::string_view> commandOf(const Service& service) {
  return textsOf(json::find(service.mainContainer(), "command"));
}

std::vector<std::string_view> argumentsOf(const Service& service) {
  return textsOf(json::find(service.mainContainer(), "args"));
}

bool isShell(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "sh" || name == "bash";
}

bool hasBlank(std::string_view text) {
  return text.find_first_of(" \t\n") != std::string_view::npos;
}

/// Whether the script reads what stands behind it: $0, $1, $@.
bool readsArguments(std::string_view script) {
  for (std::size_t i = script.find('$'); i != std::string_view::npos; i = script.find('$', i + 1)) {
    if (script.substr(i + 1).find_first_of("0123456789@*#{") == 0) return true;
  }
  return false;
}

/// A worker without command gets "/bin/sh -c".
void shellArguments(const Service& service, const Report& report) {
  const auto command = commandOf(service);
  const auto args = argumentsOf(service);
  const bool given = command.size() == 2 && isShell(command[0]) && command[1] == "-c";
  const bool shell = command.empty() ? api::isWorkerType(service.type) : given;
  if (!shell || args.size() < 2 || readsArguments(args[0])) return;
  report.warn(service.at(kArguments), "a shell runs only the first: set command");
}

void shellWithoutScript(const Service& service, const Report& report) {
  const auto command = commandOf(service);
  const auto args = argumentsOf(service);
  if (command.size() != 1 || !isShell(command[0]) || args.empty() || !hasBlank(args[0])) return;
  report.warn(service.at(kCommand), "needs -c: without it the text is a file's name");
}

void joinedCommand(const Service& service, const Report& report) {
  const auto command = commandOf(service);
  if (command.empty() || !hasBlank(command[0])) return;
  report.warn(fmt::format("{}[0]", service.at(kCommand)), "holds a blank: each word is an item");
}

/// "--model m" reaches the program as one word. Values may hold blanks, and a shell's script does.
void joinedArguments(const Service& service, const Report& report) {
  const auto command = commandOf(service);
  const auto args = argumentsOf(service);
  if (command.empty() || isShell(command[0])) return;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::size_t blank = args[i].find(' ');
    if (!args[i].starts_with("--") || blank == std::string_view::npos) continue;
    if (args[i].substr(0, blank).find('=') != std::string_view::npos) continue;
    report.warn(fmt::format("{}[{}]", service.at(kArguments), i),
                "holds a blank: flag and value are two items");
  }
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.worker-args", Severity::Warning,
                  "of several arguments a shell runs the first; a worker without command has a shell"},
                 shellArguments},
    ServiceCheck{{"service.shell-script", Severity::Warning, "a shell needs -c to run a text"},
                 shellWithoutScript},
    ServiceCheck{{"service.command-words", Severity::Warning, "a command is a list of words"}, joinedCommand},
    ServiceCheck{{"service.args-words", Severity::Warning, "a flag and its value are two arguments"},
                 joinedArguments},
};

}  // namespace

std::span<const ServiceCheck> serviceCommandChecks() {
  return kChecks;
}

}  // namespace dynamo::validation
