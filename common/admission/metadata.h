#pragma once
// The names in metadata that API servers refuse before they call the webhook.

#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// The errors about names, namespace, labels and annotation keys of a whole object, with rule
/// "schema.metadata". Values of wrong types are left out.
std::vector<field::FieldError> nameErrors(const json::Value& object);

/// nameErrors(), wrong types, and a missing name.
std::vector<field::FieldError> metadataErrors(const json::Value& object);

/// The error about the namespace that a command gives to objects without one.
std::vector<field::FieldError> namespaceErrors(std::string_view namespaceName);

/// Replaces invalid names by short valid ones and drops what has a wrong type and invalid labels, so that the
/// names of children, which are made of them, are valid too. A missing name stays missing.
void repairMetadata(json::Value& object, json::Allocator& allocator);

}  // namespace dynamo::admission
