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

bool isTextMap(View view) {
  if (!view.isObject()) return false;
  for (std::uint32_t i = 0; i < view.size(); ++i) {
    if (!view.member(i).view.isString()) return false;
  }
  return true;
}

bool fits(View view, Kind kind) {
  return kind == Kind::Text   ? view.isString()
         : kind == Kind::Bool ? view.boolean().has_value()
                              : isTextMap(view);
}

bool isZero(View view) {
  return view.boolean() == false || view.isEmptyText() || (view.isObject() && view.size() == 0);
}

/// The known members of `source`, in their order. Empty ones are left out, except for what is always written.
/// Nothing when one has another type: then the whole counts as malformed.
template <std::size_t N>
View typed(View source, const Member (&members)[N], Allocator& allocator) {
  if (!source.isObject()) return {};
  Draft object = Draft::object(allocator, N);
  for (const Member& member : members) {
    const View given = source.find(member.name);
    if (given && !fits(given, member.kind)) return {};
    const bool empty = !given || isZero(given);
    if (empty && !member.always) continue;
    object.add(member.name, empty ? keep(Value{json::ref(member.whenEmpty)}, allocator) : given, allocator);
  }
  return object.view();
}

bool namesAlike(std::string_view a, std::string_view b) {
  return k8s::lowerAscii(a) == k8s::lowerAscii(b);
}

/// A map of texts as Go's decoder reads it: null is the empty text.
View filled(View map, Allocator& allocator) {
  if (!map.isObject()) return map;
  Draft made = Draft::object(allocator, map.size());
  for (std::uint32_t i = 0; i < map.size(); ++i) {
    const NamedView member = map.member(i);
    made.add(member.name, member.view.isNull() ? keep(Value{""}, allocator) : member.view, allocator);
  }
  return made.view();
}

/// The object of an annotation, which anyone may have written, as Go's decoder reads it: names match in upper
/// and lower case and become the members' own, and null counts as absent.
template <std::size_t N>
View decoded(View source, const Member (&members)[N], Allocator& allocator) {
  if (!source.isObject()) return {};
  Draft object = Draft::object(allocator, N);
  for (std::uint32_t i = 0; i < source.size(); ++i) {
    const NamedView member = source.member(i);
    const auto known = std::find_if(std::begin(members), std::end(members),
                                    [&](const Member& each) { return namesAlike(each.name, member.name); });
    if (known == std::end(members) || member.view.isNull()) continue;
    object.set(known->name, known->kind == Kind::TextMap ? filled(member.view, allocator) : member.view,
               allocator);
  }
  return typed(object.view(), members, allocator);
}

std::optional<std::string_view> nonEmpty(View object, std::string_view key) {
  const std::string_view text = object.findText(key);
  return text.empty() ? std::nullopt : std::optional{text};
}

/// The annotation `key` parsed; nothing when absent, not JSON or not an object.
View parsed(const Value* annotations, std::string_view key, Allocator& allocator) {
  const std::string_view text = json::findText(annotations, key);
  if (text.empty()) return {};
  json::Document document{&allocator};
  if (json::parse(text, document) || !document.IsObject()) return {};
  return keep(std::move(static_cast<Value&>(document)), allocator);
}

}  // namespace

Carried carriedOf(View alpha, Allocator& allocator) {
  const View spec = alpha.find("spec");
  const View status = alpha.find("status");
  const View profiling = spec.find("profilingConfig");
  Carried carried;
  carried.configMapRef = typed(profiling.find("configMapRef"), kConfigMapRefMembers, allocator);
  carried.outputPvc = nonEmpty(profiling, "outputPVC");
  carried.profilingConfig = profiling.findObject("config");
  carried.enableGpuDiscovery = spec.find("enableGpuDiscovery").boolean().value_or(false);
  const View overrides = typed(spec.find("deploymentOverrides"), kOverridesMembers, allocator);
  if (overrides.size() != 0) carried.deploymentOverrides = overrides;
  carried.deploymentStatus = typed(status.find("deployment"), kDeploymentMembers, allocator);
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
      decoded(parsed(annotations, keys::kConfigMapRef, allocator), kConfigMapRefMembers, allocator);
  carried.deploymentOverrides =
      decoded(parsed(annotations, keys::kDeploymentOverrides, allocator), kOverridesMembers, allocator);
  carried.deploymentStatus =
      decoded(parsed(annotations, keys::kDeploymentStatus, allocator), kDeploymentMembers, allocator);
  carried.profilingConfig = parsed(annotations, keys::kProfilingConfig, allocator);
  carried.outputPvc = text(keys::kOutputPvc);
  carried.statusBackend = text(keys::kStatusBackend);
  carried.profilingResults = text(keys::kProfilingResults);
  carried.enableGpuDiscovery = text(keys::kEnableGpuDiscovery) == "true";
  return carried;
}

std::vector<std::pair<std::string_view, std::string>> writeCarried(const Carried& carried) {
  std::vector<std::pair<std::string_view, std::string>> annotations;
  const auto object = [&](std::string_view key, View view) {
    if (view) annotations.emplace_back(key, dump(view));
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
