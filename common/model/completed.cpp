// Adds the defaults of a completion to the pod spec and the container of the user.
#include <utility>

#include "common/json/build.h"
#include "common/model/completion.h"
#include "common/model/env.h"
#include "common/model/epp.h"

namespace dynamo::model {
namespace {

using json::Allocator;
using json::Value;

void setUnits(std::vector<Unit>& units, Value& object, Allocator& allocator) {
  for (Unit& unit : units) json::set(object, unit.name, std::move(unit.value), allocator);
}

void appendUnits(std::vector<Unit>& units, std::string_view name, Value& object, Allocator& allocator) {
  if (units.empty()) return;
  Value& list = json::ensureList(object, name, allocator);
  for (Unit& unit : units) list.PushBack(unit.value, allocator);
}

/// Records the origins of `units`, defaults of an object, and of `items`, defaults of its list `list`.
/// `given` is the user's object at `field` in the component. Call it before setUnits() and appendUnits(),
/// which move the values away.
void record(const std::vector<Unit>& units, const std::vector<Unit>& items, std::string_view list,
            const Value* given, const field::Path& field, const Recording& recording) {
  Origins& origins = *recording.origins;
  origins.user(recording.at, field);
  for (const Unit& unit : units) {
    const field::Path at = recording.at / unit.name;
    origins.byDefault(at, field / unit.name);
    const Value* part = unit.how == Unit::How::Completed ? json::findObject(given, unit.name) : nullptr;
    if (part == nullptr) continue;
    for (const auto& member : part->GetObject()) {
      const std::string_view name = json::text(member.name);
      if (!member.value.IsNull()) origins.user(at / name, field / unit.name / name);
    }
  }
  const Value* own = json::find(given, list);
  const std::size_t first = own != nullptr && own->IsArray() ? own->Size() : 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    origins.byDefault((recording.at / list)[first + i], (field / list)[first + i]);
  }
}

}  // namespace

Value completedPodSpec(const Value& spec, Completion& completion, Allocator& allocator,
                       const Recording& recording) {
  if (recording.origins != nullptr) {
    record(completion.podSpec, completion.volumes, "volumes", json::findObject(&spec, "extraPodSpec"),
           field::Path{"extraPodSpec"}, recording);
  }
  Value pod{rapidjson::kObjectType};
  if (const Value* user = json::findObject(&spec, "extraPodSpec")) {
    for (const auto& member : user->GetObject()) {
      const std::string_view name = json::text(member.name);
      if (name == "mainContainer" || name == "containers") continue;
      if (json::isEmpty(member.value) && !member.value.IsObject()) continue;
      json::set(pod, name, json::copy(member.value, allocator), allocator);
    }
  }
  setUnits(completion.podSpec, pod, allocator);
  appendUnits(completion.volumes, "volumes", pod, allocator);
  if (recording.origins != nullptr) {
    recordEppConfigVolume(spec, json::find(pod, "volumes"), recording.at / "volumes", *recording.origins);
  }
  return pod;
}

Value completedContainer(const Value& spec, const Value* envs, Completion& completion, Allocator& allocator,
                         const Recording& recording) {
  static const field::Path kMain{"extraPodSpec.mainContainer"};
  Value container{rapidjson::kObjectType};
  const Value* user = json::findObject(json::findObject(&spec, "extraPodSpec"), "mainContainer");
  if (recording.origins != nullptr) {
    record(completion.mainContainer, completion.volumeMounts, "volumeMounts", user, kMain, recording);
  }
  if (user != nullptr) {
    for (const auto& member : user->GetObject()) {
      const std::string_view name = json::text(member.name);
      if (name == "env" || (json::isEmpty(member.value) && !member.value.IsObject())) continue;
      json::set(container, name, json::copy(member.value, allocator), allocator);
    }
  }
  setUnits(completion.mainContainer, container, allocator);
  appendUnits(completion.volumeMounts, "volumeMounts", container, allocator);
  Value defaults{rapidjson::kArrayType};
  for (Unit& unit : completion.env) defaults.PushBack(unit.value, allocator);
  const Value* own = json::find(user, "env");
  const std::vector<const Value*> variables = mergedEnv({&defaults, own, envs});
  if (recording.origins != nullptr) {
    const rapidjson::SizeType behind = own != nullptr && own->IsArray() ? own->Size() : 0;
    using Source = Origin::Source;
    recordEnv(variables,
              {{&defaults, {Source::Default, kMain / "env"}, behind},
               {own, {Source::User, kMain / "env"}},
               {envs, {Source::User, field::Path{"envs"}}}},
              recording.at / "env", *recording.origins);
  }
  json::set(container, "env", copyEnv(variables, allocator), allocator);
  return container;
}

Value defaultContainer(const CompletionInput& input, Allocator& allocator) {
  const Value nothing{rapidjson::kObjectType};
  Completion completion = complete(nothing, input, allocator);
  return completedContainer(nothing, nullptr, completion, allocator);
}

}  // namespace dynamo::model
