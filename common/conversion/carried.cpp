#include "common/conversion/carried.h"

#include <algorithm>

#include "common/api/dgdr.h"
#include "common/json/parse.h"
#include "common/k8s/names.h"

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

namespace keys = api::dgdr;

enum class Kind { Text, Bool, TextMap };
struct Member {
  std::string_view name;
  Kind kind;
  bool always;  ///< written even when empty: as `whenEmpty`
  std::string_view whenEmpty = "";
};

constexpr Member kConfigMapRefMembers[] = {{"name", Kind::Text, true}, {"key", Kind::Text, false}};
constexpr Member kOverridesMembers[] = {{"name", Kind::Text, false},
                                        {"namespace", Kind::Text, false},
                                        {"labels", Kind::TextMap, false},
                                        {"annotations", Kind::TextMap, false}};
constexpr Member kDeploymentMembers[] = {{"name", Kind::Text, false},
                                         {"namespace", Kind::Text, false},
                                         {"state", Kind::Text, true, keys::kInitializing},
                                         {"created", Kind::Bool, false}};

bool isTextMap(const Value& value) {
  return value.IsObject() && std::all_of(value.MemberBegin(), value.MemberEnd(),
                                         [](const auto& member) { return member.value.IsString(); });
}

bool fits(const Value& value, Kind kind) {
  return kind == Kind::Text ? value.IsString() : kind == Kind::Bool ? value.IsBool() : isTextMap(value);
}

bool isZero(const Value& value) {
  return value.IsFalse() || (value.IsString() && value.GetStringLength() == 0) ||
         (value.IsObject() && value.ObjectEmpty());
}

/// The known members of `source`, in their order, empty ones left out but for what is always written; nullopt
/// when one has another type: then the whole counts as malformed.
template <std::size_t N>
std::optional<Value> typed(const Value* source, const Member (&members)[N], Allocator& allocator) {
  if (source == nullptr || !source->IsObject()) return std::nullopt;
  Value object{rapidjson::kObjectType};
  for (const Member& member : members) {
    const Value* value = json::find(*source, member.name);
    if (value != nullptr && !fits(*value, member.kind)) return std::nullopt;
    const bool empty = value == nullptr || isZero(*value);
    if (empty && !member.always) continue;
    object.AddMember(Value{json::ref(member.name)},
                     empty ? Value{json::ref(member.whenEmpty)} : json::alias(*value), allocator);
  }
  return object;
}

bool namesAlike(std::string_view a, std::string_view b) {
  return k8s::lowerAscii(a) == k8s::lowerAscii(b);
}

/// A map of texts as Go's decoder reads it: null is the empty text.
Value filled(const Value& map, Allocator& allocator) {
  Value made = json::alias(map);
  if (!map.IsObject()) return made;
  json::own(made, allocator);
  for (auto& member : made.GetObject()) {
    if (member.value.IsNull()) member.value = Value{""};
  }
  return made;
}

/// The object of an annotation with the members' own names, as Go's decoder reads it: in any case, null as
/// absent. Anyone may have written it.
template <std::size_t N>
std::optional<Value> decoded(const Value* source, const Member (&members)[N], Allocator& allocator) {
  if (source == nullptr || !source->IsObject()) return std::nullopt;
  Value object{rapidjson::kObjectType};
  for (const auto& member : source->GetObject()) {
    const auto known = std::find_if(std::begin(members), std::end(members), [&](const Member& each) {
      return namesAlike(each.name, json::text(member.name));
    });
    if (known == std::end(members) || member.value.IsNull()) continue;
    json::set(object, known->name,
              known->kind == Kind::TextMap ? filled(member.value, allocator) : json::alias(member.value),
              allocator);
  }
  return typed(&object, members, allocator);
}

const Value* keep(std::optional<Value> value, Allocator& allocator) {
  if (!value) return nullptr;
  auto* place = static_cast<Value*>(allocator.Malloc(sizeof(Value)));
  return new (place) Value{std::move(*value)};
}

