#include "common/schema/patterns.h"

#include <catch2/catch.hpp>
#include <random>
#include <regex>
#include <string>

using dynamo::schema::patternsBegin;
using dynamo::schema::patternsEnd;

TEST_CASE("the matchers agree with a regular expression engine", "[schema]") {
  constexpr std::string_view kAlphabet = "aZ09eEiKMmnu+-._/,:k \xc3";
  for (const auto* pattern = patternsBegin(); pattern != patternsEnd(); ++pattern) {
    const std::regex regex{std::string{pattern->text}};
    std::mt19937 random{7};
    int matched = 0;
    for (int round = 0; round < 40000; ++round) {
      std::string text(random() % 7, ' ');
      for (char& c : text) c = kAlphabet[random() % kAlphabet.size()];
      const bool wanted = std::regex_search(text, regex);
      matched += wanted ? 1 : 0;
      INFO(pattern->text << " on \"" << text << '"');
      REQUIRE(pattern->matches(text) == wanted);
    }
    CHECK(matched > 500);
  }
}

TEST_CASE("quantities", "[schema]") {
  const auto* quantity = patternsBegin();
  const auto [text, wanted] = GENERATE(table<std::string, bool>({
      {"10Gi", true},
      {"1e3", true},
      {"+.5", true},
      {"1.", true},
      {"-1Gi", true},
      {"100u", true},
      {"2E-1.5", true},
      {"5E", true},
      {"", false},
      {".", false},
      {"1Gib", false},
      {"1 Gi", false},
      {"e3", false},
      {"1ki", false},
      {"0x10", false},
      {"1\n", false},
  }));
  INFO(text);
  CHECK(quantity->matches(text) == wanted);
}

TEST_CASE("long texts cost no stack", "[schema]") {
  const std::string text(4'000'000, '9');
  CHECK(patternsBegin()->matches(text));
}
