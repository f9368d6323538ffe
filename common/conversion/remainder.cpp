#include "common/conversion/remainder.h"

#include <utility>

#include "common/json/patch.h"

namespace dynamo::conversion {
namespace {

/// Walks through two objects side by side. The pointer of a place is made only for what differs.
class Comparison {
 public:
  Comparison(const Represented& represented, std::vector<Field>& fields)
      : represented_(represented), fields_(fields) {
    way_.reserve(kUsualDepth);
  }

  /// `inside`: the live object has what holds the member, and an update may remove it.
  void member(View live, View wanted, std::string_view name, const Represented::Step& from, bool inside) {
    // The usual case, whether or not the other version represents the member.
    if (live.isSame(wanted) || (live && wanted && !live.isObject() && equal(live, wanted))) return;
    way_.push_back({name, 0, inside});
    compare(live, wanted, represented_.down(from, name));
    way_.pop_back();
  }

 private:
  static constexpr std::size_t kUsualDepth = 16;

  struct Segment {
    std::string_view name;
    std::uint32_t index;  ///< used when the name has no data: for an item of a list
    bool inside;
  };

  void item(View live, View wanted, std::uint32_t index, const Represented::Step& from) {
    way_.push_back({{}, index, false});
    compare(live, wanted, represented_.down(from, std::to_string(index)));
    way_.pop_back();
  }

  void compare(View live, View wanted, const Represented::Step& step) {
    if (!live && !wanted) return;
    const auto place = step.place();
    // The usual case, which needs no walk.
    if (live && wanted && place == Represented::Place::AtOrBelow && equal(live, wanted)) return;
    const bool descend = wanted.isObject() &&
                         (live ? live.isObject() : place == Represented::Place::Above && wanted.size() != 0);
    if (descend) return compareMembers(live, wanted, step);
    if (wanted.isList() && wanted.size() != 0 && (!live || live.isList()) &&
        pointer() == kContainersPointer) {
      return compareItems(live, wanted, step);
    }
    if (live && wanted && equal(live, wanted)) return;
    // An object that the reference wrote may lack the list; it gets it.
    if (!wanted && pointer() == kContainersPointer) return;
    record(live, wanted, place != Represented::Place::TargetOnly);
  }

  void compareMembers(View live, View wanted, const Represented::Step& step) {
    // Spec and status are always there.
    const bool inside = live && !live.isSame(&none()) && way_.size() > 1;
    std::uint32_t common = 0;
    for (std::uint32_t i = 0; i < wanted.size(); ++i) {
      const NamedView each = wanted.member(i);
      const View present = live.findRaw(each.name);
      if (present) ++common;
      member(present, each.view, each.name, step, inside);
    }
    if (common == live.size()) return;  // the usual case: nothing is there that is not wanted
    for (std::uint32_t i = 0; i < live.size(); ++i) {
      const NamedView each = live.member(i);
      if (!wanted.findRaw(each.name)) member(each.view, {}, each.name, step, inside);
    }
  }

  /// Stands for an item that is not there.
  static const json::Value& none() {
    static const json::Value kNone{rapidjson::kObjectType};
    return kNone;
  }

  void compareItems(View live, View wanted, const Represented::Step& step) {
    const std::uint32_t had = live.size();
    for (std::uint32_t i = 0; i < wanted.size(); ++i) {
      // Also the first item is compared by members, because the other version represents some of them.
      const View each = wanted.item(i);
      const bool merged = i < had || (i == 0 && each.isObject() && each.size() != 0);
      if (merged) {
        item(i < had ? live.item(i) : View{&none()}, each, i, step);
      } else {
        recordItem({}, each, i, i == 0);  // the other version may represent the first
      }
    }
    for (auto i = had; i > wanted.size(); --i) recordItem(live.item(i - 1), {}, i - 1, true);
  }

  void recordItem(View live, View wanted, std::uint32_t index, bool guarded) {
    way_.push_back({{}, index, false});
    record(live, wanted, guarded);
    way_.pop_back();
  }

  void record(View live, View wanted, bool guarded) {
    Field field;
    field.pointer = pointer();
    field.value = wanted;
    field.guarded = guarded;
    if (guarded) field.seen = live;
    field.inside = guarded && !live && way_.back().inside;
    fields_.push_back(std::move(field));
  }

  std::string pointer() const {
    std::string made;
    for (const Segment& segment : way_) {
      made += '/';
      made +=
          segment.name.data() == nullptr ? std::to_string(segment.index) : json::escapePointer(segment.name);
    }
    return made;
  }

  const Represented& represented_;
  std::vector<Field>& fields_;
  std::vector<Segment> way_;
};

}  // namespace

void difference(View live, View wanted, std::string_view name, const Represented& represented,
                std::vector<Field>& fields) {
  Comparison{represented, fields}.member(live.find(name), wanted.find(name), name, {}, false);
}

}  // namespace dynamo::conversion
