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
  bool always;  ///< an empty member is written as `whenEmpty`
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

/// The known members of `source` in the order of `members`. Empty members are left out unless `always` is
/// set. The result is empty if a member has the wrong type.
template <std::size_t N>
View knownMembers(View source, const Member (&members)[N], Allocator& allocator) {
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

bool equalIgnoringCase(std::string_view a, std::string_view b) {
  return k8s::lowerAscii(a) == k8s::lowerAscii(b);
}

/// A map of strings as Go's decoder reads it: null becomes the empty string.
View nullsAsEmptyText(View map, Allocator& allocator) {
  if (!map.isObject()) return map;
  Draft made = Draft::object(allocator, map.size());
  for (std::uint32_t i = 0; i < map.size(); ++i) {
    const NamedView member = map.member(i);
    made.add(member.name, member.view.isNull() ? keep(Value{""}, allocator) : member.view, allocator);
  }
  return made.view();
}

/// The object of an annotation as Go's decoder reads it: names are case-insensitive and null counts as
/// absent. Users can write the annotation.
template <std::size_t N>
View decodeObject(View source, const Member (&members)[N], Allocator& allocator) {
  if (!source.isObject()) return {};
  Draft object = Draft::object(allocator, N);
  for (std::uint32_t i = 0; i < source.size(); ++i) {
    const NamedView member = source.member(i);
    const auto known = std::find_if(std::begin(members), std::end(members), [&](const Member& each) {
      return equalIgnoringCase(each.name, member.name);
    });
    if (known == std::end(members) || member.view.isNull()) continue;
    object.set(known->name,
               known->kind == Kind::TextMap ? nullsAsEmptyText(member.view, allocator) : member.view,
               allocator);
  }
  return knownMembers(object.view(), members, allocator);
}

std::optional<std::string_view> nonEmpty(View object, std::string_view key) {
  const std::string_view text = object.findText(key);
  return text.empty() ? std::nullopt : std::optional{text};
}

/// The parsed annotation `key`; empty if it is absent, not JSON or not an object.
View parseAnnotation(const Value* annotations, std::string_view key, Allocator& allocator) {
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
  carried.configMapRef = knownMembers(profiling.find("configMapRef"), kConfigMapRefMembers, allocator);
  carried.outputPvc = nonEmpty(profiling, "outputPVC");
  carried.profilingConfig = profiling.findObject("config");
  carried.enableGpuDiscovery = spec.find("enableGpuDiscovery").boolean().value_or(false);
  const View overrides = knownMembers(spec.find("deploymentOverrides"), kOverridesMembers, allocator);
  if (overrides.size() != 0) carried.deploymentOverrides = overrides;
  carried.deploymentStatus = knownMembers(status.find("deployment"), kDeploymentMembers, allocator);
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
  carried.configMapRef = decodeObject(parseAnnotation(annotations, keys::kConfigMapRef, allocator),
                                      kConfigMapRefMembers, allocator);
  carried.deploymentOverrides = decodeObject(
      parseAnnotation(annotations, keys::kDeploymentOverrides, allocator), kOverridesMembers, allocator);
  carried.deploymentStatus = decodeObject(parseAnnotation(annotations, keys::kDeploymentStatus, allocator),
                                          kDeploymentMembers, allocator);
  carried.profilingConfig = parseAnnotation(annotations, keys::kProfilingConfig, allocator);
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
