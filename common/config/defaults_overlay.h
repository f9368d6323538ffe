#pragma once
// Validates `defaults`, the site's overlay over the built-in defaults (common/model/components.yaml).

#include "common/config/decoder.h"

namespace dynamo::config {

/// Unknown fields are warnings (cfg-Q16). Values that violate the schemas are errors, because every graph
/// would be rejected for them. No field is required, because the overlay is merged over the built-in
/// defaults.
void checkDefaultsOverlay(ObjectDecoder& defaults, const json::Value& overlay, field::Findings& findings);

}  // namespace dynamo::config
