#pragma once
// Mutations of Kubernetes objects by their schemas: fields are added, removed, moved and changed. Most inputs
// then have correct types, so they are validated and rendered. Mutations of bytes mostly break the JSON.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dynamo::fuzz {

/// Implements LLVMFuzzerCustomMutator. The text is one or more objects, one per line, after an optional
/// prefix. Mostly one object is changed in a few fields. Otherwise libFuzzer changes bytes.
std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t maxSize, unsigned seed);

/// Implements LLVMFuzzerCustomCrossOver: an object of `text` gets a part of an object of `other` at a field
/// with the same schema.
std::size_t cross(std::string_view text, std::string_view other, std::uint8_t* out, std::size_t maxSize,
                  unsigned seed);

}  // namespace dynamo::fuzz
