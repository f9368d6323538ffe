#include "common/commands/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "common/field/show.h"
#include "common/field/suggest.h"

namespace dynamo::commands {
namespace {

/// Returns the innermost command of those that the arguments name.
const CLI::App& lastCommand(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? app : lastCommand(*given.front());
}

/// Returns the first argument that is no flag, if the app has no use for it.
std::string unknownWord(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  const auto found = std::find_if(words.begin(), words.end(),
                                  [](const std::string& each) { return !each.starts_with('-'); });
  return found == words.end() ? "" : *found;
}

/// Commands without a group are hidden.
std::vector<std::string> commandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each :
       app.get_subcommands([](const CLI::App* command) { return command != nullptr; })) {
    if (!each->get_group().empty()) names.push_back(each->get_name());
  }
  return names;
}

}  // namespace

std::string usageError(const CLI::App* app, const CLI::Error& error) {
  std::string plain = CLI::FailureMessage::simple(app, error);
  const CLI::App& command = lastCommand(*app);
  const std::vector<std::string> names = commandsOf(command);
  const std::string word = unknownWord(command);
  const bool missing = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  if (!missing || names.empty() || word.empty()) return plain;
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = field::nearest(word, candidates);
  return fmt::format("unknown command {}\n{}Run with --help for more information.\n", field::showValue(word),
                     near.empty() ? "" : fmt::format("\nDid you mean this?\n\t{}\n\n", near));
}

}  // namespace dynamo::commands
