#pragma once
// `dynamo-webhook check`: reports what admission would answer for manifests, without a cluster.

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

/// Prints the findings. Returns the exit status: 0 without errors, 1 with errors, 2 when a file or the
/// configuration cannot be read.
int runCheck(const CheckOptions& options);

/// Appends the findings of one manifest, as a CREATE would be validated: first those of the schema, then
/// those of the rules for its kind, applied to the object with schema defaults. An OperatorConfiguration is
/// validated as the programs that read it do. Returns false for an object of another API group.
bool checkManifest(const text::Manifest& manifest, const std::string& namespaceName, const Policy& policy,
                   std::vector<FileFinding>& findings);

}  // namespace dynamo::webhook
