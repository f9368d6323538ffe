#pragma once
// Where a value stands in an object. At is a place on the way through an object, made for every object that
// is looked at and printed for none; Path is what a finding keeps. Both have the same segments. Paths are
// printed here, and printed paths are parsed nowhere: a key may hold any byte, also ']' and '.'.

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::field {

/// How API servers print keys of maps.
enum class Keys : bool {
  Bracketed,  ///< "spec.services[a].replicas": field errors, list types, CEL
  Dotted,     ///< "spec.services.a.replicas": what structural schemas say
};

/// One step of a path: a member of a struct, a key of a map, or an item of a list.
struct Segment {
  enum class Kind : char { Member, Key, Index };

  Kind kind = Kind::Member;
  std::string_view name = {};  ///< of a member or a key
  std::size_t index = 0;       ///< of an item

  bool isIndex() const { return kind == Kind::Index; }
  /// Whether both name the same value. Members and keys do not differ there: in JSON both are members.
  bool operator==(const Segment& other) const { return std::is_eq(*this <=> other); }
  std::strong_ordering operator<=>(const Segment& other) const;
};

/// The name of a member; or, as code writes them, the names of members below each other with dots between:
/// "modelRef.name". A text that is no literal is one name, whatever it holds.
class Members {
 public:
  template <std::size_t N>
  consteval Members(const char (&written)[N]) : text_{written, N - 1}, written_{true} {
    bool inName = false;
    for (const char c : text_) {
      if (c == '[' || c == ']' || (c == '.' && !inName)) throw "want names of members with dots between";
      inName = c != '.';
    }
    if (!inName) throw "want names of members with dots between";
  }
  constexpr Members(std::string_view name) : text_{name} {}
  constexpr Members(const std::string& name) : text_{name} {}

  /// Names with dots between, of a table of ours.
  static constexpr Members dotted(std::string_view written) {
    Members members{written};
    members.written_ = true;
    return members;
  }

  constexpr std::string_view text() const { return text_; }
  /// Whether dots part names.
  constexpr bool written() const { return written_; }

 private:
  std::string_view text_;
  bool written_ = false;
};

/// The segments of a Path, or the last ones of it. The Path must outlive it.
class PathView {
 public:
  class Iterator;

  PathView() = default;

  bool empty() const { return encoded_.empty(); }
  /// The first segment; there must be one.
  Segment front() const;
  /// What follows the first segment.
  PathView rest() const;
  Iterator begin() const;
  Iterator end() const;
  /// The last segment; there must be one.
  Segment back() const;

  /// Whether this path is `ancestor` or names something in it.
  bool isWithin(PathView ancestor) const;
  /// What follows `ancestor`, which this path is within.
  PathView below(PathView ancestor) const;
  /// What stands before `rest`, the end of this path.
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

/// Owns its segments, in one allocation. The empty path names the object itself.
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
  /// Puts `now` in the place of `was`, which this path is within.
  Path& rebase(PathView was, PathView now);
  /// Makes it a path in the object that has its own at `base`.
  Path& prepend(PathView base) { return rebase({}, base); }

  friend Path operator/(Path base, Members names) { return std::move(base.append(names)); }
  friend Path operator/(Path base, PathView segments) { return std::move(base.append(segments)); }
  friend Path operator/(Path base, const Path& below) { return std::move(base.append(below.view())); }
  Path operator[](std::size_t index) const { return std::move(Path{*this}.appendIndex(index)); }
  Path key(std::string_view key) const { return std::move(Path{*this}.appendKey(key)); }

  PathView view() const { return PathView{encoded_}; }
  operator PathView() const { return view(); }
  bool empty() const { return encoded_.empty(); }
  bool isWithin(PathView ancestor) const { return view().isWithin(ancestor); }

  /// How it is printed does not count.
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

/// A place in an object, as a chain of stack frames: most places are never told, so a Path is only made for a
/// finding. A parent must outlive its children, hence no children of temporaries.
class At {
 public:
  /// The object itself.
  constexpr At() = default;
  template <std::size_t N>
  consteval At(const char (&names)[N]) : At{Members{names}} {}
  constexpr At(Members names) : members_{names}, kind_{Kind::Members} {}
  At(const Path& base) : base_{&base} {}
  At(const Path& base, Members names) : base_{&base}, members_{names}, kind_{Kind::Members} {}

  At operator/(Members names) const& { return At{this, Kind::Members, names, 0}; }
  At operator[](std::size_t index) const& { return At{this, Kind::Index, std::string_view{}, index}; }
  At key(std::string_view key) const& { return At{this, Kind::Key, key, 0}; }
  At operator/(Members names) const&& = delete;
  At operator[](std::size_t index) const&& = delete;
  At key(std::string_view key) const&& = delete;

  /// Whether it is the object itself.
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
  const Path* base_ = nullptr;  ///< of a root
  Members members_{std::string_view{}};
  std::size_t index_ = 0;
  Kind kind_ = Kind::None;
};

/// What `segment` names in `value`; nullptr when there is nothing.
const json::Value* valueAt(const json::Value& value, const Segment& segment);
/// The value at `path` below `object`; nullptr when there is none.
const json::Value* valueAt(const json::Value& object, PathView path);

}  // namespace dynamo::field
