#pragma once
// Level and format of the log: the configuration file's words, and flags, which win.

#include <string>
#include <string_view>
#include <vector>

#include "common/observability/log.h"

namespace dynamo::runtime {

/// Empty: not given.
struct LogFlags {
  std::string level;     ///< --log-level
  std::string format;    ///< --log-format
  std::string zapLevel;  ///< --zap-log-level and --zap-encoder, the reference's (cfg-Q1); ours win
  std::string zapEncoder;
};

/// What is wrong with the file's words is told by whoever reads the file; what is wrong with flags is added
/// to `errors`, a line each.
log::Options logOptions(std::string_view fileLevel, std::string_view fileFormat, const LogFlags& flags,
                        std::vector<std::string>& errors);

}  // namespace dynamo::runtime
