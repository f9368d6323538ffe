// Volume types that are older than CSI: their required fields, and the types that kubelets no longer mount.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/json/ascii.h"
#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr long long kMaxByte = 255;

bool isAlphanumeric(char c) {
  return json::isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void checkByte(const Reports& report, const Value& source, std::string_view field, const At& at) {
  const Value* given = json::find(source, field);
  const auto number = integer(given);
  if (!number || (*number >= 0 && *number <= kMaxByte)) return;
  report(id::kVolumeField)
      .invalid(at / field, *given, fmt::format("must be between 0 and {}, inclusive", kMaxByte));
}

bool isEmptyList(const Value* list) {
  return list == nullptr || (list->IsArray() && list->Empty());
}

/// {name} of a Secret, where its name is required.
void secretName(const Reports& report, const Value& source, const At& at) {
  const Value* reference = json::findObject(&source, "secretRef");
  const At place = at / "secretRef";
  if (reference != nullptr && json::findText(reference, "name").empty()) {
    report(id::kVolumeField).required(place / "name");
  }
}

/// "eui." or "naa." followed by `digits` letters and digits.
bool isWorldWideName(std::string_view name, std::size_t digits) {
  constexpr std::size_t kPrefix = 4;
  return name.size() == kPrefix + digits && std::all_of(name.begin() + kPrefix, name.end(), isAlphanumeric);
}

/// iqn.<year>-<month>.<domain>:<text>
bool isQualifiedIscsiName(std::string_view name) {
  constexpr std::string_view kForm = "iqn.0000-00.";
  if (name.size() <= kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !json::isDigit(name[i]) : name[i] != kForm[i]) return false;
  }
  const std::string_view rest = name.substr(kForm.size());
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == rest.size()) return false;
  const std::string_view domain = rest.substr(0, colon);
  const bool plain = std::all_of(domain.begin(), domain.end(),
                                 [](char c) { return isAlphanumeric(c) || c == '-' || c == '.'; });
  return plain && rest.find_first_of(",;*&$| \t\n\f\r", colon + 1) == std::string_view::npos;
}

std::string iscsiNameProblem(std::string_view name) {
  constexpr std::size_t kEui = 16;
  constexpr std::size_t kNaa = 32;
  const bool good = (name.starts_with("iqn") && isQualifiedIscsiName(name)) ||
                    (name.starts_with("eui") && isWorldWideName(name, kEui)) ||
                    (name.starts_with("naa") && isWorldWideName(name, kNaa));
  return good ? "" : "must be an iSCSI name, such as iqn.2003-01.com.example:disk1";
}

void iscsi(const Reports& report, const Value& source, const At& at) {
  const std::string_view target = json::findText(&source, "iqn");
  if (!target.empty()) report(id::kVolumeField).check(at / "iqn", target, iscsiNameProblem(target));
  const Value* initiator = json::find(source, "initiatorName");
  if (initiator != nullptr && initiator->IsString()) {
    const std::string_view name = json::text(*initiator);
    report(id::kVolumeField).check(at / "initiatorName", name, iscsiNameProblem(name));
  }
  checkByte(report, source, "lun", at);
  const bool secret = json::findBool(&source, "chapAuthDiscovery") == true ||
                      json::findBool(&source, "chapAuthSession") == true;
  if (secret && json::find(source, "secretRef") == nullptr) {
    report(id::kVolumeField).required(at / "secretRef", "must be set for CHAP authentication");
  }
}

void fibreChannel(const Reports& report, const Value& source, const At& at) {
  const bool targets = !isEmptyList(json::find(source, "targetWWNs"));
  const bool ids = !isEmptyList(json::find(source, "wwids"));
  if (targets == ids) {
    report(id::kVolumeField).required(at / "targetWWNs", "must specify exactly one of: targetWWNs, wwids");
  }
  if (!targets) return;
  if (json::find(source, "lun") == nullptr) {
    report(id::kVolumeField).required(at / "lun", "lun is required if targetWWNs is specified");
  }
  checkByte(report, source, "lun", at);
}

void partition(const Reports& report, const Value& source, const At& at) {
  checkByte(report, source, "partition", at);
}

/// Comma-separated pairs of host and port, with brackets around IPv6 addresses.
bool areHostPorts(std::string_view text) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view pair = text.substr(0, comma);
    const std::size_t colon = pair.rfind(':');
    if (colon == std::string_view::npos) return false;
    std::string_view host = pair.substr(0, colon);
    if (host.starts_with('[')) {
      if (!host.ends_with(']')) return false;
      host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
      return false;
    }
    if (host.find_first_of("[]") != std::string_view::npos) return false;
    if (pair.find_first_of("[]", colon) != std::string_view::npos) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

void quobyte(const Reports& report, const Value& source, const At& at) {
  constexpr std::size_t kMaxTenant = 64;
  const std::string_view registry = json::findText(&source, "registry");
  if (json::findText(&source, "tenant").size() > kMaxTenant && !registry.empty()) {
    tooLong(report(id::kVolumeField), at / "tenant", kMaxTenant);
  } else if (!registry.empty() && !areHostPorts(registry)) {
    report(id::kVolumeField)
        .invalid(at / "registry", registry, "must be host:port, or several separated by commas");
  }
}

void flocker(const Reports& report, const Value& source, const At& at) {
  const std::string_view name = json::findText(&source, "datasetName");
  if (name.empty() == json::findText(&source, "datasetUUID").empty()) {
    report(id::kVolumeField).required(at, "must specify exactly one of: datasetName, datasetUUID");
  }
  if (name.find('/') != std::string_view::npos) {
    report(id::kVolumeField).invalid(at / "datasetName", name, "must not contain '/'");
  }
}

