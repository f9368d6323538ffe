#include "common/render/shell.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kNeedsQuotes = " \t\n'\"\\{}[]$`!;&|<>()*?~#";
constexpr std::string_view kBlank = " \t\n\v\f\r";

/// Length of a reference $(NAME) at the start of `text`; 0 if there is none.
std::size_t referenceLength(std::string_view text) {
  static const re2::RE2 kReference{R"(\$\([A-Za-z_][-A-Za-z0-9_.]*\))"};
  const re2::StringPiece piece{text.data(), text.size()};
  re2::StringPiece match;
  return kReference.Match(piece, 0, piece.size(), re2::RE2::ANCHOR_START, &match, 1) ? match.size() : 0;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return found;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlank), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void appendWords(const Value* list, std::vector<std::string_view>& all) {
  if (list == nullptr || !list->IsArray()) return;
  for (const Value& item : list->GetArray()) {
    for (const std::string_view word : words(json::text(item))) all.push_back(word);
  }
}

std::optional<long long> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  long long value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Expressions {
  re2::RE2 module;  ///< matches "python3 -m dynamo.vllm"
  re2::RE2 token;   ///< any word with the framework name, as in the reference

  explicit Expressions(std::string_view framework)
      : module(fmt::format(R"((python[0-9.]*\s[^|&;]*?-m\s+dynamo\.{}[^\s|&;]*)([^|&;]*))", framework)),
        token(fmt::format(R"((python[0-9.]*\s+[^|&;]*{}[^|&;]*?)(\s|$|[|&;]))", framework)) {}
};

const Expressions& expressionsOf(std::string_view framework) {
  static const Expressions kVllmExpressions{"vllm"};
  static const Expressions kSglangExpressions{"sglang"};
  return framework == "vllm" ? kVllmExpressions : kSglangExpressions;
}

/// Escapes backslashes, which are special in rewrite strings of RE2.
std::string literal(std::string_view flags) {
  std::string out;
  for (const char c : flags) {
    if (c == '\\') out += '\\';
    out += c;
  }
  return out;
}

bool runs(std::string_view text, std::string_view framework) {
  const Expressions& expressions = expressionsOf(framework);
  const re2::StringPiece piece{text.data(), text.size()};
  return re2::RE2::PartialMatch(piece, expressions.module) ||
         re2::RE2::PartialMatch(piece, expressions.token);
}

/// The first item that is a shell script which runs the framework. `List` is Value or const Value.
template <typename List>
List* itemThatRuns(List* list, std::string_view framework) {
  if (list == nullptr || !list->IsArray()) return nullptr;
  for (List& item : list->GetArray()) {
    if (runs(json::text(item), framework)) return &item;
  }
  return nullptr;
}

void appendItems(const Value* list, std::vector<std::string_view>& all) {
  if (list == nullptr || !list->IsArray()) return;
  for (const Value& item : list->GetArray()) all.push_back(json::text(item));
}

/// Whether the command is a shell with a script, such as "sh -c" or "/bin/bash -ec". Later items are the
/// script and its arguments.
bool isScript(const std::vector<std::string_view>& items) {
  if (items.size() < 2) return false;
  const std::string_view name = items[0].substr(items[0].rfind('/') + 1);
  const bool shell = name.ends_with("sh") && name.find('.') == std::string_view::npos;
  return shell && items[1].starts_with('-') && items[1].ends_with('c');
}

/// Whether a launcher starts the framework, for example [env, A=b, python3, -m, dynamo.vllm].
bool isLaunched(const Value& container, std::string_view framework) {
  std::vector<std::string_view> items;
  appendItems(json::find(container, "command"), items);
  if (items.empty() || isScript(items)) return false;
  appendItems(json::find(container, "args"), items);
  const auto python = std::find_if(items.begin(), items.end(), isPython);
  const auto flag = std::find(python, items.end(), "-m");
  return flag != items.end() && std::next(flag) != items.end() &&
         std::next(flag)->starts_with(fmt::format("dynamo.{}", framework));
}

/// Where the flags of the framework are added. `Text` is const where the container is.
template <typename Text>
struct FlagTarget {
  bool process = false;  ///< after all arguments of the container
  Text* text = nullptr;  ///< inside this shell script
};

