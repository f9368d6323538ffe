#pragma once
// Objects as JSON text.

#include <catch2/catch.hpp>
#include <string_view>

#include "common/json/parse.h"

namespace dynamo::model::test {

/// The document of `text`; fails the test when it does not parse.
inline json::Document parsed(std::string_view text) {
  json::Document document;
  const auto error = json::parse(text, document);
  INFO(text);
  REQUIRE(!error);
  return document;
}

}  // namespace dynamo::model::test
