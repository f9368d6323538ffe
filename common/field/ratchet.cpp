#include "common/field/ratchet.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace dynamo::field {
namespace {

/// The name that identifies a changed list item; an empty name identifies nothing.
std::string nameOf(const json::Value& item) {
  return std::string{json::findText(&item, "name")};
}

/// Maps field paths of the new object to field paths of the old one. Items of lists may have moved.
class OldPaths {
 public:
  OldPaths(const json::Value& object, const json::Value& old) : object_(object), old_(old) {}

  /// The path in the old object; nullopt if it has no such item.
  std::optional<Path> operator()(const Path& path) {
    Path oldPath;
    const json::Value* now = &object_;
    const json::Value* was = &old_;
    for (const Segment segment : path.view()) {
      const json::Value* list = now != nullptr && now->IsArray() ? now : nullptr;
      now = now == nullptr ? nullptr : valueAt(*now, segment);
      if (list != nullptr && now != nullptr && was != nullptr && was->IsArray()) {
        const std::optional<std::size_t> index = indexes(*list, *was)[segment.index];
        if (!index) return std::nullopt;
        oldPath.appendIndex(*index);
        was = &(*was)[static_cast<rapidjson::SizeType>(*index)];
      } else {
        oldPath.append(segment);
        if (was != nullptr) was = valueAt(*was, segment);
      }
    }
    return oldPath;
  }

 private:
  using Indexes = std::vector<std::optional<std::size_t>>;

  /// For each item of the new list its index in the old list. Items match if they are equal, or else if they
  /// have the same name; of several items with one name, such as mounts of a volume, the n-th matches the
  /// n-th. An item with a new name matches a removed item at the same index.
  const Indexes& indexes(const json::Value& list, const json::Value& was) {
    const auto [known, isNew] = known_.try_emplace(&list);
    Indexes& result = known->second;
    if (!isNew) return result;
    result.resize(list.Size());
    std::vector<bool> taken(was.Size());
    pair(list, was, json::dump, result, taken);
    pair(list, was, nameOf, result, taken);
    for (std::size_t i = 0; i < std::min(result.size(), taken.size()); ++i) {
      if (!result[i] && !taken[i]) result[i] = i;
    }
    return result;
  }

  /// Matches the remaining items by label.
  template <typename Label>
  static void pair(const json::Value& list, const json::Value& was, const Label& label, Indexes& result,
                   std::vector<bool>& taken) {
    std::map<std::string, std::deque<std::size_t>, std::less<>> places;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (!taken[i]) places[label(was[index(i)])].push_back(i);
    }
    places.erase(std::string{});
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (result[i]) continue;
      const auto found = places.find(label(list[index(i)]));
      if (found == places.end() || found->second.empty()) continue;
      result[i] = found->second.front();
      found->second.pop_front();
      taken[*result[i]] = true;
    }
  }

  static rapidjson::SizeType index(std::size_t i) { return static_cast<rapidjson::SizeType>(i); }

  const json::Value& object_;
  const json::Value& old_;
  std::map<const json::Value*, Indexes> known_;
};

bool isAbsent(const json::Value* value) {
  return value == nullptr || value->IsNull();
}

/// Whether the update did not change the defect of `error`, which the old object has at the same path. At an
/// object or an absent field, the defect concerns only some members, which the bad value or else the detail
/// identifies.
bool sameDefect(const FieldError& error, const std::set<std::string_view>& details, const json::Value* value,
                const json::Value* was) {
  const bool members = (isAbsent(value) || value->IsObject()) && (isAbsent(was) || was->IsObject());
  if (members && (!error.badValue.empty() || details.contains(error.detail))) return true;
  if (isAbsent(value) && isAbsent(was)) return error.type == ErrorType::Required;
  return json::equal(value, was);
}

}  // namespace

Findings ratchet(Findings now, const Findings& before, const json::Value& object, const json::Value& old) {
  using Key = std::tuple<std::string_view, PathView, ErrorType, std::string_view>;
  std::map<Key, std::set<std::string_view>> known;  // the details
  for (const FieldError& e : before.errors) known[{e.rule, e.field, e.type, e.badValue}].insert(e.detail);
  OldPaths oldPathOf{object, old};
  const auto untouched = [&](const FieldError& error) {
    if (known.empty()) return false;
    const std::optional<Path> oldPath = oldPathOf(error.field);
    if (!oldPath) return false;
    const auto found = known.find({error.rule, *oldPath, error.type, error.badValue});
    return found != known.end() &&
           sameDefect(error, found->second, valueAt(object, error.field), valueAt(old, *oldPath));
  };
  std::vector<FieldError> kept;
  for (FieldError& error : now.errors) {
    if (untouched(error)) {
      now.warn(error.field, error.body(), error.rule);
    } else {
      kept.push_back(std::move(error));
    }
  }
  now.errors = std::move(kept);
  return now;
}

}  // namespace dynamo::field
