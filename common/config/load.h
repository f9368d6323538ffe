#pragma once
// A configuration file, from its text to a configuration with defaults and all its errors.

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/config/operator_config_validation.h"
#include "common/text/positions.h"

namespace dynamo::config {

struct LoadResult {
  OperatorConfig config;                  ///< with defaults; usable only if there are no errors
  std::vector<field::FieldError> errors;  ///< sorted by path; a text that is no YAML is one error
  std::vector<field::Warning> warnings;   ///< unknown fields, settings without effect
  std::string source;                     ///< the file's name
  text::Positions positions;

  bool ok() const { return errors.empty(); }
  /// One line a finding, errors first: "config.yaml:12: error: server.metrics.port: Invalid value: …".
  std::vector<std::string> report() const;
};

/// Decodes, defaults and validates. Wrong types and broken rules are reported
/// together; a rule about a field that could not be decoded is left out. An empty text is an empty object.
/// Throws nothing.
LoadResult loadConfigText(std::string_view text, std::string source, Purpose purpose) noexcept;

/// The same of a parsed document, whose values stand at `positions`.
LoadResult loadConfigObject(const json::Value& root, text::Positions positions, std::string source,
                            Purpose purpose) noexcept;

/// The same for a file; one that cannot be read is an error. At most text::kMaxTextBytes are read.
LoadResult loadConfigFile(const std::string& path, Purpose purpose) noexcept;

/// What an offline command works with: defaults when `path` is empty. Findings go to `report`, one a line;
/// nullopt when the file cannot be used.
std::optional<OperatorConfig> loadForCommand(const std::string& path, std::ostream& report,
                                             Purpose purpose = Purpose::Offline);

}  // namespace dynamo::config
