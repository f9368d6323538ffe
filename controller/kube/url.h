#pragma once
// Escapes the segments of URL paths and builds queries.

#include <cstdint>
#include <string>
#include <string_view>

namespace dynamo::kube {

/// Percent-encodes all bytes except letters, digits and "-._~". The segments "." and ".." are encoded
/// completely, because servers and proxies resolve them.
std::string escapeSegment(std::string_view text);

/// The query of a URL.
class Query {
 public:
  /// Adds a parameter, unless its value is empty.
  Query& add(std::string_view name, std::string_view value);
  /// Adds "NAME=true" if the value is true.
  Query& add(std::string_view name, bool value) { return add(name, std::string_view{value ? "true" : ""}); }
  /// Adds a parameter, unless its value is zero.
  Query& add(std::string_view name, std::int64_t value);
  Query& add(std::string_view name, const char* value) { return add(name, std::string_view{value}); }

  /// Returns the query with its question mark, such as "?a=b&c=d", or an empty text if there are no
  /// parameters.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace dynamo::kube
