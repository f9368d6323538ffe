#pragma once
// The regular expressions of the schemas. They use RE2, because std::regex recurses once per character and a
// long string of a request could overflow the stack.

#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace dynamo::schema {

class Pattern {
 public:
  /// Compiles `text`. Throws std::logic_error if it is invalid.
  explicit Pattern(std::string_view text);
  ~Pattern();

  std::string_view text() const;
  bool matches(std::string_view value) const;

 private:
  std::unique_ptr<const re2::RE2> expression_;
};

}  // namespace dynamo::schema
