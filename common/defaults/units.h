#pragma once
// Units of ownership: the webhook's own values inside a component, named by a trie that mirrors the
// component.
//
//   {"extraPodSpec":{"mainContainer":{"command":"x4Jd0a","env":{"POD_UID":"a81kQ_"}}},"replicas":"0s9XeQ"}
//
// A text is one unit, the digest of its value with schema defaults; "!" after it: the request named the place
// with a null, so what managers name says nothing about it. Below a list, names are those of items (of
// mounts: their paths). "." marks a parent that stood there empty before, "=" is what the defaults were
// derived from.

#include <string>
#include <string_view>

#include "common/defaults/claims.h"
#include "common/json/value.h"

namespace dynamo::defaults {

inline constexpr std::string_view kKeptParent = ".";
inline constexpr std::string_view kDerivedFrom = "=";
inline constexpr char kNamedWithNull = '!';

/// The member that tells items of `list` apart: "name", or "mountPath" of volumeMounts.
std::string_view itemKey(std::string_view list);

/// Which units that are still as recorded are the webhook's.
enum class Ours {
  Unclaimed,           ///< those that nobody else names
  UnclaimedOrMissing,  ///< and those that the other object lacks: it cannot have meant to keep them
  Differing,           ///< whoever names them, those that the other object has otherwise or not at all
};

/// Takes the webhook's units, and parents that it made and that are now empty, out of `value`. `other` is the
/// same place in another object (nullptr: absent there). True when something was taken.
bool takeUnits(json::Value& value, const json::Value& trie, const Claim& claim, Ours ours,
               const json::Value* other = nullptr, std::string_view name = {});

/// Takes out of `value` what a request merged its own into where only one may be given: the handler of a
/// probe, the source of a variable or a volume, the name of a port (quirk pod-Q5). `before`: the stored
/// object's, where the unit is the webhook's; what others name in the request stays.
/// Ask anyOvertaken() first: who names what is dear to find out.
void leaveOvertaken(json::Value& value, const json::Value& trie, const json::Value& before,
                    const Claim& claim, const Claim& claimBefore, std::string_view name = {});

/// Whether anything in `value` that leaveOvertaken() looks at differs from `before`.
bool anyOvertaken(const json::Value& value, const json::Value& trie, const json::Value& before);

/// Puts into `value` the units that `full` has and `taken`, its copy after takeUnits, has not.
void putUnits(json::Value& value, const json::Value& trie, const json::Value& full, const json::Value* taken,
              json::Allocator& allocator, std::string_view name = {});

/// Whether each unit of `trie` is in `value`, whatever it holds there.
bool hasUnits(const json::Value& value, const json::Value& trie, std::string_view name = {});

/// Whether `digest`, a unit's text in a trie, is that of `value`.
bool matches(std::string_view digest, const json::Value& value);

}  // namespace dynamo::defaults
