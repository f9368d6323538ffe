#pragma once
// A DynamoCheckpoint: the Job that takes it, and its status. Decisions ctl-Q9, ctl-Q12, ctl-Q74,
// ctl-Q86, life-Q8, life-Q51.
//
// phase     Job                                       then
// Pending   none: it is created; refused: told        Creating
// Creating  runs; what keeps its pods back is told    Ready, Failed; Pending if the Job was deleted before
//                                                     it ended
// Ready     may be gone                               final
// Failed    may be gone                               Pending when the spec has changed

#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/reconcile.h"
#include "common/lifecycle/time.h"
#include "common/render/children.h"
#include "common/render/context.h"

namespace dynamo::lifecycle {

namespace condition {
inline constexpr std::string_view kJobCreated = "JobCreated";
inline constexpr std::string_view kJobCompleted = "JobCompleted";
}  // namespace condition

/// Whether the checkpoint is Creating: it tells how its Job ends.
bool followsJob(const json::Value& checkpoint);

/// The name of the Job that the checkpoint may have although its watch does not show one: it may have lost
/// its label. Empty: it has none, or its Job tells nothing any more.
std::string unseenJobName(const json::Value& checkpoint);

/// What a reconcile of a DynamoCheckpoint writes first: its Job if there is none and one is needed. A Job
/// that exists is never changed, because its pods run. `checkpoint` must not be being deleted.
render::Children checkpointChildren(const json::Value& checkpoint, Observed observed,
                                    const render::Context& context);

/// The Job whose failure the next outcome tells; nullptr if there is none. It is told once, so the pods of
/// this Job must be among the objects as the API server has them.
const json::Value* jobWhoseFailureIsTold(const json::Value& checkpoint, Observed observed);

/// The outcome after the children were written. `children`: of checkpointChildren.
Outcome checkpointOutcome(const json::Value& checkpoint, const render::Children& children,
                          const Applied& applied, const render::Context& context, Time now,
                          json::Allocator& allocator);

}  // namespace dynamo::lifecycle
