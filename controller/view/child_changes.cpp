#include "controller/view/child_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/field/check.h"
#include "common/field/show.h"
#include "common/json/build.h"
#include "common/k8s/drift.h"
#include "common/k8s/drift_sides.h"
#include "common/render/takeover.h"
#include "common/render/write_plan.h"
#include "common/text/yaml_writer.h"
#include "controller/view/line_diff.h"

namespace dynamo::view {
namespace {

using json::Value;

std::string yamlOf(const Value& object) {
  return foldStrings(text::toYaml(object));
}

k8s::DriftSides sidesOf(const Value& wanted, const Value& live, std::string_view manager,
                        json::Allocator& allocator) {
  return k8s::driftSides(wanted, live, k8s::ownedFields(live, manager), allocator);
}

/// The record of the rendered replicas only repeats them.
void removeRecord(Value& side) {
  Value* metadata = json::find(side, "metadata");
  Value* annotations = metadata == nullptr ? nullptr : json::find(*metadata, "annotations");
  if (annotations == nullptr) return;
  json::remove(*annotations, render::kRenderedReplicas);
  if (annotations->ObjectEmpty()) json::remove(*metadata, "annotations");
  if (metadata->ObjectEmpty()) json::remove(side, "metadata");
}

void setLines(ChildChange& change, k8s::DriftSides sides) {
  removeRecord(sides.live);
  removeRecord(sides.applied);
  change.before = yamlOf(sides.live);
  change.after = yamlOf(sides.applied);
}

/// The plan of a controller that has read everything and remembers nothing.
render::WritePlan planOf(const render::Child& child, const Value* live, std::string_view manager,
                         json::Allocator& allocator) {
  render::WriteMemory memory;
  memory.read = true;
  memory.ownerRead = true;
  const render::Clock::time_point now{};
  if (live == nullptr) return render::planWrite(child, nullptr, memory, now, allocator);
  const render::LiveChild seen{*live, manager, k8s::ownedFields(*live, manager),
                               k8s::replicasOwner(*live, manager)};
  memory.takenOver = render::needsTakeover(*live, seen.ownedFields != nullptr);
  return render::planWrite(child, &seen, memory, now, allocator);
}

/// Replaces `from` in all strings of `value`.
void replaceAll(Value& value, std::string_view from, std::string_view to, json::Allocator& allocator) {
  if (value.IsObject()) {
    for (auto& member : value.GetObject()) replaceAll(member.value, from, to, allocator);
  } else if (value.IsArray()) {
    for (Value& item : value.GetArray()) replaceAll(item, from, to, allocator);
  } else if (value.IsString() && json::text(value).find(from) != std::string_view::npos) {
    std::string text{json::text(value)};
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    value = json::string(text, allocator);
  }
}

struct Mark {
  ChangeKind kind;
  char mark;
  Color color;
  std::string_view count;  ///< the word in the summary
};
constexpr std::array<Mark, 6> kMarks = {{{ChangeKind::Created, '+', Color::Green, "created"},
                                         {ChangeKind::Changed, '~', Color::Yellow, "changed"},
                                         {ChangeKind::Replaced, '~', Color::Yellow, "replaced"},
                                         {ChangeKind::Deleted, '-', Color::Red, "deleted"},
                                         {ChangeKind::Refused, '!', Color::Red, "refused"},
                                         {ChangeKind::Unchanged, ' ', Color::Plain, "unchanged"}}};

std::string nameOf(const k8s::ObjectKey& key) {
  return key.namespaceName.empty() ? fmt::format("{} {}", key.kind, key.name)
                                   : fmt::format("{} {}/{}", key.kind, key.namespaceName, key.name);
}

}  // namespace

ChildChange changeOf(const render::Child& child, const Value* live, std::string_view manager) {
  ChildChange change;
  change.key = child.key;
  json::Document memory;
  const render::WritePlan plan = planOf(child, live, manager, memory.GetAllocator());
  switch (plan.action) {
    case render::WriteAction::Create:
      change.kind = ChangeKind::Created;
      return change;
    case render::WriteAction::Wait:
      change.kind = ChangeKind::Created;
      change.note = "the live object is being deleted";
      return change;
    case render::WriteAction::Refuse:
      change.kind = ChangeKind::Refused;
      change.note = plan.reason;
      return change;
    case render::WriteAction::Replace:
      change.kind = ChangeKind::Replaced;
      change.note = "deleted and created again";
      setLines(change, sidesOf(*plan.object, *live, manager, memory.GetAllocator()));
      return change;
    case render::WriteAction::Apply:
      break;
    case render::WriteAction::Leave:
    case render::WriteAction::Read:
    case render::WriteAction::ReadOwner:
    case render::WriteAction::TakeOver:
    case render::WriteAction::Conflict:
      return change;
  }
  if (live == nullptr) {
    change.kind = ChangeKind::Created;
    return change;
  }
  setLines(change, sidesOf(*plan.object, *live, manager, memory.GetAllocator()));
  // If the texts are equal, only the ownership changes, or what the reference operator has added to items of
  // lists.
  if (change.before != change.after) change.kind = ChangeKind::Changed;
  return change;
}

ChildChange successorOf(const render::Child& child, const Value& earlier, std::string_view earlierHash,
                        std::string_view hash, std::string_view manager) {
  ChildChange change;
  change.kind = ChangeKind::Created;
  change.key = child.key;
  change.note = fmt::format("in place of {}", json::findText(json::find(earlier, "metadata"), "name"));
  json::Document memory;
  auto& allocator = memory.GetAllocator();
  k8s::DriftSides sides = sidesOf(child.object, earlier, manager, allocator);
  for (Value* side : {&sides.live, &sides.applied}) {
    if (Value* metadata = json::find(*side, "metadata")) json::remove(*metadata, "ownerReferences");
  }
  if (!earlierHash.empty()) replaceAll(sides.live, earlierHash, hash, allocator);
  setLines(change, std::move(sides));
  return change;
}

ChildChange patchOf(const Value& live, const Value& patch) {
  ChildChange change = unchanged(live);
  change.kind = ChangeKind::Changed;
  json::Document memory;
  const json::Maker make{memory.GetAllocator()};
  Value before = make.object();
  const Value* spec = json::find(live, "spec");
  field::forEachMember(json::findObject(&patch, "spec"), [&](std::string_view name, const Value&) {
    if (const Value* given = json::find(spec, name)) make.set(before, name, *given);
  });
  change.before = yamlOf(make.object("spec", std::move(before)));
  change.after = yamlOf(patch);
  return change;
}

ChildChange unchanged(const Value& live) {
  ChildChange change;
  change.key = k8s::keyOf(live);
  return change;
}

ChildChange deletionOf(const Value& live, std::string note) {
  ChildChange change;
  change.kind = ChangeKind::Deleted;
  change.key = k8s::keyOf(live);
  change.note = std::move(note);
  return change;
}

bool differs(const std::vector<ChildChange>& changes) {
  return std::any_of(changes.begin(), changes.end(),
                     [](const ChildChange& change) { return change.kind != ChangeKind::Unchanged; });
}

std::string toText(const std::vector<ChildChange>& changes, const Style& style) {
  std::string out;
  for (const ChildChange& change : changes) {
    if (change.kind == ChangeKind::Unchanged) continue;
    const auto mark = std::find_if(kMarks.begin(), kMarks.end(),
                                   [&](const Mark& each) { return each.kind == change.kind; });
    std::string line = fmt::format("{} {}", mark->mark, nameOf(change.key));
    if (!change.note.empty()) line += fmt::format(" ({})", change.note);
    out += style.paint(mark->color, field::oneLine(line)) + '\n';
    out += unifiedDiff(change.before, change.after, style);
  }
  return out;
}

std::string summaryOf(const std::vector<ChildChange>& changes) {
  std::string out;
  for (const Mark& mark : kMarks) {
    const auto count = std::count_if(changes.begin(), changes.end(),
                                     [&](const ChildChange& change) { return change.kind == mark.kind; });
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, mark.count);
  }
  return out.empty() ? "no children" : out;
}

}  // namespace dynamo::view
