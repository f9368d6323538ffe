// What each type of volume needs.

#include <fmt/format.h>

#include <array>

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
using json::Value;

void objectName(const Report& report, const Value& source, std::string_view field, const At& at) {
  const std::string_view name = json::findText(&source, field);
  if (name.empty()) return report.required(at / field, id::kVolumeField);
  if (!k8s::dns1123SubdomainProblem(name).empty()) {
    report.warn(at / field, fmt::format("{} is not a valid object name", field::showValue(name)),
                id::kObjectName);
  }
}

void fileMode(const Report& report, const Value& source, std::string_view field, const At& at) {
  constexpr long long kMaxMode = 0777;
  const Value* given = json::find(source, field);
  const auto value = integer(given);
  if (!value || (*value >= 0 && *value <= kMaxMode)) return;
  report.invalid(at / field, *given, "must be between 0 and 511 (octal 0777), inclusive", id::kVolumeMode);
}

void localPath(const Report& report, const Value& item, std::string_view field, const At& at) {
  const std::string_view path = json::findText(&item, field);
  if (path.empty()) return report.required(at / field, id::kVolumePath);
  report.check(at / field, path, localPathProblem(path), id::kVolumePath);
}

Paths keyItems(const Report& report, const Value& source, const At& at) {
  Paths paths;
  forEach(json::find(source, "items"), at, [&](const Value& item, const At& place) {
    const std::string_view key = json::findText(&item, "key");
    if (key.empty()) {
      report.required(place / "key", id::kVolumeField);
    } else if (!k8s::configMapKeyProblem(key).empty()) {
      report.warn(place / "key", fmt::format("{} is not a valid key", field::showValue(key)),
                  id::kObjectName);
    }
    localPath(report, item, "path", place);
    paths.push_back(json::findText(&item, "path"));
    fileMode(report, item, "mode", place);
  });
  return paths;
}

Paths downwardItems(const Report& report, const Value& source, const At& at) {
  Paths paths;
  forEach(json::find(source, "items"), at, [&](const Value& item, const At& place) {
    localPath(report, item, "path", place);
    paths.push_back(json::findText(&item, "path"));
    fileMode(report, item, "mode", place);
    const Value* field = json::findObject(&item, "fieldRef");
    const Value* resource = json::findObject(&item, "resourceFieldRef");
    if (field != nullptr) fieldRef(report, *field, place / "fieldRef", true);
    if (field != nullptr && resource != nullptr) {
      report.forbidden(place / "resourceFieldRef", "may not be given together with fieldRef",
                       id::kVolumeField);
    } else if (resource != nullptr) {
      resourceFieldRef(report, *resource, place / "resourceFieldRef", true);
    } else if (field == nullptr) {
      report.required(place, id::kVolumeField, "one of fieldRef, resourceFieldRef");
    }
  });
  return paths;
}

