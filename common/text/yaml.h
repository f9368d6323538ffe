#pragma once
// Manifests and configuration files: YAML or JSON text -> JSON documents, typed as kubectl types them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/parse.h"
#include "common/text/positions.h"

namespace dynamo::text {

/// Largest text accepted, in bytes.
inline constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20U;

/// Most documents accepted in one text; each costs some kilobytes however small it is.
inline constexpr std::size_t kMaxDocuments = 10'000;

struct TextDocument {
  json::Document value;
  Position start;       ///< of the document's first value
  Positions positions;  ///< of what it holds
};

struct TextDocuments {
  std::vector<TextDocument> documents;  ///< those before the error, if there is one
  std::optional<json::ParseError> error;
};

/// Reads all documents of `text`: YAML documents separated by `---`, or JSON values one after the other.
/// Empty and null documents are left out, as kubectl does. Anchors, aliases and merge keys (`<<`) are
/// expanded within a budget. Refused, with line and column: text over kMaxTextBytes, invalid UTF-8, control
/// characters, duplicate names, null or compound names, nesting over json::kMaxDepth, NaN and infinities,
/// aliases that multiply beyond the budget. Merge keys act in the order they are written, as in kubectl: a
/// name that stands before `<<` is overridden by it, one behind it wins.
TextDocuments parseDocuments(std::string_view text);

}  // namespace dynamo::text
