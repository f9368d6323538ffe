// Commands and arguments of services (pod-Q30). They are remarks: only the image knows what it runs.

#include <fmt/format.h>

#include <array>

#include "common/render/shell.h"
#include "common/rules/graph/process.h"

namespace dynamo::rules {
namespace {

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

/// A flag without its value, which may be a secret.
std::string nameOfFlag(std::string_view text) {
  return showValue(text.substr(0, text.find_first_of("= \t\n")));
}

/// A component without command gets "/bin/sh -c", whose text is the first argument.
void shellArguments(const Service& service, const Report& report) {
  const Process process = processOf(service);
  if (!process.script) return;
  const std::string_view script = process.items[*process.script];
  const At place = process.list(*process.script);
  if (script.starts_with('-')) {
    report.warn(place,
                fmt::format("a shell runs them, and {} is no program: set command", nameOfFlag(script)));
  } else if (*process.script + 1 < process.items.size() && !readsArguments(script)) {
    report.warn(place, "a shell runs only the first: set command");
  }
}

void shellWithoutScript(const Service& service, const Report& report) {
  const Process process = processOf(service);
  if (!process.shell || process.arguments != 1 || process.items.size() < 2) return;
  if (process.script || !hasBlank(process.items[1])) return;
  report.warn(process.list(0), "needs -c: without it a shell takes the text for a file's name");
}

/// "python3 --model m": the interpreter is told what to run before the flags of that.
void interpreterArguments(const Service& service, const Report& report) {
  const Process process = processOf(service);
  if (process.arguments == 0 || !render::isPython(process.items.front())) return;
  for (std::size_t i = 1; i < process.items.size(); ++i) {
    const std::string_view word = process.items[i];
    if (!word.starts_with('-') || word.starts_with("-m") || word.starts_with("-c")) return;
    if (word == "-W" || word == "-X" || word == "--check-hash-based-pycs") ++i;
    if (!word.starts_with("--") || word == "--check-hash-based-pycs") continue;
    if (word == "--help" || word == "--version") return;
    report.warn(process.field(i),
                fmt::format("python has no {}: put -m and a module before it", nameOfFlag(word)));
    return;
  }
}

void joinedCommand(const Service& service, const Report& report) {
  const Process process = processOf(service);
  if (process.arguments == 0 || !hasBlank(process.items.front())) return;
  report.warn(process.field(0), "has a blank: give each word as an item of its own");
}

/// "--model m" reaches the program as one word. Values may hold blanks, and a shell's script does.
void joinedArguments(const Service& service, const Report& report) {
  const Process process = processOf(service);
  if (process.arguments == 0 || process.shell) return;
  for (std::size_t i = process.arguments; i < process.items.size(); ++i) {
    const std::string_view text = process.items[i];
    const std::size_t blank = text.find(' ');
    if (!text.starts_with("--") || blank == std::string_view::npos) continue;
    if (text.substr(0, blank).find('=') != std::string_view::npos) continue;
    report.warn(process.field(i), "has a blank: give flag and value as two items");
  }
}

constexpr std::array kChecks = {
    ServiceCheck{
        {"service.worker-args", Severity::Warning,
         "a shell runs the first of several arguments, which is a program's; without command there is "
         "a shell"},
        shellArguments},
    ServiceCheck{{"service.shell-script", Severity::Warning, "a shell needs -c to run a text"},
                 shellWithoutScript},
    ServiceCheck{{"service.interpreter-args", Severity::Warning,
                  "python is told what to run before the flags of that"},
                 interpreterArguments},
    ServiceCheck{{"service.command-words", Severity::Warning, "a command is a list of words"}, joinedCommand},
    ServiceCheck{{"service.args-words", Severity::Warning, "a flag and its value are two arguments"},
                 joinedArguments},
    ServiceCheck{
        {"service.parallel-size", Severity::Warning, "an engine that is split over GPUs has as many as that"},
        parallelSizes},
};

}  // namespace

std::span<const ServiceCheck> serviceCommandChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
