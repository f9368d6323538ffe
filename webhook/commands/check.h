#pragma once
// `dynamo-webhook check`: what admission would say of manifests, without a cluster.

#include <string>
#include <vector>

#include "common/text/manifests.h"
#include "webhook/admit.h"
#include "webhook/commands/file_options.h"
#include "webhook/commands/report.h"

namespace dynamo::webhook {

struct CheckOptions : FileOptions {
  CheckOptions() { output = "text"; }  ///< "text", "json" or "sarif"
};

/// Prints the findings. Exit status: 0 clean or warnings only, 1 errors found, 2 a file or the configuration
/// cannot be read.
int runCheck(const CheckOptions& options);

/// The findings of one manifest: schema, then the rules of its kind over the object with schema defaults, as
/// a CREATE would be judged; of an OperatorConfiguration, what the programs would say that read it. False
/// when it is somebody else's.
bool checkManifest(const text::Manifest& manifest, const std::string& namespaceName, const Policy& policy,
                   std::vector<FileFinding>& findings);

}  // namespace dynamo::webhook
