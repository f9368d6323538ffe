// The list of a pod's volumes.

#include <fmt/format.h>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

/// A volume has at most one source, including types that are unknown here. Without a source it becomes an
/// emptyDir.
void source(const Reports& report, const Value& volume, const At& at) {
  std::string_view first;
  for (const auto& member : volume.GetObject()) {
    const std::string_view type = json::text(member.name);
    if (type == "name" || !member.value.IsObject()) continue;
    const At place = at / type;
    if (!first.empty()) {
      report(id::kVolumeSource).forbidden(place, fmt::format("may not be set together with {}", first));
      continue;
    }
    first = type;
    volumeSource(report, type, member.value, place);
    if (type == "iscsi") iscsiNames(report, json::findText(&volume, "name"), member.value, at);
  }
}

}  // namespace

bool hasBackstep(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

std::string localPathProblem(std::string_view path) {
  if (path.starts_with('/')) return "must be a relative path";
  if (hasBackstep(path)) return "must not contain '..'";
  return path.starts_with("..") ? "must not start with '..'" : "";
}

void volumes(const Reports& report, const Value* list, const At& at) {
  Seen<> names;
  forEach(list, at, [&](const Value& volume, const At& place) {
    const std::string_view name = json::findText(&volume, "name");
    if (name.empty()) {
      report(id::kVolumeName).required(place / "name");
    } else {
      report(id::kVolumeName).check(place / "name", name, k8s::dns1123LabelProblem(name));
      if (!names.add(name)) report(id::kVolumeUnique).duplicate(place / "name", name);
    }
    source(report, volume, place);
  });
}

}  // namespace dynamo::rules::pod
