#pragma once
// The fields of a version that the other version represents. For these the live object takes precedence over
// saved values.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dynamo::conversion {

class RepresentedFields {
 public:
  /// At most 64 pointers. No pointer is below another, and no name in them contains "~" or "/".
  constexpr explicit RepresentedFields(const std::string_view* first, std::size_t count)
      : paths_(first), count_(count) {}

  /// How a field relates to the represented fields.
  enum class Relation {
    Unrepresented,  ///< neither of the others
    Above,          ///< the parent of a represented field
    AtOrBelow,      ///< a represented field, or below one
  };

  /// A field on the way from the root to a descendant.
  struct Step {
    std::uint64_t candidates = ~std::uint64_t{0};  ///< bit set of the paths below this field
    std::size_t length = 0;                        ///< length of the pointer of this field
    bool below = false;                            ///< a represented field, or below one

    Relation relation() const {
      return below ? Relation::AtOrBelow : candidates != 0 ? Relation::Above : Relation::Unrepresented;
    }
  };
  Step descend(const Step& from, std::string_view name) const;
  /// The relation of the field at a JSON pointer.
  Relation relationOf(std::string_view pointer) const;

 private:
  std::uint64_t all() const { return count_ < 64 ? (std::uint64_t{1} << count_) - 1 : ~std::uint64_t{0}; }

  const std::string_view* paths_;
  std::size_t count_;
};

/// Fields of v1beta1 that v1alpha1 represents, and the other way round.
extern const RepresentedFields kRepresentedInV1beta1;
extern const RepresentedFields kRepresentedInV1alpha1;

}  // namespace dynamo::conversion
