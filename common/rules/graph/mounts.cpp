// volumeMounts of services (quirks dec-1, pod-Q11a, pod-Q11b, adm-Q11).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/k8s/names.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

/// Volumes that the operator adds under some conditions unless a volume of the same name exists.
constexpr std::array kReserved = {api::kSharedMemory, api::kCheckpointVolume, api::kPodInfoVolume,
                                  api::kEppConfigVolume};

constexpr Members kMainMounts = "extraPodSpec.mainContainer.volumeMounts";

struct Mount {
  const At& place;  ///< "spec.services[a].volumeMounts[0]"
  std::string_view name;
  std::string_view point;  ///< as written
  bool cache = false;

  At at(Members members) const { return place / members; }
};

template <typename Each>
void forEachMount(const Service& service, Each each) {
  const At mounts = service.at("volumeMounts");
  forEachObject(service.member("volumeMounts"), [&](const Value& value, std::size_t i) {
    const At place = mounts[i];
    each(Mount{place, json::findText(&value, "name"), json::findText(&value, "mountPoint"),
               json::findBool(&value, "useAsCompilationCache").value_or(false)});
  });
}

std::set<std::string_view> namesIn(const Value* list) {
  std::set<std::string_view> names;
  forEachObject(list, [&](const Value& item, std::size_t) { names.insert(json::findText(&item, "name")); });
  return names;
}

/// The path at which the claim is mounted; empty when there is none.
std::string_view effectiveMountPath(const Service& service, const Mount& mount) {
  const bool hasDefault = mount.cache && service.framework.name == model::kVllm;
  return mount.point.empty() && hasDefault ? api::kVllmCachePath : mount.point;
}

void names(const Service& service, const Report& report) {
  forEachMount(service, [&](const Mount& mount) {
    if (mount.name.empty()) return report.required(mount.at("name"), "must name a claim");
    if (const std::string problem = k8s::dns1123LabelProblem(mount.name); !problem.empty()) {
      report.invalid(mount.at("name"), mount.name, fmt::format("is also the name of a volume: {}", problem));
    }
  });
}

/// A claim that is made outside the graph need not be listed. Only the cluster knows whether it exists.
void claimsListed(const Service& service, const Report& report) {
  if (!service.graph.isGraph) return;
  std::vector<std::string_view> listed;
  forEachObject(json::find(service.graph.spec, "pvcs"), [&](const Value& claim, std::size_t) {
    const std::string_view name = json::findText(&claim, "name");
    if (!name.empty()) listed.push_back(name);
  });
  const std::set<std::string_view> known{listed.begin(), listed.end()};
  const std::set<std::string_view> volumes = namesIn(json::find(service.podSpec(), "volumes"));
  Suggestions didYouMean{listed};
  forEachMount(service, [&](const Mount& mount) {
    // Rule service.mount-volume reports such a volume.
    if (mount.name.empty() || known.contains(mount.name) || volumes.contains(mount.name)) return;
    report.warn(mount.at("name"), fmt::format("spec.pvcs has no such claim{}: no pod starts before it exists",
                                              didYouMean(mount.name)));
  });
}

/// A claim would get the name of a volume that the pod has already.
void podVolumesMountedAsClaims(const Service& service, const Report& report) {
  if (!service.graph.isGraph) return;
  const std::set<std::string_view> listed = namesIn(json::find(service.graph.spec, "pvcs"));
  const std::set<std::string_view> volumes = namesIn(json::find(service.podSpec(), "volumes"));
  forEachMount(service, [&](const Mount& mount) {
    if (mount.name.empty() || listed.contains(mount.name) || !volumes.contains(mount.name)) return;
    report.notFound(mount.at("name"), mount.name,
                    "no such claim in spec.pvcs; volumes of extraPodSpec are mounted in "
                    "extraPodSpec.mainContainer.volumeMounts");
  });
}

void mountPathRequired(const Service& service, const Report& report) {
  forEachMount(service, [&](const Mount& mount) {
    // Rendering reports a compilation cache without a path, because it matters only when there are pods.
    if (mount.cache || !effectiveMountPath(service, mount).empty()) return;
    report.required(mount.at("mountPoint"), "must be set unless useAsCompilationCache is true");
  });
}

