#pragma once
// `dynamo-webhook effective` and `dynamo-webhook intent`: what will run, and what the user asked for.

#include "webhook/commands/file_options.h"

namespace dynamo::webhook {

struct EffectiveOptions : FileOptions {
  EffectiveOptions() { output = "yaml"; }  ///< "yaml" or "json"
};

/// Prints each graph and component deployment as admission would store it; other objects as they are. 0, or 2
/// when a file or the configuration cannot be read.
int runEffective(const EffectiveOptions& options);

/// Prints each object without what the webhook wrote into it. The flags are those of runEffective, so that
/// one may follow the other; what they name must be readable.
int runIntent(const EffectiveOptions& options);

}  // namespace dynamo::webhook
