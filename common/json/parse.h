#pragma once
// Parses untrusted JSON. Rejects texts that the API server's parser and this one would interpret differently.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::json {

/// Maximum nesting depth. Real objects stay below 40. Every recursive walk over values relies on this
/// limit.
inline constexpr std::size_t kMaxDepth = 256;
/// Maximum length of a number token. RapidJSON 1.1.0 mishandles huge exponents (CVE-2024-38517, -39684), so
/// number tokens are checked before it sees them.
inline constexpr std::size_t kMaxNumberLength = 400;

/// Why a text was rejected, and where (1-based line, column in bytes).
struct ParseError {
  std::string reason;
  std::size_t offset = 0;
  std::size_t line = 1;
  std::size_t column = 1;

  /// "line 3, column 14: reason"
  std::string message() const;
};

/// Checks what RapidJSON 1.1.0 gets wrong or does not check: depth, number tokens (Go's float64 range),
/// UTF-8 and unpaired surrogate escapes. It does not check the rest of the grammar. A caller that accepts a
/// larger depth must be able to walk values of that depth.
std::optional<ParseError> guard(std::string_view text, std::size_t maxDepth = kMaxDepth);

/// Returns the path of the first duplicate member name at any depth, or nullopt. The API server never sends
/// duplicates, and parsers disagree about which one counts.
std::optional<std::string> findDuplicateName(const Value& value);

/// Parses one JSON document: guard, grammar, duplicate names. Nothing but white space may follow it.
/// Integers within int64 are exact; others become uint64 or double, as in the API server.
std::optional<ParseError> parse(std::string_view text, Document& document);

/// Parses a text as the Go decoder of the reference does: like parse(), but when an object has several
/// members of one name, the last one counts. Returns false if the text is rejected.
bool parseAsGo(std::string_view text, Document& document);

/// Parsing in place reads strings in aligned blocks of this size. It may read up to this many bytes after the
/// end of the text, and ignores them.
inline constexpr std::size_t kReadAhead = 16;

/// Makes sure that the allocation of `text` includes the bytes that parsing in place may read after its end.
/// Copies the text unless they were reserved before.
void reserveReadAhead(std::string& text);

/// Like parse(), but in place: `text` is overwritten, and the strings of `document` point into it, so it must
/// live as long as they do. Rejects an object with more than `maxMembers` members.
std::optional<ParseError> parseInsitu(std::string& text, Document& document,
                                      std::size_t maxMembers = SIZE_MAX);

}  // namespace dynamo::json
