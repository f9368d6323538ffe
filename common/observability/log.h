#pragma once
// Structured log lines on standard error: one line an event, JSON by default (`logging` of the
// configuration). Bodies of requests and contents of Secrets are never passed to these functions.

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

/// "debug", "info", "warn", "error"; nullopt for any other word.
std::optional<Level> parseLevel(std::string_view name);
/// "json", "text"; nullopt for any other word.
std::optional<Format> parseFormat(std::string_view name);

/// What a field may hold. Strings are only looked at during the call.
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

/// Keys are lowerCamelCase words of ours, never of the request. A field without a key is left out of the
/// line.
struct Field {
  std::string_view key;
  Value value;
};

using Fields = std::initializer_list<Field>;

/// Longest message and longest field value kept, in bytes; the rest is replaced by "...".
inline constexpr std::size_t kMaxMessage = 4096;
inline constexpr std::size_t kMaxValue = 1024;

/// The line of one event, without the line break: always valid JSON or one line of text, whatever the strings
/// hold (control characters escaped, invalid UTF-8 replaced). JSON: ts (RFC 3339, milliseconds, UTC), level,
/// logger (unless empty), msg, then the fields.
std::string renderLine(Format format, Level level, std::chrono::system_clock::time_point time,
                       std::string_view logger, std::string_view message, std::span<const Field> fields);

struct Options {
  Level level = Level::Info;
  Format format = Format::Json;
  /// Writes from a thread of its own: a full pipe then costs the oldest waiting lines, not a request's time.
  bool background = false;
};

/// Call it before threads start. Without it: info, JSON, written at once, as it also is after an error: the
/// system has no thread left.
std::error_code configure(const Options& options);

bool enabled(Level level);

/// Writes what waits in the background and goes back to writing at once; to be called before the end of main.
void drain();

/// Its name is in the `logger` field, one for each part of the program: "certs", "http".
class Logger {
 public:
  explicit constexpr Logger(std::string_view name) : name_(name) {}
  void debug(std::string_view message, Fields fields = {}) const;
  void info(std::string_view message, Fields fields = {}) const;
  void warn(std::string_view message, Fields fields = {}) const;
  void error(std::string_view message, Fields fields = {}) const;
  /// An error that the process does not outlive: writes it past what waits in the background, then exits with
  /// status 1.
  [[noreturn]] void fatal(std::string_view message, Fields fields = {}) const;

 private:
  std::string_view name_;
};

}  // namespace dynamo::log
