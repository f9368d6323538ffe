#pragma once
// `dynamo-webhook convert --to VERSION`: converts DynamoGraphDeploymentRequest manifests to the other
// version.

#include <string>
#include <vector>

namespace dynamo::webhook {

struct ConvertOptions {
  std::vector<std::string> files;
  std::string to;               ///< "v1alpha1" or "v1beta1", with or without "nvidia.com/"
  std::string output = "yaml";  ///< "yaml" or "json"
};

/// Prints the converted objects; objects of other kinds are printed unchanged. Prints nothing when an object
/// cannot be converted. Returns the exit status: 0, or 2 when a file cannot be read or converted.
int runConvert(const ConvertOptions& options);

}  // namespace dynamo::webhook
