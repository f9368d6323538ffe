#pragma once
// The regular expressions of the schemas, on RE2: std::regex recurses once per character, so a long string
// from a request could overflow the stack.

#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace dynamo::schema {

class Pattern {
 public:
  /// `text` as the schema has it. Throws std::logic_error when it is no expression.
  explicit Pattern(std::string_view text);
  ~Pattern();

  std::string_view text() const;
  bool matches(std::string_view value) const;

 private:
  std::unique_ptr<const re2::RE2> expression_;
};

}  // namespace dynamo::schema
