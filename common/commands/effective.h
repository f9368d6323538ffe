#pragma once
// `effective` prints objects with all defaults; `intent` prints stored objects
// without them.

#include "common/commands/file_options.h"
#include "common/commands/program.h"

namespace dynamo::commands {

struct EffectiveOptions : FileOptions {
  EffectiveOptions() { output = "yaml"; }  ///< "yaml" or "json"
  bool all = false;                        ///< also print the defaults that admission leaves to rendering
};

// Both write the errors of objects that `check` refuses to the standard error, in its format. They return the
// exit status: 0; 1 with such errors; 2 when a file or the configuration cannot be read.

/// Prints each object of Dynamo's kinds as admission would store it, without the namespace of the flag, so
/// that the output can be applied to any namespace. Other objects are printed unchanged, refused ones not at
/// all. With `all` the defaults that pods get beside them are added.
int runEffective(const EffectiveOptions& options, const Program& program);

/// Prints each object without the values that the webhook wrote into it, also those that `check` refuses,
/// because a stored object may have defects that were admitted once.
int runIntent(const EffectiveOptions& options, const Program& program);

}  // namespace dynamo::commands