void mountPathsDistinct(const Service& service, const Report& report) {
  std::set<std::string_view> taken;
  forEachObject(json::find(service.mainContainer(), "volumeMounts"),
                [&](const Value& mount, std::size_t) { taken.insert(json::findText(&mount, "mountPath")); });
  forEachMount(service, [&](const Mount& mount) {
    const std::string_view point = effectiveMountPath(service, mount);
    if (point.empty() || taken.insert(point).second) return;
    report.duplicate(mount.at("mountPoint"), point, "another volume is mounted at this path");
  });
}

void volumeNamesFree(const Service& service, const Report& report) {
  std::set<std::string_view> mounted;
  const std::set<std::string_view> claims = namesIn(json::find(service.graph.spec, "pvcs"));
  forEachMount(service, [&](const Mount& mount) {
    // Rule service.mount-volume reports other names.
    if (!service.graph.isGraph || claims.contains(mount.name)) mounted.insert(mount.name);
  });
  mounted.erase("");
  const At volumes = service.at("extraPodSpec.volumes");
  forEachObject(json::find(service.podSpec(), "volumes"), [&](const Value& volume, std::size_t i) {
    const std::string_view name = json::findText(&volume, "name");
    if (!mounted.contains(name)) return;
    const At at = volumes[i];
    report.duplicate(at / "name", name, "volumeMounts create a volume with this name");
  });
}

void reservedNames(const Service& service, const Report& report) {
  const bool checkpoints = service.checkpointed() && service.graph.policy.checkpointEnabled;
  forEachMount(service, [&](const Mount& mount) {
    // operatorVolumeNames() rejects these names where the operator has such a volume.
    if (checkpoints && (mount.name == api::kCheckpointVolume || mount.name == api::kPodInfoVolume)) return;
    if (std::find(kReserved.begin(), kReserved.end(), mount.name) == kReserved.end()) return;
    report.warn(mount.at("name"), "replaces the operator's volume of this name");
  });
}

/// A mount that the operator adds to the main container.
struct OperatorMount {
  std::string_view path;
  std::string_view volume;  ///< empty when the mount is always added
};

std::vector<OperatorMount> operatorMounts(const Service& service) {
  std::vector<OperatorMount> own;
  if (service.multinode() && service.framework.name == model::kTrtllm) own.push_back({api::kMpiSshPath, {}});
  const GraphPolicy& policy = service.graph.policy;
  if (!service.checkpointed() || !policy.checkpointEnabled) return own;
  own.push_back({api::kPodInfoPath, api::kPodInfoVolume});
  const CheckpointStorage& storage = policy.checkpointStorage;
  if (storage.type != "s3" && storage.type != "oci")
    own.push_back({storage.basePath, api::kCheckpointVolume});
  return own;
}

void operatorVolumeNames(const Service& service, const Report& report) {
  const std::vector<OperatorMount> own = operatorMounts(service);
  forEachMount(service, [&](const Mount& mount) {
    for (const OperatorMount& each : own) {
      if (mount.name != each.volume || mount.name.empty()) continue;
      report.duplicate(mount.at("name"), mount.name,
                       "is the name of a volume that the operator needs for checkpoints");
    }
  });
}

void operatorMountPaths(const Service& service, const Report& report) {
  for (const OperatorMount& own : operatorMounts(service)) {
    const Value* mounts = json::find(service.mainContainer(), "volumeMounts");
    // A mount of this volume replaces the operator's mount.
    if (!own.volume.empty() && json::findNamed(mounts, own.volume) != nullptr) continue;
    constexpr std::string_view kTaken = "the operator mounts a volume at this path";
    const At mountsAt = service.at(kMainMounts);
    forEachObject(mounts, [&](const Value& mount, std::size_t i) {
      if (json::findText(&mount, "mountPath") != own.path) return;
      const At at = mountsAt[i];
      report.duplicate(at / "mountPath", own.path, std::string{kTaken});
    });
    forEachMount(service, [&](const Mount& mount) {
      if (effectiveMountPath(service, mount) != own.path || mount.name == own.volume) return;
      report.duplicate(mount.at("mountPoint"), own.path, std::string{kTaken});
    });
  }
}