std::optional<std::string_view> nonEmpty(const Value* object, std::string_view key) {
  const std::string_view text = json::findText(object, key);
  return text.empty() ? std::nullopt : std::optional{text};
}

/// The annotation `key` parsed; nullptr when absent, not JSON or not an object.
const Value* parsed(const Value* annotations, std::string_view key, Allocator& allocator) {
  const std::string_view text = json::findText(annotations, key);
  if (text.empty()) return nullptr;
  json::Document document{&allocator};
  if (json::parse(text, document) || !document.IsObject()) return nullptr;
  Value value;
  value.Swap(document);
  return keep(std::move(value), allocator);
}

}  // namespace

Carried carriedOf(const Value& alpha, Allocator& allocator) {
  const Value* spec = json::find(alpha, "spec");
  const Value* status = json::find(alpha, "status");
  const Value* profiling = json::find(spec, "profilingConfig");
  Carried carried;
  carried.configMapRef =
      keep(typed(json::find(profiling, "configMapRef"), kConfigMapRefMembers, allocator), allocator);
  carried.outputPvc = nonEmpty(profiling, "outputPVC");
  carried.profilingConfig = json::findObject(profiling, "config");
  carried.enableGpuDiscovery = json::findBool(spec, "enableGpuDiscovery").value_or(false);
  auto overrides = typed(json::find(spec, "deploymentOverrides"), kOverridesMembers, allocator);
  if (overrides && !overrides->ObjectEmpty()) {
    carried.deploymentOverrides = keep(std::move(overrides), allocator);
  }
  carried.deploymentStatus =
      keep(typed(json::find(status, "deployment"), kDeploymentMembers, allocator), allocator);
  carried.statusBackend = nonEmpty(status, "backend");
  carried.profilingResults = nonEmpty(status, "profilingResults");
  return carried;
}

Carried readCarried(const Value* annotations, Allocator& allocator) {
  const auto text = [&](std::string_view key) {
    const Value* value = json::find(annotations, key);
    return value == nullptr ? std::nullopt : std::optional{json::text(*value)};
  };
  Carried carried;
  carried.configMapRef =
      keep(decoded(parsed(annotations, keys::kConfigMapRef, allocator), kConfigMapRefMembers, allocator),
           allocator);
  carried.deploymentOverrides =
      keep(decoded(parsed(annotations, keys::kDeploymentOverrides, allocator), kOverridesMembers, allocator),
           allocator);
  carried.deploymentStatus =
      keep(decoded(parsed(annotations, keys::kDeploymentStatus, allocator), kDeploymentMembers, allocator),
           allocator);
  carried.profilingConfig = parsed(annotations, keys::kProfilingConfig, allocator);
  carried.outputPvc = text(keys::kOutputPvc);
  carried.statusBackend = text(keys::kStatusBackend);
  carried.profilingResults = text(keys::kProfilingResults);
  carried.enableGpuDiscovery = text(keys::kEnableGpuDiscovery) == "true";
  return carried;
}

std::vector<std::pair<std::string_view, std::string>> writeCarried(const Carried& carried) {
  std::vector<std::pair<std::string_view, std::string>> annotations;
  const auto object = [&](std::string_view key, const Value* value) {
    if (value != nullptr) annotations.emplace_back(key, json::dump(*value));
  };
  const auto text = [&](std::string_view key, std::optional<std::string_view> value) {
    if (value && !value->empty()) annotations.emplace_back(key, std::string{*value});
  };
  object(keys::kConfigMapRef, carried.configMapRef);
  text(keys::kOutputPvc, carried.outputPvc);
  if (carried.enableGpuDiscovery) annotations.emplace_back(keys::kEnableGpuDiscovery, "true");
  object(keys::kDeploymentOverrides, carried.deploymentOverrides);
  object(keys::kProfilingConfig, carried.profilingConfig);
  text(keys::kStatusBackend, carried.statusBackend);
  text(keys::kProfilingResults, carried.profilingResults);
  object(keys::kDeploymentStatus, carried.deploymentStatus);
  return annotations;
}

}  // namespace dynamo::conversion
