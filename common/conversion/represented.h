#pragma once
// Which fields of a version the other version represents. For those the live object wins over saved values.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dynamo::conversion {

class Represented {
 public:
  /// Pointers, at most 64, none below another; no name in them holds "~" or "/".
  constexpr explicit Represented(const std::string_view* first, std::size_t count)
      : paths_(first), count_(count) {}

  enum class Place { TargetOnly, Above, AtOrBelow };

  /// A place on the way down from the root.
  struct Step {
    std::uint64_t candidates = ~std::uint64_t{0};  ///< paths that lead on from here, by index
    std::size_t length = 0;                        ///< length of the pointer that leads here
    bool below = false;                            ///< at a represented field or below one

    /// Above: some represented field lies below.
    Place place() const {
      return below ? Place::AtOrBelow : candidates != 0 ? Place::Above : Place::TargetOnly;
    }
  };
  Step down(const Step& from, std::string_view name) const;
  /// The place of a JSON pointer.
  Place placeOf(std::string_view pointer) const;

 private:
  std::uint64_t all() const { return count_ < 64 ? (std::uint64_t{1} << count_) - 1 : ~std::uint64_t{0}; }

  const std::string_view* paths_;
  std::size_t count_;
};

/// Fields of v1beta1 that v1alpha1 represents, and the other way round.
extern const Represented kRepresentedInV1beta1;
extern const Represented kRepresentedInV1alpha1;

}  // namespace dynamo::conversion
