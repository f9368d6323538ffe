#pragma once
// Short digests of JSON values, as the record of defaults holds them. Part of the record's format: the same
// value must give the same text in every version and on every machine.

#include <cstdint>
#include <string>

#include "common/json/value.h"

namespace dynamo::defaults {

/// 36 bits as base64url: two values of one place meet by chance once in 7e10.
inline constexpr std::size_t kDigestLength = 6;

/// The same for values that the API server treats as one: the order of members does not matter, 1 and 1.0 are
/// equal, a null member is an absent one.
std::uint64_t hashOf(const json::Value& value);
std::uint64_t hashOf(std::string_view text);

/// Adds `next` to a hash that depends on the order of its parts.
std::uint64_t chain(std::uint64_t hash, std::uint64_t next);

std::string digestText(std::uint64_t hash);
inline std::string digestOf(const json::Value& value) {
  return digestText(hashOf(value));
}

}  // namespace dynamo::defaults
