#pragma once
// What a controller does with one child: whether it reads, creates, takes over, applies, replaces, leaves or
// refuses the live object, and why. Decisions child-Q1, child-Q4, child-Q6, child-Q12, child-Q40, ctl-Q45,
// ctl-Q51, ctl-Q52, ctl-Q66, ctl-Q67, ctl-Q68, dec-11.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/k8s/drift.h"
#include "common/k8s/object_key.h"
#include "common/render/children.h"
#include "common/render/contests.h"

namespace dynamo::render {

/// The annotation with the spec.replicas that were rendered when the child was applied last.
inline constexpr std::string_view kRenderedReplicas = "nvidia.com/dynamo-rendered-replicas";

/// The object in the cluster with the key of a child.
struct LiveChild {
  const json::Value& object;
  std::string_view manager;                  ///< the field manager of this controller
  const json::Value* ownedFields = nullptr;  ///< k8s::ownedFields of `manager`
  std::string_view replicasOwner = {};       ///< k8s::replicasOwner
};

/// Digests of an applied child and of the live object, for a child that still differs after it was applied.
/// The API server, a webhook or another controller changed the values. The child is not applied again until
/// one of the digests changes; otherwise it would be written forever.
struct Settled {
  std::size_t applied = 0;
  std::size_t live = 0;

  bool operator==(const Settled&) const = default;
};

/// What this process remembers of a child, and what this reconcile has done for it.
struct WriteMemory {
  std::optional<std::size_t> applied;  ///< appliedDigest() of the last write or look
  std::optional<Settled> settled;      ///< after the last write
  const Contests* contests = nullptr;  ///< nullptr: nothing is contested
  bool beingWritten = false;           ///< another reconcile writes the object, or has created it since
  bool watched = true;                 ///< the cache holds every object that has the key of the child
  bool read = false;       ///< the object was read from the API server, with all its managedFields
  bool ownerRead = false;  ///< the owner was read: it exists and is not being deleted
  bool takenOver = false;  ///< the child is applied even if no difference can be seen
};

enum class WriteAction : std::uint8_t {
  Read,       ///< read the live object from the API server, then plan again
  ReadOwner,  ///< read the owner from the API server, then plan again
  TakeOver,   ///< become the owner of the fields that the reference operator wrote, then plan again
  Create,     ///< create `object`; AlreadyExists is not an error
  Apply,      ///< server-side apply `object`; creates it if absent
  Replace,    ///< delete the live object, then apply, because an immutable field differs
  Leave,      ///< no request
  /// The live object is being deleted, or the garbage collector will delete it because its owner is gone. The
  /// watch event of its deletion triggers the next attempt.
  Wait,
  Conflict,  ///< another reconcile writes the object: try again
  Refuse     ///< the live object is not this operator's, as `reason` says
};

/// Something that users should know about a child that was not refused.
struct WriteNotice {
  enum class Kind : std::uint8_t {
    Replicas,   ///< somebody else set the number of replicas
    Contested,  ///< somebody else changes a field back
    Foreign     ///< the object is an administrator's, and is used as it is
  };
  Kind kind = Kind::Replicas;
  /// What does not change while the same writer does the same: the beginning of the message.
  std::string subject;
  std::string detail;

  std::string message() const { return subject + detail; }
};

struct WritePlan {
  WriteAction action = WriteAction::Leave;
  /// The object to write, in the allocator that was passed; nullptr if nothing is written.
  const json::Value* object = nullptr;
  std::string reason;  ///< of Wait, Conflict and Refuse
  /// Of Refuse: the graph has changed its pathway, and the operator is about to delete the live object.
  bool passing = false;
  bool force = true;                ///< of Apply: take fields from their owners
  std::optional<k8s::Drift> drift;  ///< of Apply to a live object: the first difference
  std::string contestant;           ///< Contest::manager of the field at `drift`
  std::string version;              ///< Contest::version of the field at `drift`
  std::optional<WriteNotice> notice;
  std::optional<Clock::duration> again;  ///< plan again after this time even if nothing changes
};

/// The plan for `child`. `live` is nullptr if no object is known. The child must outlive the result.
///
/// - An object that the cache may lack is read before it is written, so that nobody else's is taken over.
/// - Before a live object is applied with owners, the owner is read: garbage collection may have removed the
///   reference, unseen by the cache, because the owner is deleted with `--cascade=orphan`.
/// - Whoever changed spec.replicas last wins. A number that was set through the scale subresource stays until
///   another number is rendered.
/// - A field that somebody changes back is applied again at once, then after longer and longer times.
/// - The replicas of a scaling adapter are written at its creation only (child-Q12). Therefore it is created
///   and not applied: if it were applied, a later apply without replicas would remove the field.
WritePlan planWrite(const Child& child, const LiveChild* live, const WriteMemory& memory,
                    Clock::time_point now, json::Allocator& allocator);

/// `owner` has set the replicas of a child to `number`.
WriteNotice replicasNotice(const k8s::ObjectKey& key, std::string_view owner, std::string_view number,
                           std::string_view rendered);

/// A digest of a child without spec.replicas, which are not always applied. A member that is no longer
/// applied cannot be told from a default of the API server in a list that server-side apply treats as one
/// value. Such a change only shows in what was applied before.
std::size_t appliedDigest(const json::Value& object);
/// A digest of the parts of an object that users and other controllers may change.
std::size_t contentDigest(const json::Value& object);

}  // namespace dynamo::render
