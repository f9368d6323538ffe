#pragma once
// Objects from JSON text, paths from text, and findings as lines.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "common/field/finding.h"
#include "common/json/ascii.h"
#include "common/json/parse.h"

namespace dynamo::field::test {

inline json::Document object(std::string_view text) {
  json::Document document;
  if (const auto error = json::parse(text, document)) FAIL(error->message() << "\n" << text);
  return document;
}

/// Parses a path such as "spec.a[0].m[k]". Names contain neither '.' nor '['. Keys contain no ']'. Digits in
/// brackets are the index of an item.
inline Path path(std::string_view text) {
  Path made;
  while (!text.empty()) {
    const bool bracket = text.front() == '[';
    if (bracket || (text.front() == '.' && !made.empty())) text.remove_prefix(1);
    const std::size_t end = std::min(bracket ? text.find(']') : text.find_first_of(".["), text.size());
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(bracket ? end + 1 : end);
    if (!bracket) {
      made.append(Members{name});
    } else if (!name.empty() && std::all_of(name.begin(), name.end(), json::isDigit)) {
      made.appendIndex(std::stoul(std::string{name}));
    } else {
      made.appendKey(name);
    }
  }
  return made;
}

/// One line "E <rule> <message>" or "W <rule> <message>" per finding, errors first.
inline std::string lines(const Findings& findings) {
  std::string text;
  for (const FieldError& error : findings.errors)
    text += fmt::format("E {} {}\n", error.rule, error.message());
  for (const Warning& warning : findings.warnings) {
    text += fmt::format("W {} {}: {}\n", warning.rule, warning.field.text(), warning.text);
  }
  return text;
}

}  // namespace dynamo::field::test
