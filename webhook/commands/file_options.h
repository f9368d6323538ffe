#pragma once
// What the commands that read manifests have in common: their flags, and the policy these make.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "common/config/operator_config_validation.h"
#include "webhook/admit.h"

namespace dynamo::webhook {

struct FileOptions {
  std::vector<std::string> files;
  std::string namespaceName = "default";  ///< of objects that name none
  std::string configFile;
  std::string factsFile;
  std::string operatorVersion = "1.0.0";
  std::string pathway = "auto";  ///< "auto", "deployment", "lws" or "grove"
  std::string output;
};

/// The policy that the flags ask for; nullopt when one of them or a file is bad, which `report` says. What
/// the configuration is read for decides what else is said of it.
std::optional<Policy> policyOf(const FileOptions& options, config::Purpose purpose, std::ostream& report);

}  // namespace dynamo::webhook
