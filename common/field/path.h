#pragma once
// Field paths. An At is a cheap position during a walk through an object and is rarely printed. A Path is
// stored in a finding. Both consist of the same segments. Printed paths are never parsed, because a key may
// contain any byte, including ']' and '.'.

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "common/json/value.h"

// A temporary may be an argument, but not the source of a variable that outlives it. Clang rejects the
// latter; GCC does not know the attribute.
#if __has_cpp_attribute(clang::lifetimebound)
#define DYNAMO_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define DYNAMO_LIFETIMEBOUND
#endif

namespace dynamo::field {

/// The two forms in which API servers print map keys.
enum class Keys : bool {
  Bracketed,  ///< "spec.services[a].replicas": field errors, list types, CEL
  Dotted,     ///< "spec.services.a.replicas": structural schemas
};

/// One step of a path: a member of a struct, a key of a map, or an item of a list.
struct Segment {
  enum class Kind : char { Member, Key, Index };

  Kind kind = Kind::Member;
  std::string_view name = {};  ///< of a member or a key
  std::size_t index = 0;       ///< of an item

  bool isIndex() const { return kind == Kind::Index; }
  /// Whether both identify the same value. Members and keys are equal, because both are members in JSON.
  bool operator==(const Segment& other) const { return std::is_eq(*this <=> other); }
  std::strong_ordering operator<=>(const Segment& other) const;
};

/// The name of a member. A string literal may contain several names separated by dots, such as
/// "modelRef.name". Any other string is a single name, even if it contains dots.
class Members {
 public:
  template <std::size_t N>
  consteval Members(const char (&written)[N]) : text_{written, N - 1}, written_{true} {
    bool inName = false;
    for (const char c : text_) {
      if (c == '[' || c == ']' || (c == '.' && !inName)) throw "must be member names separated by dots";
      inName = c != '.';
    }
    if (!inName) throw "must be member names separated by dots";
  }
  constexpr Members(std::string_view name) : text_{name} {}
  constexpr Members(const std::string& name) : text_{name} {}

  /// Names separated by dots, from a constant table.
  static constexpr Members dotted(std::string_view written) {
    Members members{written};
    members.written_ = true;
    return members;
  }

  constexpr std::string_view text() const { return text_; }
  /// Whether dots separate names.
  constexpr bool written() const { return written_; }

 private:
  std::string_view text_;
  bool written_ = false;
};

/// A view of the segments of a Path, or of a suffix of them. The Path must outlive it.
class PathView {
 public:
  class Iterator;

  PathView() = default;

  bool empty() const { return encoded_.empty(); }
  /// The first segment. The path must not be empty.
  Segment front() const;
  /// The path without its first segment.
  PathView rest() const;
  Iterator begin() const;
  Iterator end() const;
  /// The last segment. The path must not be empty.
  Segment back() const;

  /// Whether this path is `ancestor` or a descendant of it.
  bool isWithin(PathView ancestor) const;
  /// The part after `ancestor`, which must contain this path.
  PathView below(PathView ancestor) const;
  /// The part before `rest`, which must be a suffix of this path.
  PathView before(PathView rest) const {
    return PathView{encoded_.substr(0, encoded_.size() - rest.encoded_.size())};
  }

  bool operator==(PathView other) const { return std::is_eq(*this <=> other); }
  std::strong_ordering operator<=>(PathView other) const;

  std::string text(Keys keys = Keys::Bracketed) const;

 private:
  friend class Path;
  explicit PathView(std::string_view encoded) : encoded_{encoded} {}

  std::string_view encoded_;
};

class PathView::Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Segment;

  Iterator() = default;
  explicit Iterator(PathView left) : left_{left} {}

  Segment operator*() const { return left_.front(); }
  Iterator& operator++() {
    left_ = left_.rest();
    return *this;
  }
  Iterator operator++(int) {
    const Iterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Iterator& other) const {
    return left_.encoded_.size() == other.left_.encoded_.size();
  }

 private:
  PathView left_;
};

inline PathView::Iterator PathView::begin() const {
  return Iterator{*this};
}
inline PathView::Iterator PathView::end() const {
  return Iterator{};
}

