// The checks of each type of volume.

#include <fmt/format.h>

#include <array>

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
using json::Value;

void objectName(const Reports& report, const Value& source, std::string_view field, const At& at) {
  const std::string_view name = json::findText(&source, field);
  if (name.empty()) return report(id::kVolumeField).required(at / field);
  if (!k8s::dns1123SubdomainProblem(name).empty()) {
    report(id::kObjectName)
        .warn(at / field, fmt::format("{} is not a valid object name", field::showValue(name)));
  }
}

void fileMode(const Reports& report, const Value& source, std::string_view field, const At& at) {
  constexpr long long kMaxMode = 0777;
  const Value* given = json::find(source, field);
  const auto value = integer(given);
  if (!value || (*value >= 0 && *value <= kMaxMode)) return;
  report(id::kVolumeMode).invalid(at / field, *given, "must be between 0 and 511 (octal 0777), inclusive");
}

void localPath(const Reports& report, const Value& item, std::string_view field, const At& at) {
  const std::string_view path = json::findText(&item, field);
  if (path.empty()) return report(id::kVolumePath).required(at / field);
  report(id::kVolumePath).check(at / field, path, localPathProblem(path));
}

Paths keyItems(const Reports& report, const Value& source, const At& at) {
  Paths paths;
  forEach(json::find(source, "items"), at, [&](const Value& item, const At& place) {
    const std::string_view key = json::findText(&item, "key");
    if (key.empty()) {
      report(id::kVolumeField).required(place / "key");
    } else if (!k8s::configMapKeyProblem(key).empty()) {
      report(id::kObjectName)
          .warn(place / "key", fmt::format("{} is not a valid key", field::showValue(key)));
    }
    localPath(report, item, "path", place);
    paths.push_back(json::findText(&item, "path"));
    fileMode(report, item, "mode", place);
  });
  return paths;
}

Paths downwardItems(const Reports& report, const Value& source, const At& at) {
  Paths paths;
  forEach(json::find(source, "items"), at, [&](const Value& item, const At& place) {
    localPath(report, item, "path", place);
    paths.push_back(json::findText(&item, "path"));
    fileMode(report, item, "mode", place);
    const Value* field = json::findObject(&item, "fieldRef");
    const Value* resource = json::findObject(&item, "resourceFieldRef");
    if (field != nullptr) fieldRef(report, *field, place / "fieldRef", true);
    if (field != nullptr && resource != nullptr) {
      report(id::kVolumeField).forbidden(place / "resourceFieldRef", "may not be set together with fieldRef");
    } else if (resource != nullptr) {
      resourceFieldRef(report, *resource, place / "resourceFieldRef", true);
    } else if (field == nullptr) {
      report(id::kVolumeField).required(place, "must specify one of: fieldRef, resourceFieldRef");
    }
  });
  return paths;
}

