#pragma once
// `dynamo-webhook convert --to VERSION`: manifests of DynamoGraphDeploymentRequest in the other version.

#include <string>
#include <vector>

namespace dynamo::webhook {

struct ConvertOptions {
  std::vector<std::string> files;
  std::string to;               ///< "v1alpha1", "v1beta1", with or without "nvidia.com/"
  std::string output = "yaml";  ///< "yaml" or "json"
};

/// Prints the converted objects; objects of other kinds pass unchanged. Nothing is printed when one of them
/// cannot be converted. Exit status: 0, or 2 for a file that cannot be read or converted.
int runConvert(const ConvertOptions& options);

}  // namespace dynamo::webhook
