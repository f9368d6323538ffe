#include "controller/access/verdict_cache.h"

#include <catch2/catch.hpp>
#include <string>

namespace dynamo::access {
namespace {

using namespace std::chrono_literals;

const VerdictCache::Instant kStart{1000s};

TokenHash numbered(std::size_t number) {
  return hashOf("token " + std::to_string(number));
}

}  // namespace

TEST_CASE("the key is the SHA-256 of the token") {
  const TokenHash hash = hashOf("abc");
  CHECK(hash[0] == 0xba);
  CHECK(hash[31] == 0xad);
}

TEST_CASE("a permission counts for 60 s and a refusal for 30 s") {
  VerdictCache cache;
  cache.add(hashOf("a"), Verdict::Allowed, kStart);
  cache.add(hashOf("d"), Verdict::Denied, kStart);
  cache.add(hashOf("u"), Verdict::Unauthenticated, kStart);
  CHECK_FALSE(cache.find(hashOf("other"), kStart).has_value());
  CHECK(cache.find(hashOf("a"), kStart + 59s) == Verdict::Allowed);
  CHECK_FALSE(cache.find(hashOf("a"), kStart + 60s).has_value());
  CHECK(cache.find(hashOf("d"), kStart + 29s) == Verdict::Denied);
  CHECK_FALSE(cache.find(hashOf("d"), kStart + 30s).has_value());
  CHECK(cache.find(hashOf("u"), kStart + 29s) == Verdict::Unauthenticated);
  CHECK_FALSE(cache.find(hashOf("u"), kStart + 30s).has_value());
  cache.add(hashOf("a"), Verdict::Denied, kStart + 60s);
  CHECK(cache.find(hashOf("a"), kStart + 61s) == Verdict::Denied);
  CHECK(cache.size() == 3);
}

TEST_CASE("invented tokens do not remove valid ones, and the size is limited") {
  VerdictCache cache;
  cache.add(hashOf("valid"), Verdict::Allowed, kStart);
  for (std::size_t i = 0; i < 3 * VerdictCache::kMaxEntries; ++i)
    cache.add(numbered(i), Verdict::Unauthenticated, kStart + std::chrono::milliseconds{i});
  CHECK(cache.size() == VerdictCache::kMaxEntries);
  CHECK(cache.find(hashOf("valid"), kStart + 1s) == Verdict::Allowed);
  CHECK(cache.find(numbered(3 * VerdictCache::kMaxEntries - 1), kStart + 1s) == Verdict::Unauthenticated);
  CHECK_FALSE(cache.find(numbered(0), kStart + 1s).has_value());

  cache.add(hashOf("later"), Verdict::Denied, kStart + 40s);  // all refusals have expired
  CHECK(cache.size() == 2);
  CHECK(cache.find(hashOf("valid"), kStart + 41s) == Verdict::Allowed);
}

TEST_CASE("the oldest of too many valid tokens is removed") {
  VerdictCache cache;
  for (std::size_t i = 0; i <= VerdictCache::kMaxEntries; ++i)
    cache.add(numbered(i), Verdict::Allowed, kStart + std::chrono::milliseconds{i});
  CHECK(cache.size() == VerdictCache::kMaxEntries);
  CHECK_FALSE(cache.find(numbered(0), kStart + 1s).has_value());
  CHECK(cache.find(numbered(1), kStart + 1s) == Verdict::Allowed);
}

}  // namespace dynamo::access
