#pragma once
// `dynamo-webhook effective` prints objects with all defaults; `dynamo-webhook intent` prints stored objects
// without them.

#include "webhook/commands/file_options.h"

namespace dynamo::webhook {

struct EffectiveOptions : FileOptions {
  EffectiveOptions() { output = "yaml"; }  ///< "yaml" or "json"
};

/// Prints each graph and component deployment as admission would store it, and other objects unchanged.
/// Returns the exit status: 0, or 2 when a file or the configuration cannot be read.
int runEffective(const EffectiveOptions& options);

/// Prints each object without the values that the webhook wrote into it. Accepts the flags of runEffective,
/// so that the same arguments work for both. The files of these flags must be readable.
int runIntent(const EffectiveOptions& options);

}  // namespace dynamo::webhook
