#include "controller/access/verdict_cache.h"

#include <openssl/sha.h>

#include <algorithm>
#include <utility>

namespace dynamo::access {

TokenHash hashOf(std::string_view token) {
  TokenHash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

std::optional<Verdict> VerdictCache::find(const TokenHash& token, Instant now) const {
  const auto found = entries_.find(token);
  if (found == entries_.end() || now >= found->second.until) return std::nullopt;
  return found->second.verdict;
}

void VerdictCache::add(const TokenHash& token, Verdict verdict, Instant now) {
  if (!entries_.contains(token)) makeRoom(now);
  const auto keep = verdict == Verdict::Allowed ? kKeepAllowed : kKeepRefused;
  entries_.insert_or_assign(token, Entry{verdict, now + keep});
}

void VerdictCache::makeRoom(Instant now) {
  if (entries_.size() < kMaxEntries) return;
  std::erase_if(entries_, [&](const auto& each) { return now >= each.second.until; });
  if (entries_.size() < kMaxEntries) return;
  const auto order = [](const Entry& entry) {
    return std::pair{entry.verdict == Verdict::Allowed, entry.until};
  };
  entries_.erase(std::min_element(entries_.begin(), entries_.end(), [&](const auto& a, const auto& b) {
    return order(a.second) < order(b.second);
  }));
}

}  // namespace dynamo::access
