// Warns of references to variables that are not expanded: in commands, arguments and values the kubelet
// expands only $(NAME). Values are never shown because they may be secrets.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/k8s/program.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr std::string_view kNameStart = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

/// "-c" or "-lc": the next word is a script.
bool precedesScript(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && word.back() == 'c' &&
         word.find_first_not_of(kNameStart, 1) == std::string_view::npos;
}

/// The name in the first ${NAME} of `text`, or in the first $NAME of a variable in `known`; else empty.
std::string_view referenceIn(std::string_view text, const std::set<std::string_view>& known, bool braced) {
  for (std::size_t i = text.find('$'); i != std::string_view::npos; i = text.find('$', i + 1)) {
    std::string_view rest = text.substr(i + 1);
    const bool brace = rest.starts_with('{');
    if (brace) rest.remove_prefix(1);
    if (rest.empty() || kNameStart.find(rest.front()) == std::string_view::npos) continue;
    const std::size_t end = std::min(rest.find_first_not_of(kName), rest.size());
    const std::string_view name = rest.substr(0, end);
    if (brace && (end == rest.size() || rest[end] != '}')) continue;
    if ((brace && braced) || known.contains(name)) return name;
  }
  return {};
}

void warnUnexpanded(const Reports& report, const At& at, std::string_view name) {
  if (name.empty()) return;
  report(id::kReference).warn(at, fmt::format("a reference to {0} is not expanded here: write $({0})", name));
}

/// Whether the program itself expands references: a shell, or env with a string to split.
bool isExpanded(std::string_view program, const Value* args) {
  if (k8s::isShell(program)) return true;
  if (k8s::programName(program) != "env" || args == nullptr || !args->IsArray()) return false;
  return std::any_of(args->Begin(), args->End(), [](const Value& word) {
    const std::string_view text = json::text(word);
    return text.starts_with("-S") || text.starts_with("--split-string");
  });
}

/// Whether any word or value contains '$'. Most containers have none and need no further checks.
bool containsDollar(const Value& container) {
  const auto any = [&container](std::string_view list, const auto& textOf) {
    const Value* items = json::find(container, list);
    if (items == nullptr || !items->IsArray()) return false;
    return std::any_of(items->Begin(), items->End(),
                       [&](const Value& item) { return textOf(item).find('$') != std::string_view::npos; });
  };
  const auto word = [](const Value& item) { return json::text(item); };
  const auto value = [](const Value& item) { return json::findText(&item, "value"); };
  return any("command", word) || any("args", word) || any("env", value);
}

}  // namespace

void references(const Reports& report, const Value& container, const At& at) {
  if (!containsDollar(container)) return;
  std::set<std::string_view> known;
  const At envAt = at / "env";
  const Value* env = json::find(container, "env");
  forEach(env, envAt,
          [&](const Value& variable, const At&) { known.insert(json::findText(&variable, "name")); });
  forEach(env, envAt, [&](const Value& variable, const At& place) {
    warnUnexpanded(report, place / "value", referenceIn(json::findText(&variable, "value"), known, false));
  });
  const Value* command = json::find(container, "command");
  const Value* args = json::find(container, "args");
  const bool given = command != nullptr && command->IsArray() && !command->Empty();
  const std::string_view program = given ? json::text((*command)[0]) : std::string_view{};
  if (isExpanded(program, command) || isExpanded(program, args)) return;
  bool text = false;
  for (const std::string_view field : {"command", "args"}) {
    const At list = at / field;
    forEachText(field == "args" ? args : command, list, [&](std::string_view word, const At& place) {
      const bool skipped = text || word.find('\n') != std::string_view::npos;
      text = precedesScript(word);
      if (!skipped) warnUnexpanded(report, place, referenceIn(word, known, true));
    });
  }
}

}  // namespace dynamo::rules::pod
