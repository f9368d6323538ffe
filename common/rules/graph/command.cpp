// Commands and arguments of services (pod-Q30, dec-23). All findings are warnings because only the image
// knows what it runs.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/json/build.h"
#include "common/render/shell.h"
#include "common/rules/graph/process.h"

namespace dynamo::rules {
namespace {

bool hasWhitespace(std::string_view text) {
  return text.find_first_of(" \t\n") != std::string_view::npos;
}

/// Whether the script uses its arguments: $0, $1, $@.
bool readsArguments(std::string_view script) {
  for (std::size_t i = script.find('$'); i != std::string_view::npos; i = script.find('$', i + 1)) {
    if (script.substr(i + 1).find_first_of("0123456789@*#{") == 0) return true;
  }
  return false;
}

/// A flag without its value, which may be a secret.
std::string shownFlag(std::string_view text) {
  return showValue(text.substr(0, text.find_first_of("= \t\n")));
}

/// A component without a command gets "/bin/sh -c", which runs the first argument as a script.
void shellArguments(const Service& service, const Report& report) {
  const json::Value* command = json::find(service.mainContainer(), "command");
  if (command != nullptr && !command->IsArray()) return;  // the service has one, of a wrong type
  const Process process = processOf(service);
  if (!process.script) return;
  const std::string_view script = process.items[*process.script];
  const At place = process.list(*process.script);
  if (script.starts_with('-')) {
    report.warn(place, fmt::format("a shell runs the arguments, and {} is not a program: set command",
                                   shownFlag(script)));
  } else if (*process.script + 1 < process.items.size() && !readsArguments(script)) {
    report.warn(place, "a shell runs only the first argument: set command");
  }
}

void shellWithoutScript(const Service& service, const Report& report) {
  const Process process = processOf(service);
  if (!process.shell || process.arguments != 1 || process.items.size() < 2) return;
  if (process.script || !hasWhitespace(process.items[1])) return;
  report.warn(process.list(0), "needs -c: without it a shell reads the text as the name of a file");
}

/// In "python3 --model m" python takes flags of the missing module as its own.
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
                fmt::format("python has no option {}: put -m and a module before it", shownFlag(word)));
    return;
  }
}

void joinedCommand(const Service& service, const Report& report) {
  const Process process = processOf(service);
  if (process.arguments == 0 || !hasWhitespace(process.items.front())) return;
  report.warn(process.field(0), "contains whitespace: give each word as a separate item");
}

/// The program gets "--model m" as a single argument. Values and the scripts of shells may contain spaces.
void joinedArguments(const Service& service, const Report& report) {
  const Process process = processOf(service);
  if (process.arguments == 0 || process.shell) return;
  for (std::size_t i = process.arguments; i < process.items.size(); ++i) {
    const std::string_view text = process.items[i];
    const std::size_t blank = text.find(' ');
    if (!text.starts_with("--") || blank == std::string_view::npos) continue;
    if (text.substr(0, blank).find('=') != std::string_view::npos) continue;
    report.warn(process.field(i), "contains a space: give the flag and its value as two items");
  }
}

/// The tag of an image reference, without a digest; empty: it has none.
std::string_view tagOf(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t at = image.find_last_of("/:");
  return at == std::string_view::npos || image[at] == '/' ? std::string_view{} : image.substr(at + 1);
}

/// The index of the item that runs the mocker; nullopt: none does.
std::optional<std::size_t> mockerIn(const Process& process) {
  constexpr std::string_view kMocker = "dynamo.mocker";
  const auto isMocker = [&](std::string_view word) { return word == kMocker || word == "-mdynamo.mocker"; };
  for (std::size_t i = 0; i < process.items.size(); ++i) {
    if (isMocker(process.items[i])) return i;
    if (process.script != i) continue;
    for (const auto& command : commandsIn(process.items[i])) {
      if (std::any_of(command.begin(), command.end(), isMocker)) return i;
    }
  }
  return std::nullopt;
}

/// Whether a list names the variable, or sources may contain it.
bool mayHaveNats(const Service& service) {
  const json::Value* container = service.mainContainer();
  const auto names = [](const json::Value* list) { return json::findNamed(list, "NATS_SERVER") != nullptr; };
  return names(json::find(service.graph.spec, "envs")) || names(service.member("envs")) ||
         names(json::find(container, "env")) || json::find(container, "envFrom") != nullptr ||
         service.member("envFromSecret") != nullptr;
}

/// The mocker of 1.0 connects to NATS whatever its planes are, and ends if it cannot. Later ones do not.
void mockerWithoutNats(const Service& service, const Report& report) {
  if (service.graph.policy.natsProvided || mayHaveNats(service)) return;
  if (!tagOf(json::findText(service.mainContainer(), "image")).starts_with("1.0.")) return;
  const Process process = processOf(service);
  const std::optional<std::size_t> item = mockerIn(process);
  if (!item) return;
  report.warn(process.field(*item),
              "the mocker of 1.0 ends without NATS: set NATS_SERVER here, or natsAddress of the operator");
}

constexpr std::array kChecks = {
    ServiceCheck{
        {"service.worker-args", Severity::Warning,
         "arguments need a command: the default command is a shell that runs only the first argument"},
        shellArguments},
    ServiceCheck{{"service.shell-script", Severity::Warning, "a shell needs -c to run a script"},
                 shellWithoutScript},
    ServiceCheck{
        {"service.interpreter-args", Severity::Warning, "python gets a module or a script before its flags"},
        interpreterArguments},
    ServiceCheck{{"service.command-words", Severity::Warning, "a command is a list of words"}, joinedCommand},
    ServiceCheck{{"service.args-words", Severity::Warning, "a flag and its value are two arguments"},
                 joinedArguments},
    ServiceCheck{
        {"service.parallel-size", Severity::Warning, "an engine has as many GPUs as its parallel sizes need"},
        parallelSizes},
    ServiceCheck{{"service.mocker-nats", Severity::Warning, "the mocker of the runtime 1.0 needs NATS"},
                 mockerWithoutNats},
};

}  // namespace

std::span<const ServiceCheck> serviceCommandChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