/// A path that owns its segments in one allocation. The empty path is the object itself.
class Path {
 public:
  Path() = default;
  Path(Members names) { append(names); }
  explicit Path(PathView segments, Keys keys = Keys::Bracketed) : encoded_{segments.encoded_}, keys_{keys} {}

  Path& append(Members names);
  Path& append(const Segment& segment);
  Path& append(PathView segments);
  Path& appendKey(std::string_view key) { return append({Segment::Kind::Key, key}); }
  Path& appendIndex(std::size_t index) { return append({Segment::Kind::Index, {}, index}); }
  /// Replaces the prefix `was` by `now`.
  Path& rebase(PathView was, PathView now);
  /// Adds the prefix `base`.
  Path& prepend(PathView base) { return rebase({}, base); }

  friend Path operator/(Path base, Members names) { return std::move(base.append(names)); }
  friend Path operator/(Path base, PathView segments) { return std::move(base.append(segments)); }
  friend Path operator/(Path base, const Path& below) { return std::move(base.append(below.view())); }
  Path operator[](std::size_t index) const { return std::move(Path{*this}.appendIndex(index)); }
  Path key(std::string_view key) const { return std::move(Path{*this}.appendKey(key)); }

  PathView view() const& { return PathView{encoded_}; }
  PathView view() const&& = delete;
  operator PathView() const DYNAMO_LIFETIMEBOUND { return PathView{encoded_}; }
  bool empty() const { return encoded_.empty(); }
  bool isWithin(PathView ancestor) const { return view().isWithin(ancestor); }

  /// Compares the segments and ignores the form of keys.
  bool operator==(const Path& other) const { return view() == other.view(); }
  std::strong_ordering operator<=>(const Path& other) const { return view() <=> other.view(); }

  Keys keys() const { return keys_; }
  Path& printKeys(Keys keys) {
    keys_ = keys;
    return *this;
  }
  std::string text() const { return view().text(keys_); }

 private:
  std::string encoded_;
  Keys keys_ = Keys::Bracketed;
};

/// A position in an object, as a chain of objects on the stack. Most positions are never reported, so a Path
/// is only made for a finding. A parent must outlive its children, so a temporary cannot be a parent.
class At {
 public:
  /// The object itself.
  constexpr At() = default;
  template <std::size_t N>
  consteval At(const char (&names)[N]) : At{Members{names}} {}
  constexpr At(Members names) : members_{names}, kind_{Kind::Members} {}
  At(const Path& base DYNAMO_LIFETIMEBOUND) : base_{&base} {}
  At(const Path& base, Members names) : base_{&base}, members_{names}, kind_{Kind::Members} {}
  At(const Path&&, Members) = delete;

  At operator/(Members names) const& { return At{this, Kind::Members, names, 0}; }
  At operator[](std::size_t index) const& { return At{this, Kind::Index, std::string_view{}, index}; }
  At key(std::string_view key) const& { return At{this, Kind::Key, key, 0}; }
  At operator/(Members names) const&& = delete;
  At operator[](std::size_t index) const&& = delete;
  At key(std::string_view key) const&& = delete;

  /// Whether this is the object itself.
  bool isRoot() const { return parent_ == nullptr && base_ == nullptr && kind_ == Kind::None; }
  const At* parent() const { return parent_; }

  Path path(Keys keys = Keys::Bracketed) const;
  std::string text(Keys keys = Keys::Bracketed) const { return path(keys).text(); }

 private:
  enum class Kind : char { None, Members, Key, Index };

  At(const At* parent, Kind kind, Members names, std::size_t index)
      : parent_{parent}, members_{names}, index_{index}, kind_{kind} {}
  void appendTo(Path& path) const;

  const At* parent_ = nullptr;
  const Path* base_ = nullptr;  ///< only for a root
  Members members_{std::string_view{}};
  std::size_t index_ = 0;
  Kind kind_ = Kind::None;
};

/// The member or item of `value` that `segment` identifies; nullptr if there is none.
const json::Value* valueAt(const json::Value& value, const Segment& segment);
/// The value at `path` in `object`; nullptr if there is none.
const json::Value* valueAt(const json::Value& object, PathView path);

}  // namespace dynamo::field
