// Volume mounts and block devices of containers.

#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

void subPath(const Report& report, const Value& mount, std::string_view field, const At& at) {
  const std::string_view path = json::findText(&mount, field);
  if (path.empty()) return;
  if (path.starts_with('/')) report.invalid(at, path, "must be a relative path", id::kMountSubPath);
  if (hasBackstep(path)) report.invalid(at, path, "must not contain '..'", id::kMountSubPath);
}

void mountPath(const Report& report, const Value& mount, const At& at, Seen<>& paths) {
  const std::string_view path = json::findText(&mount, "mountPath");
  if (path.empty()) return report.required(at, id::kMountPath);
  if (!paths.add(path)) report.invalid(at, path, "must be unique", id::kMountPath);
  if (path.find(':') != std::string_view::npos) {
    report.warn(at, "holds ':', which container runtimes refuse", id::kMountPathDoubtful);
  } else if (!path.starts_with('/')) {
    report.warn(at, "is a relative path: it starts at the container's root", id::kMountPathDoubtful);
  }
}

void volumeOf(const Report& report, const Value& mount, const At& at, const PodFacts& facts) {
  const std::string_view name = json::findText(&mount, "name");
  if (name.empty()) return report.required(at, id::kMountVolume);
  if (facts.volume(name) != nullptr) return;
  report.notFound(at, name, "the pod has no volume of this name", id::kMountVolume);
}

bool isPrivileged(const Value& container) {
  return json::findBool(json::findObject(&container, "securityContext"), "privileged").value_or(false);
}

void propagation(const Report& report, const Value& mount, const At& at, const Value& container) {
  const std::string_view mode = json::findText(&mount, "mountPropagation");
  report.oneOfGiven(at, json::find(mount, "mountPropagation"), {"Bidirectional", "HostToContainer", "None"},
                    id::kEnum);
  if (mode == "Bidirectional" && !isPrivileged(container)) {
    report.forbidden(at, "Bidirectional is for privileged containers only", id::kMountPropagation);
  }
}

void recursiveReadOnly(const Report& report, const Value& mount, const At& at) {
  const Value* given = json::find(mount, "recursiveReadOnly");
  if (given == nullptr) return;
  const std::string_view mode = json::text(*given);
  if (mode != "Disabled") report.needsVersion(at, "1.31");
  report.oneOfGiven(at, given, {"Disabled", "Enabled", "IfPossible"}, id::kEnum);
  if (mode != "Enabled" && mode != "IfPossible") return;
  if (json::findBool(&mount, "readOnly") != true) {
    report.forbidden(at, "may only be set when readOnly is true", id::kRecursiveReadOnly);
  }
  const Value* propagation = json::find(mount, "mountPropagation");
  if (propagation != nullptr && json::text(*propagation) != "None") {
    report.forbidden(at, "may only be set when mountPropagation is None", id::kRecursiveReadOnly);
  }
}

void devicePath(const Report& report, const Value& device, const At& at, Seen<>& paths) {
  const std::string_view path = json::findText(&device, "devicePath");
  if (path.empty()) return report.required(at, id::kMountPath);
  if (hasBackstep(path)) report.invalid(at, path, "must not contain '..'", id::kMountPath);
  if (!paths.add(path)) report.invalid(at, path, "must be unique", id::kMountPath);
}

/// Block devices share names and paths with mounts.
void devices(const Report& report, const Value& container, const At& at, const PodFacts& facts, Seen<>& names,
             Seen<>& paths) {
  const Value* list = json::find(container, "volumeDevices");
  if (list != nullptr && list->IsArray() && !list->Empty() && !facts.hostUsers) {
    report.forbidden(at, "may not be set when hostUsers is false", id::kHostUsers);
  }
  forEach(list, at, [&](const Value& device, const At& place) {
    const std::string_view name = json::findText(&device, "name");
    volumeOf(report, device, place / "name", facts);
    if (!name.empty() && !names.add(name)) {
      report.invalid(place / "name", name, "must not be mounted twice", id::kMountVolume);
    }
    devicePath(report, device, place / "devicePath", paths);
    const Value* volume = facts.volume(name);
    if (volume == nullptr || json::find(*volume, "persistentVolumeClaim") != nullptr ||
        json::find(*volume, "ephemeral") != nullptr) {
      return;
    }
    report.invalid(place / "name", name, "must be a volume of type persistentVolumeClaim or ephemeral",
                   id::kMountVolume);
  });
}

}  // namespace

void mounts(const Report& report, const Value& container, const At& at, const PodFacts& facts) {
  Seen<> names;
  Seen<> paths;
  const At mountsAt = at / "volumeMounts";
  forEach(json::find(container, "volumeMounts"), mountsAt, [&](const Value& mount, const At& place) {
    volumeOf(report, mount, place / "name", facts);
    names.add(json::findText(&mount, "name"));
    mountPath(report, mount, place / "mountPath", paths);
    subPath(report, mount, "subPath", place / "subPath");
    subPath(report, mount, "subPathExpr", place / "subPathExpr");
    if (!json::findText(&mount, "subPath").empty() && !json::findText(&mount, "subPathExpr").empty()) {
      report.forbidden(place / "subPathExpr", "may not be given together with subPath", id::kMountSubPath);
    }
    propagation(report, mount, place / "mountPropagation", container);
    recursiveReadOnly(report, mount, place / "recursiveReadOnly");
  });
  devices(report, container, at / "volumeDevices", facts, names, paths);
}

}  // namespace dynamo::rules::pod
