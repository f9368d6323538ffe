#include "common/lifecycle/deletion.h"

#include "common/json/build.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {

using json::Value;

std::optional<Outcome> deletionOutcome(const Value& object, json::Allocator& allocator) {
  if (!isBeingDeleted(object)) return std::nullopt;
  Outcome outcome;
  const json::Maker make{allocator};
  const Value* finalizers = json::find(metadataOf(object), "finalizers");
  if (finalizers == nullptr || !finalizers->IsArray()) return outcome;
  Value others = make.list();
  for (const Value& finalizer : finalizers->GetArray()) {
    if (json::text(finalizer) != kFinalizer) make.push(others, finalizer);
  }
  if (others.Size() == finalizers->Size()) return outcome;
  // The patch replaces the whole list, so the list must not have changed since it was read.
  outcome.writes.push_back(
      patchOf(object, make.object("metadata", make.object("finalizers", std::move(others))), true));
  return outcome;
}

}  // namespace dynamo::lifecycle
