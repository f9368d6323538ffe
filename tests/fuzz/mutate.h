#pragma once
// Mutations of Kubernetes objects along their schemas: fields are put in, taken out, moved and altered, so
// that most inputs have right types and are judged and rendered. Bytes alone hardly leave JSON whole.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dynamo::fuzz {

/// As LLVMFuzzerCustomMutator. The text is one or more objects, a line each; something may stand before the
/// first. Most often one of the objects is changed in a few places, else bytes are, by libFuzzer.
std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t maxSize, unsigned seed);

/// As LLVMFuzzerCustomCrossOver: an object of `text` gets a part of one of `other` where its schema allows
/// it.
std::size_t cross(std::string_view text, std::string_view other, std::uint8_t* out, std::size_t maxSize,
                  unsigned seed);

}  // namespace dynamo::fuzz
