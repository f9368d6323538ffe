#pragma once
// Takeover of children that the reference operator wrote (decision child-Q4). It writes whole objects with
// update requests and owns all their fields. Server-side apply never removes a field that another manager
// owns: a variable that the user removes from the graph would stay in the pods. Therefore the controller
// becomes the owner of these fields before it applies a child.

#include <optional>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::render {

/// Whether the reference operator writes the annotation to each child: the hash of the spec, and the
/// generation after its last write.
bool isReferenceMark(std::string_view annotation);

/// Whether it is the field manager of the reference operator: the name of its program.
bool isReferenceManager(std::string_view manager);

/// Whether the reference operator has made an object to which it writes no such annotation, such as the
/// account of planners. `live` must have its managedFields.
bool isReferenceObject(const json::Value& live);

/// Whether `live` must be taken over before it is applied. `applied` tells whether this controller has
/// applied it before.
///
/// The mark is the annotation of the reference operator with the hash of the spec. The takeover ends when it
/// is removed, and the reference operator writes it again with its next update. It stays on kinds without a
/// spec: the reference operator fails on such an object without the annotation, and it never updates them.
bool needsTakeover(const json::Value& live, bool applied);

/// The merge patch that makes `manager` the owner by apply of all fields that the reference operator has
/// written, and of those that `manager` itself has written with other requests.
/// That entry then owns the mark, which is not applied. So the next apply is necessary, also after a crash,
/// and removes the mark. Without it, a member that the reference operator added inside a list that
/// server-side apply treats as one value would not show as a difference. If the apply would not remove a
/// mark, the patch does. `live` is the object with its managedFields, `wanted` the object that is applied
/// next: spec.replicas keep their owner if they are not applied.
json::Value takeoverPatch(const json::Value& live, const json::Value& wanted, std::string_view manager,
                          json::Allocator& allocator);

}  // namespace dynamo::render
