#pragma once
// The form of `defaults`, a site's overlay of the built-in defaults (common/defaults/components.yaml).

#include "common/config/decoder.h"

namespace dynamo::config {

/// Unknown fields are warnings (cfg-Q16), values of another type or form than the schemas say are errors:
/// each graph would be refused for them. Nothing need be given: the built-in defaults lie below.
void checkDefaultsOverlay(ObjectDecoder& defaults, const json::Value& overlay, field::Findings& findings);

}  // namespace dynamo::config
