#include "common/observability/rate_limit.h"

#include <catch2/catch.hpp>
#include <string>

namespace dynamo::log {
namespace {

using namespace std::chrono_literals;

/// One event at each instant: "+" passes, "+3" passes and reports three suppressed events, "." is suppressed.
std::string passes(RateLimit limit, std::initializer_list<std::chrono::milliseconds> instants) {
  const RateLimit::Instant start{24h};
  std::string out;
  for (const auto instant : instants) {
    const auto passed = limit.pass(start + instant);
    if (!passed) {
      out += '.';
    } else {
      out += '+';
      if (*passed > 0) out += std::to_string(*passed);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a burst passes, then one event per interval with the number of suppressed ones") {
  const RateLimit limit{3, 100ms};
  CHECK(passes(limit, {0ms, 0ms, 0ms, 0ms, 0ms}) == "+++..");
  CHECK(passes(limit, {0ms, 0ms, 0ms, 99ms, 100ms, 150ms, 199ms, 200ms}) == "+++.+1..+2");
  // Parts of an interval are kept: three events of 150 ms gain two tokens in the first 300.
  CHECK(passes(limit, {0ms, 0ms, 0ms, 150ms, 150ms, 300ms, 300ms, 300ms}) == "++++.+1+.");
}

TEST_CASE("a quiet period fills the bucket up to the burst") {
  const RateLimit limit{2, 100ms};
  CHECK(passes(limit, {0ms, 0ms, 0ms, 10'000ms, 10'000ms, 10'000ms}) == "++.+1+.");
  CHECK(passes(limit, {50'000ms, 50'000ms, 50'000ms}) == "++.");
  CHECK(passes(limit, {0ms, 90ms, 90ms, 100ms}) == "++.+1");
}

TEST_CASE("a clock that goes back adds no tokens") {
  const RateLimit limit{1, 100ms};
  CHECK(passes(limit, {1'000ms, 0ms, 500ms, 1'099ms, 1'100ms}) == "+...+3");
}

TEST_CASE("a full bucket stays full for a long time") {
  RateLimit limit{1, 1ms};
  const RateLimit::Instant start{};
  CHECK(limit.pass(start) == 0U);
  int passed = 0;
  for (int i = 0; i < 100'000; ++i) passed += limit.pass(start) ? 1 : 0;
  CHECK(passed == 0);
  CHECK(limit.pass(start + std::chrono::hours{24 * 365 * 100}) == 100'000U);
}

}  // namespace dynamo::log
