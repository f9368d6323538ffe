#pragma once
// Log level and format from the configuration file and from flags. Flags take precedence.

#include <string>
#include <string_view>
#include <vector>

#include "common/observability/log.h"

namespace dynamo::runtime {

/// An empty string means that the flag is not set.
struct LogFlags {
  std::string level;   ///< --log-level
  std::string format;  ///< --log-format
  std::string
      zapLevel;  ///< --zap-log-level, a flag of the reference (cfg-Q1); the flags above take precedence
  std::string zapEncoder;  ///< --zap-encoder
};

/// Returns the log options. Appends one line per invalid flag to `errors`. The configuration loader reports
/// invalid values in the file.
log::Options logOptions(std::string_view fileLevel, std::string_view fileFormat, const LogFlags& flags,
                        std::vector<std::string>& errors);

}  // namespace dynamo::runtime
