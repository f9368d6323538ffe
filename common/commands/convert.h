#pragma once
// `convert --to VERSION`: converts DynamoGraphDeploymentRequest manifests to the other
// version.

#include <string>
#include <vector>

#include "common/commands/program.h"

namespace dynamo::commands {

struct ConvertOptions {
  std::vector<std::string> files;
  std::string namespaceName = "default";  ///< of objects without a namespace
  std::string operatorVersion = "1.0.0";
  std::string to;               ///< "v1alpha1" or "v1beta1", with or without "nvidia.com/"
  std::string output = "yaml";  ///< "yaml" or "json"
};

/// Prints the converted objects; objects of other kinds are printed unchanged. The errors of objects that
/// `check` refuses are written to the standard error, in its format. Such objects are converted too, because
/// conversion does not validate. Prints nothing when an object has an unknown kind or version. Returns the
/// exit status: 0; 1 with errors; 2 when a file cannot be read, or nothing is converted to `to`.
int runConvert(const ConvertOptions& options, const Program& program);

}  // namespace dynamo::commands
