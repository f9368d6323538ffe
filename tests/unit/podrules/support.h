#pragma once
// Values from JSON text, and findings as lines.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/parse.h"
#include "common/podrules/pod.h"

namespace dynamo::podrules::test {

inline json::Document parsed(std::string_view text) {
  json::Document document;
  if (const auto error = json::parse(text, document)) FAIL(error->message() << "\n" << text);
  return document;
}

/// "E <rule> <message>" and "W <rule> <message>", errors first, in the order of their paths.
inline std::vector<std::string> lines(validation::Findings findings) {
  findings.sort();
  std::vector<std::string> said;
  for (const auto& error : findings.errors)
    said.push_back(fmt::format("E {} {}", error.rule, error.message()));
  std::vector<std::string> warnings;
  for (const auto& warning : findings.warnings) {
    warnings.push_back(fmt::format("W {} {}: {}", warning.rule, warning.field, warning.text));
  }
  std::sort(warnings.begin(), warnings.end());
  said.insert(said.end(), warnings.begin(), warnings.end());
  return said;
}

inline std::string joined(const std::vector<std::string>& said) {
  std::string text;
  for (const std::string& line : said) text += line + "\n";
  return text;
}

}  // namespace dynamo::podrules::test
