#include "common/defaults/digest.h"

#include <bit>
#include <cmath>

namespace dynamo::defaults {
namespace {

using json::Value;

enum Tag : std::uint64_t { Null = 1, False, True, Integer, Real, Text, List, Object };

/// The finalizer of splitmix64.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t tagged(Tag tag, std::uint64_t x) {
  return mix(x + tag * 0x9e3779b97f4a7c15U);
}

std::uint64_t hashNumber(const Value& number) {
  if (number.IsInt64()) return tagged(Integer, static_cast<std::uint64_t>(number.GetInt64()));
  const double real = number.GetDouble();
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::trunc(real) == real && real >= -kLimit && real < kLimit) {
    return tagged(Integer, static_cast<std::uint64_t>(static_cast<std::int64_t>(real)));
  }
  return tagged(Real, std::bit_cast<std::uint64_t>(real));
}

}  // namespace

std::uint64_t chain(std::uint64_t hash, std::uint64_t next) {
  return mix(hash * 31 + next);
}

std::uint64_t hashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return tagged(Text, hash);
}

std::uint64_t hashOf(const Value& value) {
  switch (value.GetType()) {
    case rapidjson::kNullType:
      return tagged(Null, 0);
    case rapidjson::kFalseType:
      return tagged(False, 0);
    case rapidjson::kTrueType:
      return tagged(True, 0);
    case rapidjson::kNumberType:
      return hashNumber(value);
    case rapidjson::kStringType:
      return hashOf(json::text(value));
    case rapidjson::kArrayType: {
      std::uint64_t hash = tagged(List, value.Size());
      for (const Value& item : value.GetArray()) hash = chain(hash, hashOf(item));
      return hash;
    }
    case rapidjson::kObjectType:
      break;
  }
  std::uint64_t sum = 0;
  for (const auto& member : value.GetObject()) {
    if (!member.value.IsNull()) sum += chain(hashOf(json::text(member.name)), hashOf(member.value));
  }
  return tagged(Object, sum);
}

std::string digestText(std::uint64_t hash) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text(kDigestLength, ' ');
  for (char& c : text) {
    c = kAlphabet[hash & 63U];
    hash >>= 6U;
  }
  return text;
}

}  // namespace dynamo::defaults
