// Level and format of the log.

#include "common/runtime/log_flags.h"

#include <catch2/catch.hpp>

namespace dynamo::runtime::test {

using log::Format;
using log::Level;

TEST_CASE("flags override the file, and this operator's flags override the reference's") {
  struct Row {
    const char* fileLevel;
    const char* fileFormat;
    LogFlags flags;
    Level level;
    Format format;
  };
  const Row rows[] = {
      {"", "", {}, Level::Info, Format::Json},
      {"warn", "text", {}, Level::Warn, Format::Text},
      {"warn", "text", {"error", "json", "", ""}, Level::Error, Format::Json},
      {"warn", "text", {"", "", "Debug", "JSON"}, Level::Debug, Format::Json},
      {"", "", {"info", "text", "panic", "json"}, Level::Info, Format::Text},
      {"", "", {"", "", "panic", "console"}, Level::Error, Format::Text},
      {"", "", {"", "", "3", ""}, Level::Debug, Format::Json},
  };
  for (const Row& row : rows) {
    std::vector<std::string> errors;
    const log::Options options = logOptions(row.fileLevel, row.fileFormat, row.flags, errors);
    CAPTURE(row.fileLevel, row.flags.level, row.flags.zapLevel);
    CHECK(errors.empty());
    CHECK(options.level == row.level);
    CHECK(options.format == row.format);
    CHECK(options.background);
  }
}

TEST_CASE("each flag with an unknown value is reported") {
  std::vector<std::string> errors;
  static_cast<void>(logOptions("", "", {"loud", "xml", "0", "logfmt"}, errors));
  CHECK(
      errors ==
      std::vector<std::string>{
          R"(--zap-log-level: Unsupported value: "0": supported values: "debug", "error", "info", "panic", an integer greater than 0)",
          R"(--log-level: Unsupported value: "loud": supported values: "debug", "error", "info", "warn")",
          R"(--zap-encoder: Unsupported value: "logfmt": supported values: "console", "json")",
          R"(--log-format: Unsupported value: "xml": supported values: "json", "text")"});
}

}  // namespace dynamo::runtime::test
