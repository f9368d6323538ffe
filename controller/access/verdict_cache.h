#pragma once
// Verdicts about tokens, kept for a short time, so that a scraper does not cause two requests with each
// scrape.

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

#include "controller/access/reviews.h"

namespace dynamo::access {

/// The SHA-256 of a token. The tokens themselves are not kept.
using TokenHash = std::array<unsigned char, 32>;
TokenHash hashOf(std::string_view token);

/// Not thread-safe. The time is a parameter.
class VerdictCache {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  /// A removed right and a deleted token are noticed after this time.
  static constexpr std::chrono::seconds kKeepAllowed{60};
  /// A new right is noticed after this time.
  static constexpr std::chrono::seconds kKeepRefused{30};
  /// Only a few clients scrape. A cluster with more of them only sends more reviews.
  static constexpr std::size_t kMaxEntries = 256;

  std::optional<Verdict> find(const TokenHash& token, Instant now) const;
  /// Adds a verdict. If there are too many, expired ones are removed, or else the oldest one, a refusal if
  /// there is any: invented tokens do not remove valid ones.
  void add(const TokenHash& token, Verdict verdict, Instant now);
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Verdict verdict;
    Instant until;
  };

  void makeRoom(Instant now);

  std::map<TokenHash, Entry> entries_;
};

}  // namespace dynamo::access
