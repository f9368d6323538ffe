#pragma once
// Fields of children that somebody else changes back again and again: how long the next write waits. Decision
// ctl-Q67.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/k8s/object_key.h"

namespace dynamo::render {

using Clock = std::chrono::steady_clock;

/// A field of a child that somebody else changes back each time it is applied.
struct Contest {
  std::size_t applied = 0;  ///< digest of the child that was applied
  int undone = 0;           ///< how often it was changed back
  Clock::time_point since;  ///< when it was applied last
  std::string manager;      ///< who changes it back; empty: not known yet
  std::string version;      ///< resourceVersion of the live object before that; empty: not recorded
};

/// The first two writes after a change are made at once: one by a user who does not know who owns the child.
Clock::duration waitAfter(int undone);
/// When whoever has not changed the field back until then does so no more.
Clock::time_point endOf(const Contest& contest);
bool hasEnded(const Contest& contest, Clock::time_point now);
/// Who changes a field back this often is named.
inline constexpr int kNamedFrom = 2;

struct WriteNotice;
WriteNotice contestNotice(const k8s::ObjectKey& key, std::string_view path, std::string_view manager);

struct WritePlan;

/// The contested fields of all children. Fields are stored by digest, because each change of a child is one
/// until it has stayed for some minutes.
class Contests {
 public:
  /// Returns the field `path` of a child; nullptr: it was not applied lately.
  const Contest* find(const k8s::ObjectKey& key, std::string_view path) const;
  /// Returns the fields of a child that somebody keeps changing, by path.
  std::map<std::string, Contest, std::less<>> named(const k8s::ObjectKey& key) const;
  /// Records that the plan was carried out.
  void remember(const k8s::ObjectKey& key, const WritePlan& plan, Clock::time_point now);
  std::size_t size() const { return fields_.size(); }

 private:
  std::unordered_map<std::size_t, Contest> fields_;
  std::map<k8s::ObjectKey, std::set<std::string, std::less<>>> named_;
  std::size_t pruneAt_ = 1024;  ///< the number of fields at which old ones are removed
};

}  // namespace dynamo::render
