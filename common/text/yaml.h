#pragma once
// Parses manifests and configuration files: YAML or JSON text to JSON documents, with the types of kubectl.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/parse.h"
#include "common/text/positions.h"

namespace dynamo::text {

/// Maximum size of a text in bytes.
inline constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20U;

/// Maximum number of documents in a text. Each costs some kilobytes, even if it is small.
inline constexpr std::size_t kMaxDocuments = 10'000;

/// How much aliases and merge keys may still add to a text. Several texts can share one.
struct Expansion {
  std::size_t values = 1'000'000;
  std::size_t bytes = kMaxTextBytes;
};

struct TextDocument {
  json::Document value;
  Position start;       ///< position of the first value
  Positions positions;  ///< positions of all values
};

struct TextDocuments {
  std::vector<TextDocument> documents;  ///< the documents before the error, if there is one
  std::optional<json::ParseError> error;
};

/// Parses all documents of `text`: YAML documents separated by `---`, or a sequence of JSON values. Empty and
/// null documents are skipped, as in kubectl. Anchors, aliases and merge keys (`<<`) are expanded up to a
/// limit, which is reduced by what they have added. The following are errors with line and column: text over
/// kMaxTextBytes, invalid UTF-8, control characters, duplicate names, null or compound names, nesting over
/// json::kMaxDepth, NaN and infinities, and aliases that expand beyond the limit. Merge keys apply in their
/// written order, as in kubectl: they override names before them, and names after them override them.
TextDocuments parseDocuments(std::string_view text, Expansion& left);
TextDocuments parseDocuments(std::string_view text);

}  // namespace dynamo::text
