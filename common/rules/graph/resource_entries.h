#pragma once
// The quantities in the `resources` block of a service.

#include <array>
#include <string_view>

#include "common/render/resources.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {

inline constexpr std::array<std::string_view, 2> kResourceKinds = {"requests", "limits"};

inline const json::Value* itemOf(const Service& service, std::string_view kind) {
  return json::findObject(json::findObject(&service.spec, "resources"), kind);
}

/// "spec.services[a].resources.limits.gpu"
inline Path itemPath(const Service& service, std::string_view kind, Members field) {
  return service.path / "resources" / kind / field;
}

/// "spec.services[a].resources.limits.custom[nvidia.com/gpu]"
inline Path customPath(const Service& service, std::string_view kind, std::string_view resource) {
  return itemPath(service, kind, "custom").key(resource);
}

/// One quantity of the block, with its place and the resource of the container that it sets.
struct ResourceEntry {
  const Service& service;
  std::string_view kind;
  std::string_view member;  ///< empty for an entry of `custom`
  std::string_view resource;
  std::string_view text;

  bool isGpu() const { return member == "gpu"; }
  Path path() const {
    return member.empty() ? customPath(service, kind, resource) : itemPath(service, kind, member);
  }
};

inline std::string_view gpuType(const Service& service) {
  return render::gpuResource(json::findObject(&service.spec, "resources"));
}

/// Calls `each` for every entry that becomes part of the container. It skips empty texts, except in `custom`,
/// where they are errors, and a GPU request next to a GPU limit.
template <typename Each>
void forEachEntry(const Service& service, std::string_view kind, Each each) {
  const json::Value* item = itemOf(service, kind);
  const json::Value* limits = itemOf(service, "limits");
  for (const std::string_view field : {"cpu", "memory", "gpu"}) {
    const std::string_view text = json::findText(item, field);
    const bool gpu = field == "gpu";
    const bool shadowed = gpu && kind == "requests" && !json::findText(limits, "gpu").empty();
    if (text.empty() || shadowed) continue;
    each(ResourceEntry{service, kind, field, gpu ? gpuType(service) : field, text});
  }
  forEachMember(json::findObject(item, "custom"), [&](std::string_view name, const json::Value& value) {
    if (value.IsString()) each(ResourceEntry{service, kind, {}, name, json::text(value)});
  });
}

template <typename Each>
void forEachEntry(const Service& service, Each each) {
  for (const std::string_view kind : kResourceKinds) forEachEntry(service, kind, each);
}

// Warnings about probable mistakes (doubtful_resources.cpp)
void gpuRequest(const Service& service, const Report& report);
void unlikelyAmounts(const Service& service, const Report& report);
void unlikelyGpus(const Service& service, const Report& report);
void emptyAmounts(const Service& service, const Report& report);

}  // namespace dynamo::rules
