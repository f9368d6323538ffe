#pragma once
// Loads a configuration file: decodes it, applies defaults and validates it.

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
  OperatorConfig config;                  ///< with defaults; usable only without errors
  std::vector<field::FieldError> errors;  ///< sorted by path; malformed YAML is one error
  std::vector<field::Warning> warnings;   ///< for example unknown fields and settings without effect
  std::string source;                     ///< file name
  text::Positions positions;

  bool ok() const { return errors.empty(); }
  /// One line per finding, errors first: "config.yaml:12: error: server.metrics.port: Invalid value: …".
  std::vector<std::string> report() const;
};

/// Decodes, applies defaults and validates. Type errors and validation errors are reported together, except
/// validation errors of fields that could not be decoded. An empty text is an empty object. Does not throw.
LoadResult loadConfigText(std::string_view text, std::string source, Purpose purpose) noexcept;

/// The same for a parsed document; `positions` are the positions of its values.
LoadResult loadConfigObject(const json::Value& root, text::Positions positions, std::string source,
                            Purpose purpose) noexcept;

/// The same for a file. At most text::kMaxTextBytes are read; a file that cannot be read is an error.
LoadResult loadConfigFile(const std::string& path, Purpose purpose) noexcept;

/// The configuration of a command: the file at `path`, or defaults if `path` is empty. Writes findings to
/// `report`, one per line. Returns nullopt if the file has errors.
std::optional<OperatorConfig> loadForCommand(const std::string& path, std::ostream& report,
                                             Purpose purpose = Purpose::Offline);

}  // namespace dynamo::config
