#pragma once
// Compresses many small texts that resemble each other, such as the JSON of Kubernetes objects of one kind.
// Unpacking restores a text byte for byte.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dynamo::k8s {

/// A text of a few kilobytes has little repetition of its own, but most of it is also in its siblings. So
/// each group of texts has a dictionary made of some of them. From time to time a new dictionary is made of
/// recent texts. It replaces the old one if it packs them better. Not thread-safe.
class TextPacker {
 public:
  using Dictionary = std::uint16_t;

  /// Bounds the memory of dictionaries. Each takes about 140 KiB while it is the newest of its group, and 60
  /// KiB while older texts use it. A group with this many gets no further ones.
  static constexpr std::size_t kMaxDictionariesOfGroup = 16;

  struct Packed {
    std::string bytes;
    Dictionary dictionary = 0;
  };

  explicit TextPacker(std::size_t groups);
  ~TextPacker();
  TextPacker(TextPacker&&) noexcept;
  TextPacker& operator=(TextPacker&&) noexcept;

  /// Packs a text of `group`, which is below `groups`. The dictionary exists until release() is called once
  /// for each text that was packed with it.
  Packed pack(std::size_t group, std::string_view text);
  std::string unpack(Dictionary dictionary, std::string_view bytes) const;
  void release(Dictionary dictionary);

  /// The number of dictionaries in memory.
  std::size_t dictionaries() const;

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace dynamo::k8s
