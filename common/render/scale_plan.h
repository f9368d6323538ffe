#pragma once
// Whether the replicas of an object are written that only its scale subresource changes, as those of a
// PodClique or a PodCliqueScalingGroup. Decisions child-Q38, ctl-Q45, ctl-Q67.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/k8s/object_key.h"
#include "common/render/write_plan.h"

namespace dynamo::render {

struct ScaledObject {
  k8s::ObjectKey key;
  std::int64_t replicas = 0;         ///< of the live object
  std::int64_t rendered = 0;         ///< as the owner wants them now
  std::optional<std::int64_t> last;  ///< as the owner wanted them last; nullopt: not known
  std::string scaledBy = {};         ///< k8s::replicasOwner
  std::string writer = {};           ///< k8s::fieldOwner of spec.replicas; may be empty
  std::string version = {};          ///< resourceVersion of the live object
};

/// Whether somebody has set the replicas after the owner rendered them: whoever changed the number last wins.
bool isScaledByOthers(const ScaledObject& live);

/// The plan for the replicas: Apply, or Leave. `contests` may be nullptr.
///
/// - A number that somebody set through the scale subresource stays until another number is rendered.
/// - A number that somebody set otherwise is written back at once, then after longer and longer times.
/// - The version of the object that was written is not written again: its watch event is about to come.
WritePlan planScale(const ScaledObject& live, const Contests* contests, Clock::time_point now,
                    json::Allocator& allocator);

}  // namespace dynamo::render
