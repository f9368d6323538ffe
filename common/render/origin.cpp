#include "common/render/origin.h"

#include <optional>

#include "common/api/dynamo.h"
#include "common/defaults/record.h"
#include "common/defaults/units.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using field::Path;
using json::Value;

/// The index of the item of `list` whose member `key` is `name`.
std::optional<rapidjson::SizeType> indexOf(const Value& list, std::string_view key, std::string_view name) {
  for (rapidjson::SizeType i = 0; i < list.Size(); ++i) {
    if (json::findText(&list[i], key) == name) return i;
  }
  return std::nullopt;
}

/// Records the units in `value` (defaults/units.h) as defaults. `trie` has their names. `value` is the member
/// `name` at the path `at` of the component, and `base` is the path of the component in the object.
void recordUnits(const Value& value, const Value& trie, std::string_view name, const Path& at,
                 const Path& base, Origins& origins) {
  if (trie.IsString()) return origins.byDefault(at, base / at);
  if (!trie.IsObject()) return;
  for (const auto& member : trie.GetObject()) {
    const std::string_view unit = json::text(member.name);
    if (unit == defaults::kKeptParent || unit == defaults::kDerivedFrom) continue;
    if (value.IsArray()) {
      const auto index = indexOf(value, defaults::itemKey(name), unit);
      if (index) recordUnits(value[*index], member.value, {}, at[*index], base, origins);
    } else if (const Value* child = json::find(value, unit)) {
      recordUnits(*child, member.value, unit, at / unit, base, origins);
    }
  }
}

Value* memberOf(Value* object, std::string_view name) {
  return object == nullptr ? nullptr : json::find(*object, name);
}

/// Moves the labels, annotations and pod spec of a clique into a pod template.
Value takeTemplate(Value& clique, const json::Maker& make) {
  Value metadata = make.object();
  for (const std::string_view field : {"labels", "annotations"}) {
    if (Value* given = memberOf(&clique, field)) make.set(metadata, field, std::move(*given));
  }
  Value made = make.object("metadata", std::move(metadata));
  Value* podSpec = memberOf(memberOf(&clique, "spec"), "podSpec");
  if (podSpec != nullptr) make.set(made, "spec", std::move(*podSpec));
  return made;
}

/// The origins of the component `spec` at `path`. `trie` is its part of the record; nullptr: none.
Origins writtenOrigins(const Value& spec, const Path& path, const Value* trie) {
  Origins origins;
  origins.user({}, path);
  if (trie != nullptr) recordUnits(spec, *trie, {}, {}, path, origins);
  return origins;
}

}  // namespace

Origins componentOrigins(const model::Component& component, const Value& object) {
  const defaults::Record record{&object};
  const auto service = model::serviceIn(component.path);
  return writtenOrigins(component.spec, component.path,
                        service ? record.service(*service) : record.component());
}

Origin originOf(const Value& object, field::PathView field) {
  const auto service = model::serviceIn(field);
  const Path path = service ? Path{"spec.services"}.key(*service) : Path{"spec"};
  const Value* spec = field::valueAt(object, path);
  if (spec == nullptr || !field.isWithin(path)) return {Origin::Source::User, Path{field}};
  const defaults::Record record{&object};
  return writtenOrigins(*spec, path, service ? record.service(*service) : record.component())
      .of(field.below(path));
}

std::vector<const Value*> podTemplates(Value& child, Value& made, json::Allocator& allocator) {
  std::vector<const Value*> found;
  const auto add = [&](const Value* holder, std::string_view name) {
    if (const Value* podTemplate = json::findObject(holder, name)) found.push_back(podTemplate);
  };
  const std::string_view kind = json::findText(&child, "kind");
  const Value* spec = specOf(child);
  if (kind == "Deployment" || kind == "Job") add(spec, "template");
  if (kind == "LeaderWorkerSet") {
    const Value* body = json::findObject(spec, "leaderWorkerTemplate");
    add(body, "leaderTemplate");
    add(body, "workerTemplate");
  }
  if (kind != "PodCliqueSet") return found;
  const json::Maker make{allocator};
  made = make.list();
  Value* cliques = memberOf(memberOf(memberOf(&child, "spec"), "template"), "cliques");
  if (cliques == nullptr || !cliques->IsArray()) return found;
  for (Value& clique : cliques->GetArray()) make.push(made, takeTemplate(clique, make));
  for (const Value& podTemplate : made.GetArray()) found.push_back(&podTemplate);
  return found;
}

}  // namespace dynamo::render
