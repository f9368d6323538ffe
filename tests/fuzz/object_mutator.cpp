// The hooks of libFuzzer, for targets whose inputs are objects.

#include "mutate.h"

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t maxSize,
                                               unsigned seed) {
  return dynamo::fuzz::mutate(data, size, maxSize, seed);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t sizeA,
                                                 const std::uint8_t* b, std::size_t sizeB, std::uint8_t* out,
                                                 std::size_t maxSize, unsigned seed) {
  const auto text = [](const std::uint8_t* data, std::size_t size) {
    return std::string_view{reinterpret_cast<const char*>(data), size};
  };
  return dynamo::fuzz::cross(text(a, sizeA), text(b, sizeB), out, maxSize, seed);
}
