#include "common/model/origin.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dynamo::model {

using field::Path;
using field::PathView;

void Origins::set(const Path& at, Origin origin) {
  // The map sorts the paths below `at` directly after it.
  auto known = entries_.lower_bound(at);
  while (known != entries_.end() && known->first.isWithin(at)) known = entries_.erase(known);
  entries_.emplace_hint(known, at, std::move(origin));
}

void Origins::shiftItems(const Path& list, std::size_t count) {
  std::vector<std::pair<Path, Origin>> moved;
  auto known = entries_.upper_bound(list);
  while (known != entries_.end() && known->first.isWithin(list)) {
    const PathView below = known->first.view().below(list);
    if (!below.front().isIndex()) {
      ++known;
      continue;
    }
    moved.emplace_back(list[below.front().index + count] / below.rest(), std::move(known->second));
    known = entries_.erase(known);
  }
  for (auto& [path, origin] : moved) entries_.insert_or_assign(std::move(path), std::move(origin));
}

Origin Origins::own(PathView path) const {
  // From the root to the value: the entry closest to the value decides.
  auto found = entries_.find(PathView{});
  PathView below = path;
  for (PathView rest = path; !rest.empty();) {
    rest = rest.rest();
    const auto entry = entries_.find(path.before(rest));
    if (entry == entries_.end()) continue;
    found = entry;
    below = rest;
  }
  if (found == entries_.end()) return {Origin::Source::User, Path{path}};
  Origin origin = found->second;
  const bool same = origin.source == Origin::Source::User || origin.source == Origin::Source::Default;
  if (same) origin.field.append(below);
  return origin;
}

Origin Origins::of(PathView path) const {
  Origin origin = own(path);
  if (fields_ == nullptr) return origin;
  Origin outer = fields_->of(origin.field);
  outer.source = std::max(outer.source, origin.source);
  return outer;
}

}  // namespace dynamo::model