/// Warns of a user's volume or mount that replaces one of the operator.
void replacedOperatorMounts(const Service& service, const Report& report) {
  for (const OperatorMount& own : operatorMounts(service)) {
    if (own.volume.empty()) continue;
    const auto& claim = service.graph.policy.checkpointStorage.pvcName;
    const At volumes = service.at("extraPodSpec.volumes");
    const At mounts = service.at(kMainMounts);
    forEachObject(json::find(service.podSpec(), "volumes"), [&](const Value& volume, std::size_t i) {
      if (json::findText(&volume, "name") != own.volume) return;
      const Value* source = json::findObject(&volume, "persistentVolumeClaim");
      if (own.volume == api::kCheckpointVolume && json::findText(source, "claimName") == claim) return;
      const At at = volumes[i];
      report.warn(at / "name", "replaces the operator's volume of this name");
    });
    forEachObject(
        json::find(service.mainContainer(), "volumeMounts"), [&](const Value& mount, std::size_t i) {
          const std::string_view path = json::findText(&mount, "mountPath");
          if (json::findText(&mount, "name") != own.volume || path == own.path) return;
          const At at = mounts[i];
          report.warn(at / "mountPath", fmt::format("replaces the operator's mount at {}", own.path));
        });
  }
}

void unusualMountPaths(const Service& service, const Report& report) {
  forEachMount(service, [&](const Mount& mount) {
    if (mount.point.empty()) return;
    if (mount.point.front() != '/') report.warn(mount.at("mountPoint"), "is not an absolute path");
    if (mount.point.find(':') != std::string_view::npos)
      report.warn(mount.at("mountPoint"), "contains ':', which container runtimes refuse");
  });
}

void singleCache(const Service& service, const Report& report) {
  bool seen = false;
  forEachMount(service, [&](const Mount& mount) {
    if (mount.cache && seen) {
      report.warn(mount.at("useAsCompilationCache"),
                  "has no effect because an earlier mount is the compilation cache");
    }
    seen = seen || mount.cache;
  });
}

constexpr std::array kChecks = {
    ServiceCheck{
        {"service.mount-name", Severity::Error, "the name of a mounted claim is a valid name of a volume"},
        names},
    ServiceCheck{{"service.mount-claim", Severity::Warning, "a graph lists the claims that it mounts"},
                 claimsListed},
    ServiceCheck{
        {"service.mount-volume", Severity::Error, "volumes of the pod are mounted in the main container"},
        podVolumesMountedAsClaims},
    ServiceCheck{{"service.mount-point", Severity::Error,
                  "a mount has a path unless it is the compilation cache of vLLM"},
                 mountPathRequired},
    ServiceCheck{
        {"service.mount-point-taken", Severity::Error, "two volumes are not mounted at the same path"},
        mountPathsDistinct},
    ServiceCheck{
        {"service.volume-taken", Severity::Error, "volumes do not have the names of claims that are mounted"},
        volumeNamesFree},
    ServiceCheck{{"service.mount-own-name", Severity::Error,
                  "claims do not have the names of volumes that checkpoints need"},
                 operatorVolumeNames},
    ServiceCheck{{"service.mount-own-point", Severity::Error,
                  "nothing is mounted at the paths of the operator's mounts"},
                 operatorMountPaths},
    ServiceCheck{{"service.mount-own-replaced", Severity::Warning,
                  "the operator provides volumes and mounts for checkpoints"},
                 replacedOperatorMounts},
    ServiceCheck{{"service.mount-reserved", Severity::Warning,
                  "claims do not have the names of the operator's volumes"},
                 reservedNames},
    ServiceCheck{
        {"service.mount-point-odd", Severity::Warning, "mount points should be absolute, without ':'"},
        unusualMountPaths},
    ServiceCheck{{"service.cache-mounts", Severity::Warning, "one mount is the compilation cache"},
                 singleCache},
};

}  // namespace

std::span<const ServiceCheck> serviceMountChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
