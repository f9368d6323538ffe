// Formats log lines.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/json/utf8.h"
#include "common/observability/log.h"

namespace dynamo::log {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 4> kTextLevels{"DEBUG", "INFO ", "WARN ", "ERROR"};
constexpr std::array<std::string_view, 4> kOwnKeys{"ts", "level", "logger", "msg"};
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Appends `text` as the content of a JSON string, truncated after `limit` bytes of input.
void appendEscaped(std::string& out, std::string_view text, std::size_t limit) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t length = json::utf8Length(text.substr(at, 4));
    if (at + std::max<std::size_t>(length, 1) > limit) {
      out += "...";
      return;
    }
    if (length == 0) {
      out += kReplacement;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    } else {
      out.append(text, at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
}

void appendQuoted(std::string& out, std::string_view text, std::size_t limit) {
  out += '"';
  appendEscaped(out, text, limit);
  out += '"';
}

void appendTime(std::string& out, std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(milliseconds);
  fmt::format_to(std::back_inserter(out), "{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                 fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                 (milliseconds - seconds).count());
}

void appendNumber(std::string& out, double number) {
  const std::string text = fmt::format("{}", number);
  if (std::isfinite(number)) {
    out += text;
  } else {
    appendQuoted(out, text, kMaxValue);  // JSON has no NaN
  }
}

/// Whether a value needs quotes in the text format.
bool needsQuotes(std::string_view text) {
  const auto odd = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte >= 0x7F || c == '"' || c == '\\' || c == '=';
  };
  return text.empty() || text.size() > kMaxValue || std::any_of(text.begin(), text.end(), odd);
}

void appendValue(std::string& out, const Value& value, bool quoteAlways) {
  std::visit(
      [&](auto held) {
        using T = decltype(held);
        if constexpr (std::is_same_v<T, std::string_view>) {
          if (quoteAlways || needsQuotes(held)) {
            appendQuoted(out, held, kMaxValue);
          } else {
            out += held;
          }
        } else if constexpr (std::is_same_v<T, bool>) {
          out += held ? "true" : "false";
        } else if constexpr (std::is_same_v<T, double>) {
          appendNumber(out, held);
        } else {
          fmt::format_to(std::back_inserter(out), "{}", held);
        }
      },
      value.get());
}

/// Appends a key. A key of the line itself gets a prefix, because parsers handle duplicate keys differently.
void appendKey(std::string& out, std::string_view key) {
  if (std::find(kOwnKeys.begin(), kOwnKeys.end(), key) != kOwnKeys.end()) out += "field.";
  appendEscaped(out, key, kMaxValue);
}

}  // namespace

std::optional<Level> parseLevel(std::string_view name) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), name);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<Level>(found - kLevels.begin());
}

std::optional<Format> parseFormat(std::string_view name) {
  if (name == "json") return Format::Json;
  if (name == "text") return Format::Text;
  return std::nullopt;
}

std::string renderLine(Format format, Level level, std::chrono::system_clock::time_point time,
                       std::string_view logger, std::string_view message, std::span<const Field> fields) {
  const bool json = format == Format::Json;
  const auto index = static_cast<std::size_t>(level);
  std::string line;
  line.reserve(128 + message.size());
  line += json ? "{\"ts\":\"" : "";
  appendTime(line, time);
  if (json) {
    line += fmt::format("\",\"level\":\"{}\"", kLevels[index]);
    if (!logger.empty()) {
      line += ",\"logger\":";
      appendQuoted(line, logger, kMaxValue);
    }
    line += ",\"msg\":";
    appendQuoted(line, message, kMaxMessage);
  } else {
    line += fmt::format(" {} ", kTextLevels[index]);
    if (!logger.empty()) {
      appendEscaped(line, logger, kMaxValue);
      line += ": ";
    }
    appendEscaped(line, message, kMaxMessage);
  }
  for (const Field& field : fields) {
    if (field.key.empty()) continue;
    line += json ? ",\"" : " ";
    appendKey(line, field.key);
    line += json ? "\":" : "=";
    appendValue(line, field.value, json);
  }
  if (json) line += '}';
  return line;
}

}  // namespace dynamo::log
