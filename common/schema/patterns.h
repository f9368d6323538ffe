#pragma once
// The regular expressions of the schemas, matched by hand: std::regex recurses once per character, so a long
// string from a request could overflow the stack.

#include <string_view>

namespace dynamo::schema {

struct Pattern {
  std::string_view text;  ///< as the schema has it
  bool (*matches)(std::string_view);
};

/// The matcher of the pattern `text`; nullptr when there is none (a schema with such a pattern is refused at
/// start-up).
const Pattern* findPattern(std::string_view text);

/// Every pattern that has a matcher; tests compare each with a regular expression engine.
const Pattern* patternsBegin();
const Pattern* patternsEnd();

}  // namespace dynamo::schema
