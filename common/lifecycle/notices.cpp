#include "common/lifecycle/notices.h"

#include <algorithm>

#include "common/lifecycle/conditions.h"

namespace dynamo::lifecycle {
namespace {

using render::WriteNotice;

constexpr std::string_view kReplicas = "ReplicasOverridden";
constexpr std::string_view kContested = "FieldContested";
constexpr std::string_view kForeign = "ForeignObjectUsed";
// textOf() joins notes with it, and no name of a child or of a field manager has it.
constexpr std::string_view kNext = "; ";
// Ends the subject of a note about replicas.
constexpr std::string_view kDetail = ": ";

}  // namespace

std::vector<Note> notesOf(std::span<const WriteNotice> notices) {
  std::vector<Note> notes;
  for (const WriteNotice& notice : notices) {
    if (notice.kind == WriteNotice::Kind::Foreign) continue;
    const bool replicas = notice.kind == WriteNotice::Kind::Replicas;
    notes.push_back({std::string{replicas ? kReplicas : kContested}, notice.subject, notice.message()});
  }
  return notes;
}

std::vector<Note> notesIn(const json::Value* status) {
  const json::Value* overridden = findCondition(status, condition::kOverridden);
  std::vector<Note> notes;
  if (!isTrue(overridden)) return notes;
  std::string_view rest = json::findText(overridden, "message");
  while (!rest.empty()) {
    const std::string_view text = rest.substr(0, rest.find(kNext));
    rest.remove_prefix(std::min(text.size() + kNext.size(), rest.size()));
    const std::size_t detail = text.find(kDetail);
    const bool replicas = detail != std::string_view::npos;
    const std::string_view subject = replicas ? text.substr(0, detail + kDetail.size()) : text;
    notes.push_back(
        {std::string{replicas ? kReplicas : kContested}, std::string{subject}, std::string{text}});
  }
  return notes;
}

std::string textOf(std::span<const Note> notes) {
  std::string text;
  for (const Note& note : notes) text.append(text.empty() ? "" : kNext).append(note.text);
  return text;
}

void reportNew(std::span<const Note> notes, std::string_view stored, std::string_view message,
               Outcome& outcome) {
  const std::string_view kept = message.substr(0, kMaxConditionMessage);
  for (const Note& note : notes) {
    if (stored.find(note.subject) == std::string_view::npos &&
        kept.find(note.subject) != std::string_view::npos)
      outcome.events.push_back(warning(note.reason, note.text));
  }
}

void reportForeign(std::span<const WriteNotice> notices, Outcome& outcome) {
  for (const WriteNotice& notice : notices) {
    if (notice.kind == WriteNotice::Kind::Foreign)
      outcome.events.push_back(warning(kForeign, notice.message()));
  }
}

}  // namespace dynamo::lifecycle
