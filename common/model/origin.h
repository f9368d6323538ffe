#pragma once
// Where the values of a rendered object come from. Rendering records the origin of each value that it writes
// if render::Context::recordOrigins is set. Admission uses origins to report findings about pods at the
// fields of the user's object.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "common/field/path.h"

namespace dynamo::model {

struct Origin {
  /// Ordered by the user's influence on the value, the greatest first.
  enum class Source {
    User,      ///< copied, with all members, from the value at `field`
    Made,      ///< computed from the value at `field`
    Default,   ///< a default; the user can set another value at `field`
    Operator,  ///< set by the operator for the part of the user's object at `field`
  };

  Source source = Source::User;
  field::Path field;

  bool operator==(const Origin&) const = default;
};

/// The origins of the values in one object, by their paths in it. A value without an entry has the origin of
/// the object or list that contains it.
class Origins {
 public:
  Origins() = default;
  /// For a value that is rendered in two steps. The fields of the entries are paths in an intermediate object
  /// with the origins `fields`. of() follows them to the user's object.
  explicit Origins(std::shared_ptr<const Origins> fields) : fields_(std::move(fields)) {}

  /// Sets the origin of the value at `at`, and removes the entries of all values below it.
  void set(const field::Path& at, Origin origin);
  void user(const field::Path& at, field::Path field) { set(at, {Origin::Source::User, std::move(field)}); }
  void made(const field::Path& at, field::Path field) { set(at, {Origin::Source::Made, std::move(field)}); }
  void byDefault(const field::Path& at, field::Path field) {
    set(at, {Origin::Source::Default, std::move(field)});
  }
  /// An empty `field` names the whole object.
  void byOperator(const field::Path& at, field::Path field = {}) {
    set(at, {Origin::Source::Operator, std::move(field)});
  }

  /// Gives the value at `at` the origin of the value at `from`, of which it is a copy.
  void copy(const field::Path& at, field::PathView from) { set(at, own(from)); }
  /// Adds `count` to the indices of the items of `list`, because `count` items were inserted before them.
  void shiftItems(const field::Path& list, std::size_t count);

  /// The origin of the value at `path`. A missing value has the origin of the object that lacks it.
  Origin of(field::PathView path) const;
  /// The same, but the field is a path in the intermediate object.
  Origin own(field::PathView path) const;

 private:
  std::map<field::Path, Origin, std::less<>> entries_;
  std::shared_ptr<const Origins> fields_;
};

}  // namespace dynamo::model
