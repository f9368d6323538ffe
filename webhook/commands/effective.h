#pragma once
// `dynamo-webhook effective` and `dynamo-webhook intent`: what will run, and what the user asked for.

#include <string>
#include <vector>

namespace dynamo::webhook {

struct EffectiveOptions {
  std::vector<std::string> files;
  std::string namespaceName = "default";
  std::string configFile;
  std::string operatorVersion = "1.0.0";
  std::string output = "yaml";  ///< "yaml" or "json"
};

/// Prints each graph and component deployment as admission would store it; other objects as they are. 0, or 2
/// when a file or the configuration cannot be read.
int runEffective(const EffectiveOptions& options);

/// Prints each object without what the webhook wrote into it.
int runIntent(const EffectiveOptions& options);

}  // namespace dynamo::webhook
