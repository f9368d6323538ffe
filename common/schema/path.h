#pragma once
// Where a value stands in an object. The API server writes map keys in two ways: ".key" in what its schema
// validation says, "[key]" in what list types, CEL rules and embedded resources say.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dynamo::schema {

class Path {
 public:
  /// "spec.services.a.replicas"
  std::string dotted() const { return render(false); }
  /// "spec.services[a].replicas"
  std::string bracketed() const { return render(true); }

  void pushField(std::string_view name) { segments_.push_back({name, 0, Kind::Field}); }
  void pushKey(std::string_view key) { segments_.push_back({key, 0, Kind::Key}); }
  void pushIndex(std::size_t index) { segments_.push_back({{}, index, Kind::Index}); }
  void pop() { segments_.pop_back(); }

 private:
  enum class Kind { Field, Key, Index };
  struct Segment {
    std::string_view name;
    std::size_t index;
    Kind kind;
  };

  std::string render(bool bracketKeys) const {
    std::string out;
    for (const Segment& segment : segments_) {
      if (segment.kind == Kind::Index) {
        out += '[' + std::to_string(segment.index) + ']';
      } else if (segment.kind == Kind::Key && bracketKeys) {
        out += '[';
        out += segment.name;
        out += ']';
      } else {
        if (!out.empty()) out += '.';
        out += segment.name;
      }
    }
    return out;
  }

  std::vector<Segment> segments_;
};

}  // namespace dynamo::schema
