#pragma once
// Values from JSON text, and joined lines.

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/parse.h"
#include "judged.h"

namespace dynamo::rules::pod::test {

inline json::Document parsed(std::string_view text) {
  json::Document document;
  if (const auto error = json::parse(text, document)) FAIL(error->message() << "\n" << text);
  return document;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace dynamo::rules::pod::test
