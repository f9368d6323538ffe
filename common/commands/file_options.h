#pragma once
// The flags that all commands that read manifests share, and the settings made from them.

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/admission/settings.h"
#include "common/config/operator_config_validation.h"

namespace dynamo::commands {

struct FileOptions {
  std::vector<std::string> files;
  std::string namespaceName = "default";  ///< of objects without a namespace
  std::string configFile;
  std::string factsFile;
  std::string operatorVersion = "1.0.0";
  std::string pathway = "auto";  ///< "auto", "deployment", "lws" or "grove"
  std::string output;
};

/// Makes the settings of admission from the flags. Writes problems to `report`, after the name of the
/// program, and returns nullopt when a flag or a file is invalid. `purpose` selects the checks of the
/// configuration.
std::optional<admission::Settings> loadSettings(const FileOptions& options, config::Purpose purpose,
                                                std::string_view program, std::ostream& report);

}  // namespace dynamo::commands
