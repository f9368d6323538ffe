#pragma once
// How conditions and Events tell that somebody else changes the children of an object. Decisions ctl-Q45,
// ctl-Q67, ctl-Q68.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/render/write_plan.h"

namespace dynamo::lifecycle {

namespace condition {
/// Present only while a child differs from what was rendered because somebody else changes it. The message
/// names the child and the other writer.
inline constexpr std::string_view kOverridden = "Overridden";
}  // namespace condition

/// What somebody else does to a child.
struct Note {
  std::string reason;   ///< of its Event
  std::string subject;  ///< the beginning of `text` that stays while the same writer does the same
  std::string text;
};

/// The notes of the children of one object. An object of an administrator that is used is not one.
std::vector<Note> notesOf(std::span<const render::WriteNotice> notices);
/// The notes in the condition Overridden of a component; none if it has no such condition.
std::vector<Note> notesIn(const json::Value* status);

/// All notes in one line; empty: none.
std::string textOf(std::span<const Note> notes);

/// Adds an Event for each note that `stored`, the stored message of a condition, does not have yet. A note
/// that is cut off from `message`, the new one, is not told: the next reconcile would tell it again.
void reportNew(std::span<const Note> notes, std::string_view stored, std::string_view message,
               Outcome& outcome);
/// Adds an Event for each object of an administrator that is used.
void reportForeign(std::span<const render::WriteNotice> notices, Outcome& outcome);

}  // namespace dynamo::lifecycle
