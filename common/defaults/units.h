#pragma once
// Units: the values that the webhook owns inside a component. A trie that mirrors the component records them.
//
//   {"extraPodSpec":{"mainContainer":{"command":"x4Jd0a","env":{"POD_UID":"a81kQ_"}}},"replicas":"0s9XeQ"}
//
// A string is a unit: the digest of its value with schema defaults. The suffix "!" means that the request had
// a null there. The user then owns the field in managedFields, and claims on it are ignored. Below a list,
// the names are the keys of items (for mounts the paths). "." marks a parent that was present but empty
// before, "=" is the digest of the input of the defaults.

#include <string>
#include <string_view>

#include "common/defaults/claims.h"
#include "common/json/value.h"

namespace dynamo::defaults {

inline constexpr std::string_view kKeptParent = ".";
inline constexpr std::string_view kDerivedFrom = "=";
inline constexpr char kNamedWithNull = '!';

/// The member that is the key of the items of `list`: "mountPath" for volumeMounts, otherwise "name".
std::string_view itemKey(std::string_view list);

/// Which of the units with an unchanged value the webhook owns.
enum class OwnedUnits {
  Unclaimed,           ///< units without claims
  UnclaimedOrMissing,  ///< also claimed units that the other object lacks
  Differing,           ///< units, claimed or not, that are absent from or different in the other object
};

/// Removes the webhook's units from `value`, and parents that the webhook created and that become empty.
/// `other` is the same field of another object (nullptr if absent). Returns whether anything was removed.
bool takeUnits(json::Value& value, const json::Value& trie, const Claim& claim, OwnedUnits owned,
               const json::Value* other = nullptr, std::string_view name = {});

/// Removes units of the webhook from `value` that conflict with values that the request merged into them: the
/// handler of a probe, the source of a variable or a volume, the name of a port (quirk pod-Q5). `before` is
/// the same field of the stored object. Claimed values of the request are kept. Call
/// mayHaveConflictingUnits() first, because claims are expensive to compute.
void dropConflictingUnits(json::Value& value, const json::Value& trie, const json::Value& before,
                          const Claim& claim, const Claim& claimBefore, std::string_view name = {});

/// Whether `value` differs from `before` in a field that dropConflictingUnits() checks.
bool mayHaveConflictingUnits(const json::Value& value, const json::Value& trie, const json::Value& before);

/// Adds to `value` the units of `full` that `taken` lacks. `taken` is a copy of `full` after takeUnits().
void putUnits(json::Value& value, const json::Value& trie, const json::Value& full, const json::Value* taken,
              json::Allocator& allocator, std::string_view name = {});

/// Whether `value` has every unit of `trie`, with any value.
bool hasUnits(const json::Value& value, const json::Value& trie, std::string_view name = {});

/// Whether `digest`, the string of a unit in a trie, is the digest of `value`.
bool matches(std::string_view digest, const json::Value& value);

}  // namespace dynamo::defaults
