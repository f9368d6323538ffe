#include "common/runtime/log_flags.h"

#include <fmt/format.h>

#include <optional>

#include "common/k8s/names.h"

namespace dynamo::runtime {
namespace {

/// Parses a level of the reference's flags. The reference has levels above error and integers for levels
/// below debug. They are mapped to error and debug.
std::optional<log::Level> parseZapLevel(std::string_view text) {
  const std::string level = k8s::lowerAscii(text);
  if (level == "panic") return log::Level::Error;
  const bool number = !level.empty() && level.find_first_not_of("0123456789") == std::string::npos;
  if (number && level.find_first_not_of('0') != std::string::npos) return log::Level::Debug;
  return log::parseLevel(level);
}

std::optional<log::Format> parseZapEncoder(std::string_view text) {
  const std::string encoder = k8s::lowerAscii(text);
  if (encoder == "console") return log::Format::Text;
  return encoder == "json" ? std::optional{log::Format::Json} : std::nullopt;
}

/// Sets `value` from a flag if it is given.
template <class Value>
void apply(const char* flag, const std::string& text, std::optional<Value> (*parse)(std::string_view),
           const char* allowed, Value& value, std::vector<std::string>& errors) {
  if (text.empty()) return;
  if (const std::optional<Value> parsed = parse(text)) {
    value = *parsed;
  } else {
    errors.push_back(fmt::format("{}: Unsupported value: \"{}\": supported values: {}", flag, text, allowed));
  }
}

}  // namespace

log::Options logOptions(std::string_view fileLevel, std::string_view fileFormat, const LogFlags& flags,
                        std::vector<std::string>& errors) {
  log::Options options;
  options.level = log::parseLevel(fileLevel).value_or(log::Level::Info);
  apply("--zap-log-level", flags.zapLevel, parseZapLevel,
        R"("debug", "error", "info", "panic", an integer greater than 0)", options.level, errors);
  apply("--log-level", flags.level, log::parseLevel, R"("debug", "error", "info", "warn")", options.level,
        errors);
  options.format = log::parseFormat(fileFormat).value_or(log::Format::Json);
  apply("--zap-encoder", flags.zapEncoder, parseZapEncoder, R"("console", "json")", options.format, errors);
  apply("--log-format", flags.format, log::parseFormat, R"("json", "text")", options.format, errors);
  options.background = true;
  return options;
}

}  // namespace dynamo::runtime
