// Volume mounts and block devices of containers.

#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

void subPath(const Reports& report, const Value& mount, std::string_view field, const At& at) {
  const std::string_view path = json::findText(&mount, field);
  if (path.empty()) return;
  if (path.starts_with('/')) report(id::kMountSubPath).invalid(at, path, "must be a relative path");
  if (hasBackstep(path)) report(id::kMountSubPath).invalid(at, path, "must not contain '..'");
}

void mountPath(const Reports& report, const Value& mount, const At& at, Seen<>& paths) {
  const std::string_view path = json::findText(&mount, "mountPath");
  if (path.empty()) return report(id::kMountPath).required(at);
  if (!paths.add(path)) report(id::kMountPath).invalid(at, path, "must be unique");
  if (path.find(':') != std::string_view::npos) {
    report(id::kMountPathDoubtful).warn(at, "contains ':', which container runtimes refuse");
  } else if (!path.starts_with('/')) {
    report(id::kMountPathDoubtful).warn(at, "is a relative path and starts at the container's root");
  }
}

void checkVolume(const Reports& report, const Value& mount, const At& at, const PodFacts& facts) {
  const std::string_view name = json::findText(&mount, "name");
  if (name.empty()) return report(id::kMountVolume).required(at);
  if (facts.volume(name) != nullptr) return;
  report(id::kMountVolume).notFound(at, name, "the pod has no volume of this name");
}

bool isPrivileged(const Value& container) {
  return json::findBool(json::findObject(&container, "securityContext"), "privileged").value_or(false);
}

void propagation(const Reports& report, const Value& mount, const At& at, const Value& container) {
  const std::string_view mode = json::findText(&mount, "mountPropagation");
  oneOfGiven(report(id::kEnum), at, json::find(mount, "mountPropagation"),
             {"Bidirectional", "HostToContainer", "None"});
  if (mode == "Bidirectional" && !isPrivileged(container)) {
    report(id::kMountPropagation)
        .forbidden(at, "Bidirectional mount propagation is available only to privileged containers");
  }
}

void recursiveReadOnly(const Reports& report, const Value& mount, const At& at) {
  const Value* given = json::find(mount, "recursiveReadOnly");
  if (given == nullptr) return;
  const std::string_view mode = json::text(*given);
  if (mode != "Disabled") needsVersion(report, at, "1.31");
  oneOfGiven(report(id::kEnum), at, given, {"Disabled", "Enabled", "IfPossible"});
  if (mode != "Enabled" && mode != "IfPossible") return;
  if (json::findBool(&mount, "readOnly") != true) {
    report(id::kRecursiveReadOnly).forbidden(at, "may only be set when readOnly is true");
  }
  const Value* propagation = json::find(mount, "mountPropagation");
  if (propagation != nullptr && json::text(*propagation) != "None") {
    report(id::kRecursiveReadOnly).forbidden(at, "may only be set when mountPropagation is None");
  }
}

void devicePath(const Reports& report, const Value& device, const At& at, Seen<>& paths) {
  const std::string_view path = json::findText(&device, "devicePath");
  if (path.empty()) return report(id::kMountPath).required(at);
  if (hasBackstep(path)) report(id::kMountPath).invalid(at, path, "must not contain '..'");
  if (!paths.add(path)) report(id::kMountPath).invalid(at, path, "must be unique");
}

/// Block devices may not have the names and paths of mounts.
void devices(const Reports& report, const Value& container, const At& at, const PodFacts& facts,
             Seen<>& names, Seen<>& paths) {
  const Value* list = json::find(container, "volumeDevices");
  if (list != nullptr && list->IsArray() && !list->Empty() && !facts.hostUsers) {
    report(id::kHostUsers).forbidden(at, "may not be set when hostUsers is false");
  }
  forEach(list, at, [&](const Value& device, const At& place) {
    const std::string_view name = json::findText(&device, "name");
    checkVolume(report, device, place / "name", facts);
    if (!name.empty() && !names.add(name)) {
      report(id::kMountVolume).invalid(place / "name", name, "must not be mounted twice");
    }
    devicePath(report, device, place / "devicePath", paths);
    const Value* volume = facts.volume(name);
    if (volume == nullptr || json::find(*volume, "persistentVolumeClaim") != nullptr ||
        json::find(*volume, "ephemeral") != nullptr) {
      return;
    }
    report(id::kMountVolume)
        .invalid(place / "name", name, "must be a volume of type persistentVolumeClaim or ephemeral");
  });
}

}  // namespace

void mounts(const Reports& report, const Value& container, const At& at, const PodFacts& facts) {
  Seen<> names;
  Seen<> paths;
  const At mountsAt = at / "volumeMounts";
  forEach(json::find(container, "volumeMounts"), mountsAt, [&](const Value& mount, const At& place) {
    checkVolume(report, mount, place / "name", facts);
    names.add(json::findText(&mount, "name"));
    mountPath(report, mount, place / "mountPath", paths);
    subPath(report, mount, "subPath", place / "subPath");
    subPath(report, mount, "subPathExpr", place / "subPathExpr");
    if (!json::findText(&mount, "subPath").empty() && !json::findText(&mount, "subPathExpr").empty()) {
      report(id::kMountSubPath).forbidden(place / "subPathExpr", "may not be set together with subPath");
    }
    propagation(report, mount, place / "mountPropagation", container);
    recursiveReadOnly(report, mount, place / "recursiveReadOnly");
  });
  devices(report, container, at / "volumeDevices", facts, names, paths);
}

}  // namespace dynamo::rules::pod