template <typename Container>
FlagTarget<Container> flagTargetOf(Container& container, std::string_view framework) {
  Container* command = json::find(container, "command");
  const bool given = command != nullptr && command->IsArray() && !command->Empty();
  if (given && isPython(json::text((*command)[0]))) return {.process = true};
  if (Container* text = itemThatRuns(json::find(container, "args"), framework)) return {.text = text};
  if (isLaunched(container, framework)) return {.process = true};
  return {.text = itemThatRuns(command, framework)};
}

Value withWords(Value&& list, std::string_view text, Allocator& allocator) {
  for (const std::string_view word : words(text)) list.PushBack(json::string(word, allocator), allocator);
  return std::move(list);
}

}  // namespace

bool isPython(std::string_view command) {
  static const re2::RE2 kPython{R"((.*/)?python\d*(\.\d+)*)"};
  return re2::RE2::FullMatch(re2::StringPiece{command.data(), command.size()}, kPython);
}

std::string quote(std::string_view text, Quoting quoting) {
  if (text.find_first_of(kNeedsQuotes) == std::string_view::npos) return std::string{text};
  if (referenceLength(text) == text.size()) return std::string{text};
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t reference = referenceLength(text.substr(i)); reference > 0) {
      out += text.substr(i, reference);
      i += reference;
      continue;
    }
    const char c = text[i++];
    if (c == '\'' && quoting == Quoting::InsideSingleQuotes) {
      out += R"('"'"')";
      continue;
    }
    if (c == '\\' || c == '"' || c == '$' || c == '`') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string quoteAll(const Value* list, Quoting quoting) {
  std::string out;
  if (list == nullptr || !list->IsArray()) return out;
  for (const Value& item : list->GetArray()) {
    if (&item != list->Begin()) out += ' ';
    out += quote(json::text(item), quoting);
  }
  return out;
}

std::optional<std::string> injectIntoText(std::string_view text, std::string_view flags,
                                          std::string_view framework) {
  const Expressions& expressions = expressionsOf(framework);
  std::string changed{text};
  const std::string piece = literal(flags);
  if (re2::RE2::GlobalReplace(&changed, expressions.module, R"(\1 )" + piece + R"(\2)") > 0) return changed;
  if (re2::RE2::GlobalReplace(&changed, expressions.token, R"(\1 )" + piece + R"(\2)") > 0) return changed;
  return std::nullopt;
}

bool injectFlags(Value& container, const Flags& flags, bool needsShell, std::string_view framework,
                 Allocator& allocator) {
  const FlagTarget<Value> target = flagTargetOf(container, framework);
  if (target.text != nullptr) {
    const auto changed = injectIntoText(json::text(*target.text), flags.shell, framework);
    if (changed) *target.text = json::string(*changed, allocator);
    return changed.has_value();
  }
  if (!target.process) return false;
  const Value* command = json::find(container, "command");
  Value* args = json::find(container, "args");
  if (args != nullptr && !args->IsArray()) args = nullptr;
  if (!needsShell) {
    Value list{rapidjson::kArrayType};
    if (args != nullptr) list = std::move(*args);
    json::set(container, "args", withWords(std::move(list), flags.direct, allocator), allocator);
    return true;
  }
  std::string text = "exec " + quoteAll(command);
  if (args != nullptr && !args->Empty()) text += ' ' + quoteAll(args);
  text += ' ' + flags.shell;
  json::set(container, "command", withWords(Value{rapidjson::kArrayType}, "sh -c", allocator), allocator);
  Value list{rapidjson::kArrayType};
  list.PushBack(json::string(text, allocator), allocator);
  json::set(container, "args", std::move(list), allocator);
  return true;
}

bool takesFlags(const Value& container, std::string_view framework) {
  const FlagTarget<const Value> target = flagTargetOf(container, framework);
  return target.process || target.text != nullptr;
}

long long flagValue(const Value& container, std::string_view flag, std::string_view shortFlag) {
  std::vector<std::string_view> all;
  appendWords(json::find(container, "args"), all);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (all[i] != flag) continue;
    if (const auto value = number(all[i + 1])) return *value;
  }
  // The reference ignores other spellings and the command.
  appendWords(json::find(container, "command"), all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::string_view name : {flag, shortFlag}) {
      if (!all[i].starts_with(name)) continue;
      const std::string_view rest = all[i].substr(name.size());
      if (rest.empty() && i + 1 < all.size()) {
        if (const auto value = number(all[i + 1])) return *value;
      }
      if (rest.starts_with('=')) {
        if (const auto value = number(rest.substr(1))) return *value;
      }
    }
  }
  return 1;
}

}  // namespace dynamo::render
