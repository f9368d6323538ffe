#include "controller/kube/shard.h"

#include <charconv>
#include <optional>

namespace dynamo::kube {
namespace {

std::optional<unsigned> parseNumber(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{number} : std::nullopt;
}

}  // namespace

std::variant<Shard, std::string> parseShard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = parseNumber(text.substr(0, slash));
    const auto count = parseNumber(text.substr(slash + 1));
    if (index && count && *count >= 1 && *count <= kMaxShards) return Shard{*index % *count, *count};
  }
  return "must be I/N with 0 <= I and 1 <= N <= " + std::to_string(kMaxShards) + ", for example 0/3";
}

std::uint64_t shardHash(std::string_view namespaceName) {
  constexpr std::uint64_t kOffsetBasis = 0xcbf29ce484222325;
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = kOffsetBasis;
  for (const char c : namespaceName) {
    hash ^= static_cast<unsigned char>(c);
    hash *= kPrime;
  }
  return hash;
}

bool inShard(std::string_view namespaceName, const Shard& shard) {
  return shardHash(namespaceName) % shard.count == shard.index;
}

std::string shardLeaseName(std::string_view base, const Shard& shard) {
  std::string name{base};
  if (shard.count > 1) name += "-shard-" + std::to_string(shard.index) + "-of-" + std::to_string(shard.count);
  return name;
}

}  // namespace dynamo::kube