void flexVolume(const Reports& report, const Value& source, const At& at) {
  const At options = at / "options";
  forEachMember(json::find(source, "options"), options,
                [&](std::string_view key, const Value&, const At& place) {
                  const std::string domain = "." + k8s::lowerAscii(key.substr(0, key.find('/')));
                  if (!domain.ends_with(".kubernetes.io") && !domain.ends_with(".k8s.io")) return;
                  report(id::kVolumeField).invalid(place, key, "must not be in kubernetes.io or k8s.io");
                });
}

void azureDisk(const Reports& report, const Value& source, const At& at) {
  oneOfGiven(report(id::kEnum), at / "cachingMode", json::find(source, "cachingMode"),
             {"None", "ReadOnly", "ReadWrite"});
  const Value* given = json::find(source, "kind");
  oneOfGiven(report(id::kEnum), at / "kind", given, {"Dedicated", "Managed", "Shared"});
  const std::string_view uri = json::findText(&source, "diskURI");
  // A disk is a blob unless its kind is Managed.
  const std::string_view start = json::text(given) == "Managed" ? "/subscriptions/" : "https://";
  if (uri.empty() || uri.starts_with(start)) return;
  report(id::kVolumeField).invalid(at / "diskURI", uri, fmt::format("must start with {}", start));
}

void gitRepo(const Reports& report, const Value& source, const At& at) {
  const std::string_view directory = json::findText(&source, "directory");
  if (directory.starts_with('/')) {
    report(id::kVolumePath).invalid(at / "directory", directory, "must be a relative path");
  }
  if (hasBackstep(directory)) {
    report(id::kVolumePath).invalid(at / "directory", directory, "must not contain '..'");
  }
}

void storageOs(const Reports& report, const Value& source, const At& at) {
  for (const std::string_view field : {"volumeName", "volumeNamespace"}) {
    const std::string_view name = json::findText(&source, field);
    if (!name.empty()) report(id::kVolumeField).check(at / field, name, k8s::dns1123LabelProblem(name));
  }
  secretName(report, source, at);
}

void image(const Reports& report, const Value& source, const At& at) {
  needsGate(report, at, "ImageVolume");
  oneOf(report(id::kEnum), at / "pullPolicy", json::findText(&source, "pullPolicy"),
        {"Always", "IfNotPresent", "Never"});
}

struct Plugin {
  std::string_view name;
  std::array<std::string_view, 3> required;  ///< string fields
  std::string_view removed;                  ///< the first version whose kubelets refuse the type
  void (*check)(const Reports&, const Value&, const At&);
};

constexpr std::array kPlugins = {
    Plugin{"awsElasticBlockStore", {"volumeID"}, {}, partition},
    Plugin{"azureDisk", {"diskName", "diskURI"}, {}, azureDisk},
    Plugin{"azureFile", {"secretName", "shareName"}, {}, nullptr},
    Plugin{"cephfs", {}, "1.31", nullptr},
    Plugin{"cinder", {"volumeID"}, {}, secretName},
    Plugin{"fc", {}, {}, fibreChannel},
    Plugin{"flexVolume", {"driver"}, {}, flexVolume},
    Plugin{"flocker", {}, "1.25", flocker},
    Plugin{"gcePersistentDisk", {"pdName"}, {}, partition},
    Plugin{"gitRepo", {"repository"}, "1.33", gitRepo},
    Plugin{"glusterfs", {"endpoints", "path"}, "1.26", nullptr},
    Plugin{"image", {"reference"}, {}, image},
    Plugin{"iscsi", {"targetPortal", "iqn"}, {}, iscsi},
    Plugin{"photonPersistentDisk", {"pdID"}, "1.16", nullptr},
    Plugin{"portworxVolume", {"volumeID"}, {}, nullptr},
    Plugin{"quobyte", {"registry", "volume"}, "1.25", quobyte},
    Plugin{"rbd", {"image"}, "1.31", nullptr},
    Plugin{"scaleIO", {"gateway", "system", "volumeName"}, "1.22", nullptr},
    Plugin{"storageos", {"volumeName"}, "1.25", storageOs},
    Plugin{"vsphereVolume", {"volumePath"}, {}, nullptr},
};

}  // namespace

void volumePlugin(const Reports& report, std::string_view type, const Value& source, const At& at) {
  const auto* known = std::find_if(kPlugins.begin(), kPlugins.end(),
                                   [&](const Plugin& plugin) { return plugin.name == type; });
  if (known == kPlugins.end()) return;
  for (const std::string_view field : known->required) {
    if (field.empty() || !json::findText(&source, field).empty()) continue;
    report(id::kVolumeField).required(at / field);
  }
  const bool ceph = type == "cephfs" || type == "rbd";
  if (ceph && isEmptyList(json::find(source, "monitors"))) {
    report(id::kVolumeField).required(at / "monitors");
  }
  if (known->check != nullptr) known->check(report, source, at);
  if (known->removed.empty()) return;
  report(id::kVolumeRemoved)
      .warn(at, fmt::format("kubelets since {} do not mount volumes of this type", known->removed));
}

void iscsiNames(const Reports& report, std::string_view volume, const Value& source, const At& at) {
  constexpr std::size_t kMaxTogether = 64;
  const std::size_t bytes = volume.size() + 1 + json::findText(&source, "targetPortal").size();
  if (json::find(source, "initiatorName") == nullptr || bytes <= kMaxTogether) return;
  report(id::kVolumeField)
      .invalid(at / "name", volume,
               fmt::format("must not exceed {} bytes together with iscsi.targetPortal", kMaxTogether));
}

}  // namespace dynamo::rules::pod
