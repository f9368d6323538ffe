#pragma once
// What one version cannot hold of the other travels in an annotation as a list of fields, each saying what to
// restore and, where the live object can speak for itself, while which live value it still holds.
// Live wins, sparse, deterministic, tolerant of tampering (conv-Q14).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::conversion {

/// One field to restore.
struct Field {
  std::string pointer;               ///< RFC 6901, into the object
  std::optional<json::Value> value;  ///< nullopt: the field was absent
  bool guarded = false;              ///< restore only while the live value is `seen`
  std::optional<json::Value> seen;   ///< nullopt: absent
  std::string guardPointer;          ///< where `seen` is looked for; empty: at `pointer`
  bool inside = false;               ///< restore only while the object that lacks it is there
  bool skipped = false;              ///< not to be restored
};

/// Which fields of a version the other version speaks for: the live object wins there.
class Represented {
 public:
  /// Pointers, at most 64, none below another; no name in them holds "~" or "/".
  constexpr explicit Represented(const std::string_view* first, std::size_t count)
      : paths_(first), count_(count) {}

  enum class Place { TargetOnly, Above, AtOrBelow };

  /// A place on the way down from the root.
  struct Step {
    std::uint64_t candidates = ~std::uint64_t{0};  ///< paths that lead on from here, by index
    std::size_t length = 0;                        ///< of the pointer that leads here
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

/// Appends the fields that turn the member `name` ("spec" or "status") of `live` into that of `wanted`; both
/// may be absent. The values are aliases of theirs.
void difference(const json::Value& live, const json::Value& wanted, std::string_view name,
                const Represented& represented, std::vector<Field>& fields);

/// Restores `fields` in `object`. All guards are read before anything is changed.
void restore(const std::vector<Field>& fields, json::Value& object, json::Allocator& allocator);

/// The annotation's text; fields in pointer order.
std::string encode(std::vector<const Field*> fields);

/// Reads an annotation about `prefix` ("/spec" or "/status"); what is malformed, of another format version or
/// not of conversion's own making is left out. The values live in `allocator`.
std::vector<Field> decode(std::string_view text, std::string_view prefix, json::Allocator& allocator);

}  // namespace dynamo::conversion