namespace {

void emptyDir(const Report& report, const Value& source, const At& at) {
  const std::string_view medium = json::findText(&source, "medium");
  if (!medium.empty() && medium != "Memory" && !medium.starts_with("HugePages")) {
    report.warn(at / "medium", "is not a medium: leave it out, or set Memory or HugePages",
                id::kVolumeMedium);
  }
  const Value* limit = json::find(source, "sizeLimit");
  const auto text = limit == nullptr ? std::nullopt : k8s::quantityText(*limit);
  if (!text) return;
  const At place = at / "sizeLimit";
  const std::string problem = k8s::quantityProblem(*text);
  report.check(place, *text, problem, id::kQuantity);
  const auto quantity = k8s::parseQuantity(*text);
  if (problem.empty() && quantity && quantity->nano < 0) {
    report.invalid(place, *text, "must be greater than or equal to 0", id::kVolumeField);
  }
}

void hostPath(const Report& report, const Value& source, const At& at) {
  const std::string_view path = json::findText(&source, "path");
  if (path.empty()) return report.required(at / "path", id::kVolumePath);
  if (hasBackstep(path)) report.invalid(at / "path", path, "must not contain '..'", id::kVolumePath);
  report.oneOf(
      at / "type", json::findText(&source, "type"),
      {"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"},
      id::kEnum);
}

void claim(const Report& report, const Value& source, const At& at) {
  objectName(report, source, "claimName", at);
}

void configMap(const Report& report, const Value& source, const At& at) {
  objectName(report, source, "name", at);
  fileMode(report, source, "defaultMode", at);
  keyItems(report, source, at / "items");
}

void secret(const Report& report, const Value& source, const At& at) {
  objectName(report, source, "secretName", at);
  fileMode(report, source, "defaultMode", at);
  keyItems(report, source, at / "items");
}

void downwardApi(const Report& report, const Value& source, const At& at) {
  fileMode(report, source, "defaultMode", at);
  downwardItems(report, source, at / "items");
}

void nfs(const Report& report, const Value& source, const At& at) {
  if (json::findText(&source, "server").empty()) report.required(at / "server", id::kVolumeField);
  const std::string_view path = json::findText(&source, "path");
  if (path.empty()) return report.required(at / "path", id::kVolumePath);
  if (!path.starts_with('/')) report.invalid(at / "path", path, "must be an absolute path", id::kVolumePath);
}

void csi(const Report& report, const Value& source, const At& at) {
  const std::string_view driver = json::findText(&source, "driver");
  if (driver.empty()) {
    report.required(at / "driver", id::kVolumeField);
  } else if (driver.size() > k8s::kMaxLabelLength) {
    report.invalid(at / "driver", driver, "must be no more than 63 characters", id::kVolumeField);
  } else {
    report.check(at / "driver", driver, k8s::dns1123SubdomainProblem(k8s::lowerAscii(driver)),
                 id::kVolumeField);
  }
  const Value* reference = json::findObject(&source, "nodePublishSecretRef");
  const std::string_view name = json::findText(reference, "name");
  const At place = at / "nodePublishSecretRef";
  if (reference == nullptr) return;
  if (name.empty()) return report.required(place / "name", id::kVolumeField);
  report.check(place / "name", name, k8s::dns1123SubdomainProblem(name), id::kVolumeField);
}

void ephemeral(const Report& report, const Value& source, const At& at) {
  const Value* claimTemplate = json::findObject(&source, "volumeClaimTemplate");
  const At place = at / "volumeClaimTemplate";
  if (claimTemplate == nullptr) return report.required(place, id::kVolumeField);
  const At metadata = place / "metadata";
  const Value* given = json::findObject(claimTemplate, "metadata");
  labels(report, json::find(given, "labels"), metadata / "labels");
  annotations(report, json::find(given, "annotations"), metadata / "annotations");
  for (const std::string_view field : {"finalizers", "generateName", "name", "namespace"}) {
    const Value* other = json::find(given, field);
    const bool empty =
        other == nullptr || (other->IsString() ? other->GetStringLength() == 0 : !other->IsArray());
    if (!empty)
      report.forbidden(metadata / field, "may not be set in a claim's template", id::kTemplateMetadata);
  }
  pvcSpec(report, json::findObject(claimTemplate, "spec"), place / "spec");
}

struct Type {
  std::string_view name;
  void (*check)(const Report&, const Value&, const At&);
};

constexpr std::array kTypes = {
    Type{"emptyDir", emptyDir},   Type{"hostPath", hostPath}, Type{"persistentVolumeClaim", claim},
    Type{"configMap", configMap}, Type{"secret", secret},     Type{"downwardAPI", downwardApi},
    Type{"projected", projected}, Type{"csi", csi},           Type{"nfs", nfs},
    Type{"ephemeral", ephemeral},
};

}  // namespace

void volumeSource(const Report& report, std::string_view type, const Value& source, const At& at) {
  for (const Type& known : kTypes) {
    if (known.name == type) return known.check(report, source, at);
  }
  volumePlugin(report, type, source, at);
}

}  // namespace dynamo::rules::pod