namespace {

void emptyDir(const Reports& report, const Value& source, const At& at) {
  const std::string_view medium = json::findText(&source, "medium");
  if (!medium.empty() && medium != "Memory" && !medium.starts_with("HugePages")) {
    report(id::kVolumeMedium)
        .warn(at / "medium", "is not a known medium: set Memory or HugePages, or leave it out");
  }
  const Value* limit = json::find(source, "sizeLimit");
  const auto text = limit == nullptr ? std::nullopt : k8s::quantityText(*limit);
  if (!text) return;
  const At place = at / "sizeLimit";
  const std::string problem = k8s::quantityProblem(*text);
  report(id::kQuantity).check(place, *text, problem);
  const auto quantity = k8s::parseQuantity(*text);
  if (problem.empty() && quantity && quantity->nano < 0) {
    report(id::kVolumeField).invalid(place, *text, "must be greater than or equal to 0");
  }
}

void hostPath(const Reports& report, const Value& source, const At& at) {
  const std::string_view path = json::findText(&source, "path");
  if (path.empty()) return report(id::kVolumePath).required(at / "path");
  if (hasBackstep(path)) report(id::kVolumePath).invalid(at / "path", path, "must not contain '..'");
  oneOf(report(id::kEnum), at / "type", json::findText(&source, "type"),
        {"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"});
}

void claim(const Reports& report, const Value& source, const At& at) {
  objectName(report, source, "claimName", at);
}

void configMap(const Reports& report, const Value& source, const At& at) {
  objectName(report, source, "name", at);
  fileMode(report, source, "defaultMode", at);
  keyItems(report, source, at / "items");
}

void secret(const Reports& report, const Value& source, const At& at) {
  objectName(report, source, "secretName", at);
  fileMode(report, source, "defaultMode", at);
  keyItems(report, source, at / "items");
}

void downwardApi(const Reports& report, const Value& source, const At& at) {
  fileMode(report, source, "defaultMode", at);
  downwardItems(report, source, at / "items");
}

void nfs(const Reports& report, const Value& source, const At& at) {
  if (json::findText(&source, "server").empty()) report(id::kVolumeField).required(at / "server");
  const std::string_view path = json::findText(&source, "path");
  if (path.empty()) return report(id::kVolumePath).required(at / "path");
  if (!path.starts_with('/')) report(id::kVolumePath).invalid(at / "path", path, "must be an absolute path");
}

void csi(const Reports& report, const Value& source, const At& at) {
  const std::string_view driver = json::findText(&source, "driver");
  if (driver.empty()) {
    report(id::kVolumeField).required(at / "driver");
  } else if (driver.size() > k8s::kMaxLabelLength) {
    report(id::kVolumeField).invalid(at / "driver", driver, "must be no more than 63 characters");
  } else {
    report(id::kVolumeField)
        .check(at / "driver", driver, k8s::dns1123SubdomainProblem(k8s::lowerAscii(driver)));
  }
  const Value* reference = json::findObject(&source, "nodePublishSecretRef");
  const std::string_view name = json::findText(reference, "name");
  const At place = at / "nodePublishSecretRef";
  if (reference == nullptr) return;
  if (name.empty()) return report(id::kVolumeField).required(place / "name");
  report(id::kVolumeField).check(place / "name", name, k8s::dns1123SubdomainProblem(name));
}

void ephemeral(const Reports& report, const Value& source, const At& at) {
  const Value* claimTemplate = json::findObject(&source, "volumeClaimTemplate");
  const At place = at / "volumeClaimTemplate";
  if (claimTemplate == nullptr) return report(id::kVolumeField).required(place);
  const At metadata = place / "metadata";
  const Value* given = json::findObject(claimTemplate, "metadata");
  labels(report, json::find(given, "labels"), metadata / "labels");
  annotations(report, json::find(given, "annotations"), metadata / "annotations");
  for (const std::string_view field : {"finalizers", "generateName", "name", "namespace"}) {
    const Value* other = json::find(given, field);
    const bool empty =
        other == nullptr || (other->IsString() ? other->GetStringLength() == 0 : !other->IsArray());
    if (!empty)
      report(id::kTemplateMetadata).forbidden(metadata / field, "may not be set in a claim's template");
  }
  pvcSpec(report, json::findObject(claimTemplate, "spec"), place / "spec");
}

struct Type {
  std::string_view name;
  void (*check)(const Reports&, const Value&, const At&);
};

constexpr std::array kTypes = {
    Type{"emptyDir", emptyDir},   Type{"hostPath", hostPath}, Type{"persistentVolumeClaim", claim},
    Type{"configMap", configMap}, Type{"secret", secret},     Type{"downwardAPI", downwardApi},
    Type{"projected", projected}, Type{"csi", csi},           Type{"nfs", nfs},
    Type{"ephemeral", ephemeral},
};

}  // namespace

void volumeSource(const Reports& report, std::string_view type, const Value& source, const At& at) {
  for (const Type& known : kTypes) {
    if (known.name == type) return known.check(report, source, at);
  }
  volumePlugin(report, type, source, at);
}

}  // namespace dynamo::rules::pod
