#include "common/rules/graph/process.h"

#include <algorithm>
#include <array>

#include "common/api/dynamo.h"
#include "common/k8s/program.h"

namespace dynamo::rules {
namespace {

using json::Value;

bool isShellOption(std::string_view word) {
  constexpr std::array<std::string_view, 4> kLong = {"--login", "--noprofile", "--norc", "--posix"};
  if (std::find(kLong.begin(), kLong.end(), word) != kLong.end()) return true;
  const bool one = word.size() > 1 && (word.front() == '-' || word.front() == '+');
  return one && word.find_first_not_of("cefilnouvx", 1) == std::string_view::npos;
}

/// The index of the script after the shell's options; nullopt without -c.
std::optional<std::size_t> scriptIn(const std::vector<std::string_view>& items) {
  bool text = false;
  std::size_t i = 1;
  for (; i < items.size() && isShellOption(items[i]); ++i) {
    const std::string_view word = items[i];
    if (word.starts_with("--")) continue;
    text = text || word.find('c') != std::string_view::npos;
    if (word.ends_with('o')) ++i;  // -o pipefail
  }
  if (i < items.size() && items[i] == "--") ++i;
  return text && i < items.size() ? std::optional{i} : std::nullopt;
}

/// The operator's command for a service without one (common/model/components.yaml).
std::vector<std::string_view> defaultCommand(std::string_view type) {
  if (type == api::kEpp) return {};
  if (type == api::kFrontend) return {"python3"};
  return {"/bin/sh", "-c"};
}

void append(std::vector<std::string_view>& items, const Value* list) {
  if (list == nullptr || !list->IsArray()) return;
  for (const Value& item : list->GetArray()) items.push_back(json::text(item));
}

}  // namespace

Process processOf(const Service& service) {
  Process process;
  process.service = &service;
  append(process.items, json::find(service.mainContainer(), "command"));
  process.ownCommand = !process.items.empty();
  if (!process.ownCommand) process.items = defaultCommand(service.type);
  process.arguments = process.items.size();
  append(process.items, json::find(service.mainContainer(), "args"));
  process.shell = process.arguments > 0 && k8s::isShell(process.items.front());
  if (process.shell) process.script = scriptIn(process.items);
  return process;
}

At Process::list(std::size_t item) const {
  return item < arguments ? service->at("extraPodSpec.mainContainer.command")
                          : service->at("extraPodSpec.mainContainer.args");
}

Path Process::field(std::size_t item) const {
  Path field = list(item).path();
  if (item >= arguments) return field[item - arguments];
  return ownCommand ? field[item] : field;
}

std::vector<std::vector<std::string>> commandsIn(std::string_view script) {
  std::vector<std::vector<std::string>> commands(1);
  std::string word;
  bool inWord = false;
  char quote = 0;
  const auto endWord = [&] {
    if (inWord) commands.back().push_back(word);
    word.clear();
    inWord = false;
  };
  for (std::size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    if (c == '\\' && quote != '\'' && i + 1 < script.size()) {
      if (script[++i] == '\n') continue;  // an escaped line break continues the line
      word += script[i];
      inWord = true;
    } else if (quote != 0 || c == '\'' || c == '"') {
      const bool ends = c == quote;
      if (ends || quote == 0) {
        quote = ends ? '\0' : c;
      } else {
        word += c;
      }
      inWord = true;
    } else if (c == ' ' || c == '\t') {
      endWord();
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
      endWord();
      if (!commands.back().empty()) commands.emplace_back();
    } else {
      word += c;
      inWord = true;
    }
  }
  endWord();
  return commands;
}

}  // namespace dynamo::rules
