#pragma once
// The JSON half of parseDocuments(): JSON values one after the other, with their positions.

#include <optional>
#include <string_view>

#include "common/text/yaml.h"

namespace dynamo::text {

/// nullopt when `text` is not meant as JSON (it does not start with `{` or `[` followed by what JSON allows),
/// so that it is read as YAML, which knows such brackets too.
std::optional<TextDocuments> parseJsonText(std::string_view text);

}  // namespace dynamo::text
