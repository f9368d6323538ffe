#pragma once
// The flags that all commands that read manifests share, and the policy made from them.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "common/config/operator_config_validation.h"
#include "webhook/admit.h"

namespace dynamo::webhook {

struct FileOptions {
  std::vector<std::string> files;
  std::string namespaceName = "default";  ///< of objects without a namespace
  std::string configFile;
  std::string factsFile;
  std::string operatorVersion = "1.0.0";
  std::string pathway = "auto";  ///< "auto", "deployment", "lws" or "grove"
  std::string output;
};

/// Makes the policy from the flags. Writes problems to `report` and returns nullopt when a flag or a file is
/// invalid. `purpose` selects the checks of the configuration.
std::optional<Policy> loadPolicy(const FileOptions& options, config::Purpose purpose, std::ostream& report);

}  // namespace dynamo::webhook
