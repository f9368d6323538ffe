#pragma once
// The JSON part of parseDocuments(): a sequence of JSON values with their positions.

#include <optional>
#include <string_view>

#include "common/text/yaml.h"

namespace dynamo::text {

/// Parses JSON values. Returns nullopt if `text` does not start like JSON; it is then parsed as YAML, which
/// also has brackets.
std::optional<TextDocuments> parseJsonText(std::string_view text);

}  // namespace dynamo::text
