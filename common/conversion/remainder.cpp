#include "common/conversion/remainder.h"

#include <utility>

#include "common/json/patch.h"

namespace dynamo::conversion {
namespace {

/// Compares two objects member by member and records the fields that differ.
class Comparison {
 public:
  Comparison(const RepresentedFields& represented, std::vector<Field>& fields)
      : represented_(represented), fields_(fields) {
    segments_.reserve(kUsualDepth);
  }

  /// `inside`: the live object has the parent of the member, and an update may remove the parent.
  void member(View live, View wanted, std::string_view name, const RepresentedFields::Step& from,
              bool inside) {
    // The common case, whether or not the other version represents the member.
    if (live.isSame(wanted) || (live && wanted && !live.isObject() && equal(live, wanted))) return;
    segments_.push_back({name, 0, inside});
    compare(live, wanted, represented_.descend(from, name));
    segments_.pop_back();
  }

 private:
  static constexpr std::size_t kUsualDepth = 16;

  struct Segment {
    std::string_view name;
    std::uint32_t index;  ///< of a list item; used if `name` has no data
    bool inside;
  };

  void item(View live, View wanted, std::uint32_t index, const RepresentedFields::Step& from) {
    segments_.push_back({{}, index, false});
    compare(live, wanted, represented_.descend(from, std::to_string(index)));
    segments_.pop_back();
  }

  void compare(View live, View wanted, const RepresentedFields::Step& step) {
    if (!live && !wanted) return;
    const auto relation = step.relation();
    // The common case, which needs no further comparison.
    if (live && wanted && relation == RepresentedFields::Relation::AtOrBelow && equal(live, wanted)) return;
    const bool descend =
        wanted.isObject() &&
        (live ? live.isObject() : relation == RepresentedFields::Relation::Above && wanted.size() != 0);
    if (descend) return compareMembers(live, wanted, step);
    if (wanted.isList() && wanted.size() != 0 && (!live || live.isList()) &&
        pointer() == kContainersPointer) {
      return compareItems(live, wanted, step);
    }
    if (live && wanted && equal(live, wanted)) return;
    // An object that the reference wrote may lack the list of containers. The mapped list is kept.
    if (!wanted && pointer() == kContainersPointer) return;
    record(live, wanted, relation != RepresentedFields::Relation::Unrepresented);
  }

  void compareMembers(View live, View wanted, const RepresentedFields::Step& step) {
    // Spec and status are always present.
    const bool inside = live && !live.isSame(&missingItem()) && segments_.size() > 1;
    std::uint32_t common = 0;
    for (std::uint32_t i = 0; i < wanted.size(); ++i) {
      const NamedView each = wanted.member(i);
      const View present = live.findRaw(each.name);
      if (present) ++common;
      member(present, each.view, each.name, step, inside);
    }
    if (common == live.size()) return;  // the common case: `live` has no other members
    for (std::uint32_t i = 0; i < live.size(); ++i) {
      const NamedView each = live.member(i);
      if (!wanted.findRaw(each.name)) member(each.view, {}, each.name, step, inside);
    }
  }

  /// Represents an item that does not exist.
  static const json::Value& missingItem() {
    static const json::Value kNone{rapidjson::kObjectType};
    return kNone;
  }

  void compareItems(View live, View wanted, const RepresentedFields::Step& step) {
    const std::uint32_t liveSize = live.size();
    for (std::uint32_t i = 0; i < wanted.size(); ++i) {
      // The first item is always compared by members, because the other version represents some of them.
      const View each = wanted.item(i);
      const bool merged = i < liveSize || (i == 0 && each.isObject() && each.size() != 0);
      if (merged) {
        item(i < liveSize ? live.item(i) : View{&missingItem()}, each, i, step);
      } else {
        recordItem({}, each, i, i == 0);  // the other version may represent the first item
      }
    }
    for (auto i = liveSize; i > wanted.size(); --i) recordItem(live.item(i - 1), {}, i - 1, true);
  }

  void recordItem(View live, View wanted, std::uint32_t index, bool guarded) {
    segments_.push_back({{}, index, false});
    record(live, wanted, guarded);
    segments_.pop_back();
  }

  void record(View live, View wanted, bool guarded) {
    Field field;
    field.pointer = pointer();
    field.value = wanted;
    field.guarded = guarded;
    if (guarded) field.seen = live;
    field.inside = guarded && !live && segments_.back().inside;
    fields_.push_back(std::move(field));
  }

  std::string pointer() const {
    std::string made;
    for (const Segment& segment : segments_) {
      made += '/';
      made +=
          segment.name.data() == nullptr ? std::to_string(segment.index) : json::escapePointer(segment.name);
    }
    return made;
  }

  const RepresentedFields& represented_;
  std::vector<Field>& fields_;
  std::vector<Segment> segments_;
};

}  // namespace

void difference(View live, View wanted, std::string_view name, const RepresentedFields& represented,
                std::vector<Field>& fields) {
  Comparison{represented, fields}.member(live.find(name), wanted.find(name), name, {}, false);
}

}  // namespace dynamo::conversion
