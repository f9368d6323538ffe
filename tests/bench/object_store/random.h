#pragma once
// Values that differ from object to object in a cluster. The same seed yields the same values.

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace dynamo::bench {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  bool oneIn(std::size_t count) { return below(count) == 0; }
  std::string_view oneOf(std::span<const std::string_view> choices) { return choices[below(choices.size())]; }

  /// Lower-case hexadecimal digits, such as a digest.
  std::string hex(std::size_t digits) { return letters("0123456789abcdef", digits); }
  /// The random part of a generated name. It has the letters that Kubernetes uses.
  std::string suffix(std::size_t length) { return letters("bcdfghjklmnpqrstvwxz2456789", length); }
  std::string uid() { return fmt::format("{}-{}-4{}-a{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12)); }
  /// A second of the last ten months of 2026.
  std::string time() {
    return fmt::format("2026-{:02}-{:02}T{:02}:{:02}:{:02}Z", 3 + below(10), 1 + below(28), below(24),
                       below(60), below(60));
  }

 private:
  std::string letters(std::string_view alphabet, std::size_t count) {
    std::string text;
    for (; count > 0; --count) text += alphabet[below(alphabet.size())];
    return text;
  }

  std::mt19937_64 engine_;
};

}  // namespace dynamo::bench
