#pragma once
// The names in metadata that API servers refuse before they call the webhook.

#include <vector>

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// The errors about names, namespace, labels and annotation keys of a whole object, with rule
/// "schema.metadata".
std::vector<field::FieldError> metadataErrors(const json::Value& object);

/// Replaces invalid names by short valid ones and drops invalid labels, so that the names of children, which
/// are made of them, are valid too.
void repairMetadata(json::Value& object, json::Allocator& allocator);

}  // namespace dynamo::admission
