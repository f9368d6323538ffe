#pragma once
// Short digests of JSON values for the record of defaults. They are part of the format of the record, so a
// value must have the same digest in every version and on every machine.

#include <cstdint>
#include <string>

#include "common/json/value.h"

namespace dynamo::defaults {

/// 36 bits as base64url. The probability that two values have the same digest is 1 in 7e10.
inline constexpr std::size_t kDigestLength = 6;

/// Equal for values that the API server treats as equal: the order of members does not matter, 1 equals 1.0,
/// and a null member equals an absent one.
std::uint64_t hashOf(const json::Value& value);
std::uint64_t hashOf(std::string_view text);

/// Combines two hashes. The result depends on their order.
std::uint64_t chain(std::uint64_t hash, std::uint64_t next);

std::string digestText(std::uint64_t hash);
inline std::string digestOf(const json::Value& value) {
  return digestText(hashOf(value));
}

}  // namespace dynamo::defaults
