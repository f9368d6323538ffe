#pragma once
// To whom an object with the key of a child belongs. Decisions child-Q4, child-Q6, child-Q40, ctl-Q51,
// ctl-Q52, ctl-Q68, dec-11.

#include <cstdint>
#include <string>

#include "common/render/children.h"

namespace dynamo::render {

enum class Claimant : std::uint8_t {
  Operator,  ///< this operator or the reference operator made it
  Gone,      ///< it is being deleted, or the garbage collector will delete it because its owner is gone
  Other      ///< somebody else
};

struct Claim {
  Claimant claimant = Claimant::Operator;
  std::string reason = {};  ///< unless it is the operator's
  /// Of Other: the graph has changed its pathway, and the operator is about to delete the live object.
  bool passing = false;
};

/// The claim on the live object with the key of `child`. Only its metadata are read. `applied` tells whether
/// this controller has applied it before. An object with owners that the child does not have is the
/// operator's only if managedFields say so. Without managedFields, a shared object of the reference operator
/// that has other owners seems to be somebody else's.
Claim claimOf(const Child& child, const json::Value& live, bool applied);

/// Whether the child has one name in all namespaces and no owner: the accounts of planners, endpoint pickers
/// and profilers, and their bindings. An administrator may have made one, with other rights.
bool isReserved(const Child& child);

/// `child` with the owner references of the shared object `live` followed by its own. An object has at most
/// one controller, so additional owners are not controllers. The references of `live` must be included,
/// because server-side apply removes those that the field manager no longer applies.
json::Value withOwnersOf(const json::Value& child, const json::Value& live, json::Allocator& allocator);

}  // namespace dynamo::render
