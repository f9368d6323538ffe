#pragma once
// Structured logging on standard error: one line per event, JSON by default (`logging` in the configuration).
// Request bodies and contents of Secrets are never passed to these functions.

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <variant>

namespace dynamo::log {

enum class Level { Debug, Info, Warn, Error };
enum class Format { Json, Text };

/// Parses "debug", "info", "warn" or "error"; nullopt for anything else.
std::optional<Level> parseLevel(std::string_view name);
/// Parses "json" or "text"; nullopt for anything else.
std::optional<Format> parseFormat(std::string_view name);

/// The value of a field. Strings are only used during the call.
class Value {
 public:
  Value(bool value) : value_(value) {}
  Value(double value) : value_(value) {}
  Value(std::string_view value) : value_(value) {}
  Value(const std::string& value) : value_(std::string_view{value}) {}
  Value(const char* value) : value_(value == nullptr ? std::string_view{} : std::string_view{value}) {}
  template <typename T>
    requires std::is_integral_v<T>
  Value(T value) : value_(stored(value)) {}

  using Stored = std::variant<std::string_view, bool, std::int64_t, std::uint64_t, double>;
  const Stored& get() const { return value_; }

 private:
  template <typename T>
  static Stored stored(T value) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  Stored value_;
};

/// Keys are fixed lowerCamelCase names that never come from a request. A field without a key is omitted.
struct Field {
  std::string_view key;
  Value value;
};

using Fields = std::initializer_list<Field>;

/// Maximum length of messages and field values in bytes. Longer texts are truncated and end with "...".
inline constexpr std::size_t kMaxMessage = 4096;
inline constexpr std::size_t kMaxValue = 1024;

/// Formats an event as one line without the line break. Control characters are escaped and invalid UTF-8 is
/// replaced, so the result is always valid JSON or one line of text. JSON members: ts (RFC 3339,
/// milliseconds, UTC), level, logger (unless empty), msg, then the fields.
std::string renderLine(Format format, Level level, std::chrono::system_clock::time_point time,
                       std::string_view logger, std::string_view message, std::span<const Field> fields);

struct Options {
  Level level = Level::Info;
  Format format = Format::Json;
  /// Writes on a separate thread. If standard error blocks, the oldest queued lines are dropped and requests
  /// do not wait.
  bool background = false;
};

/// Sets the options. Must be called before threads start. The default is level info, JSON, without a
/// background thread. Returns an error if the background thread cannot be started; lines are then written
/// directly.
std::error_code configure(const Options& options);

bool enabled(Level level);

/// Writes the queued lines and ends the background thread. Must be called before the end of main.
void drain();

/// A logger for a part of the program, such as "certs" or "http". The name is the `logger` field of its
/// lines.
class Logger {
 public:
  explicit constexpr Logger(std::string_view name) : name_(name) {}
  void debug(std::string_view message, Fields fields = {}) const;
  void info(std::string_view message, Fields fields = {}) const;
  void warn(std::string_view message, Fields fields = {}) const;
  void error(std::string_view message, Fields fields = {}) const;
  /// Writes an error directly, without the queue, and exits the process with status 1.
  [[noreturn]] void fatal(std::string_view message, Fields fields = {}) const;

 private:
  std::string_view name_;
};

}  // namespace dynamo::log
