#pragma once
// Volume mounts of pods.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "common/json/build.h"
#include "common/json/value.h"

namespace dynamo::k8s {

/// `path` in the form that the kubelet uses: "/dev/shm" for "/dev/shm/" and "/dev//shm". Keeps "..".
inline std::string cleanMountPath(std::string_view path) {
  std::string clean;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") clean.append("/").append(part);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return clean;
}

/// Whether one of `mounts` has the clean path `path` in its member `field`.
inline bool mountsAt(const json::Value* mounts, std::string_view field, std::string_view path) {
  if (mounts == nullptr || !mounts->IsArray()) return false;
  return std::any_of(mounts->Begin(), mounts->End(), [&](const json::Value& mount) {
    return cleanMountPath(json::findText(&mount, field)) == path;
  });
}

inline bool mountsVolume(const json::Value* container, std::string_view volume) {
  return json::findNamed(json::find(container, "volumeMounts"), volume) != nullptr;
}

/// Whether a container of `podSpec` mounts `volume`, including the mainContainer of an extraPodSpec.
inline bool podMountsVolume(const json::Value* podSpec, std::string_view volume) {
  if (mountsVolume(json::find(podSpec, "mainContainer"), volume)) return true;
  constexpr std::array<std::string_view, 2> kLists = {"containers", "initContainers"};
  return std::any_of(kLists.begin(), kLists.end(), [&](std::string_view name) {
    const json::Value* list = json::find(podSpec, name);
    if (list == nullptr || !list->IsArray()) return false;
    return std::any_of(list->Begin(), list->End(),
                       [&](const json::Value& container) { return mountsVolume(&container, volume); });
  });
}

}  // namespace dynamo::k8s
