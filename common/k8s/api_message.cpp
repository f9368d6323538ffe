#include "common/k8s/api_message.h"

#include <algorithm>
#include <array>
#include <optional>

namespace dynamo::k8s {
namespace {

constexpr std::string_view kEnd = ": ";

/// What apimachinery writes before a value. The last one is of server-side apply, which prints Go values.
constexpr std::array<std::string_view, 6> kBeforeValue = {
    "Invalid value: ", "Duplicate value: ", "Unsupported value: ",
    "Not found: ",     "Internal error: ",  ", got "};

struct Marker {
  std::size_t at = std::string_view::npos;
  std::string_view text;
};

Marker nextMarker(std::string_view message, std::size_t from) {
  Marker found;
  for (const std::string_view text : kBeforeValue) {
    const std::size_t at = message.find(text, from);
    if (at < found.at) found = {at, text};
  }
  return found;
}

/// The path before `at`: the characters since the last space outside of brackets, without the bracket that
/// opens a list of errors.
std::string_view pathBefore(std::string_view message, std::size_t at) {
  const std::string_view before = message.substr(0, at);
  const std::size_t space =
      before.substr(0, before.ends_with(kEnd) ? before.size() - kEnd.size() : before.size())
          .find_last_of(" \n");
  std::string_view path = space == std::string_view::npos ? before : before.substr(space + 1);
  if (path.starts_with('[')) path.remove_prefix(1);
  return path.substr(0, path.find(kEnd));
}

/// Whether the field is an environment variable or its value. The name of a variable is not a secret.
bool isEnvValue(std::string_view path) {
  if (path.ends_with(".name")) return false;
  for (const std::string_view list : {".env", ".envs"}) {
    for (std::size_t at = path.find(list); at != std::string_view::npos; at = path.find(list, at + 1)) {
      const std::string_view rest = path.substr(at + list.size());
      if (rest.empty() || rest.front() == '[' || rest.front() == '.') return true;
    }
  }
  return false;
}

/// The position after a Go or JSON string that starts at `at`; the end of the text if it is not closed.
std::size_t afterString(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return text.size();
}

/// Whether the value is printed as a struct, a map, a list or a pointer in Go or JSON.
bool isDump(std::string_view value) {
  if (value.empty()) return false;
  if (std::string_view{"{[&(*"}.find(value.front()) != std::string_view::npos) return true;
  // A type such as core.EnvVar{ or map[string]string{.
  const std::size_t open = value.find_first_of("{[ :\",");
  return open != std::string_view::npos && (value[open] == '{' || value[open] == '[');
}

/// Whether a value may end at `at`.
bool endsAt(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  return rest.empty() || rest.starts_with(kEnd) || rest.starts_with(',') || rest.starts_with(']') ||
         rest.starts_with('\n') || rest.starts_with(' ');
}

/// The position after the value that starts at `at`. A text that cannot be understood is a value to its end.
std::size_t afterValue(std::string_view text, std::size_t at) {
  if (text[at] == '"' || text[at] == '`') return afterString(text, at);
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || c == '`') {
      at = afterString(text, at);
      continue;
    }
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') {
      if (depth == 0) return at;  // closes the list of errors
      --depth;
    } else if (depth == 0 && endsAt(text, at)) {
      // The space in "interface {}" is a part of the type.
      if (c != ' ' || !text.substr(at).starts_with(" {")) return at;
    }
    ++at;
  }
  return text.size();
}

}  // namespace

std::string withoutQuotedValues(std::string_view message, std::string_view field) {
  std::string out;
  std::size_t copied = 0;
  for (Marker marker = nextMarker(message, 0); marker.at != std::string_view::npos;) {
    const std::size_t value = marker.at + marker.text.size();
    if (value >= message.size()) break;
    const std::string_view path = pathBefore(message, marker.at);
    const std::size_t end = afterValue(message, value);
    if (!isEnvValue(path.empty() ? field : path) && !isDump(message.substr(value, end - value))) {
      marker = nextMarker(message, message[value] == '"' ? end : value);
      continue;
    }
    out += message.substr(copied, value - copied);
    copied = end;
    if (message.substr(end).starts_with(kEnd)) {
      copied += kEnd.size();
    } else {
      while (out.ends_with(' ') || out.ends_with(':')) out.pop_back();
    }
    marker = nextMarker(message, copied);
  }
  return out.append(message.substr(copied));
}

}  // namespace dynamo::k8s
