// What each type of volume needs. Types that are not listed are left to the API server.

#include <fmt/format.h>

#include <array>
#include <vector>

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/podrules/parts.h"
#include "common/podrules/rules.h"

namespace dynamo::podrules {
namespace {

using json::Value;

/// The name of another object: the API server wants any text here, but only some name objects.
void objectName(const Report& report, const Value& source, std::string_view field, const At& at) {
  const std::string_view name = json::findText(&source, field);
  if (name.empty()) return report.required(at / field, rule::kVolumeField);
  if (!k8s::dns1123SubdomainProblem(name).empty()) {
    report.warn(at / field, fmt::format("no object can be named {}", validation::showValue(name)),
                rule::kObjectName);
  }
}

void mode(const Report& report, const Value& source, std::string_view field, const At& at) {
  constexpr long long kMaxMode = 0777;
  const Value* given = json::find(source, field);
  const auto value = integer(given);
  if (!value || (*value >= 0 && *value <= kMaxMode)) return;
  report.invalid(at / field, *given, "must be between 0 and 511 (octal 0777), inclusive", rule::kVolumeMode);
}

/// Paths of files in one volume.
using Paths = std::vector<std::string_view>;

void localPath(const Report& report, const Value& item, const At& at) {
  const std::string_view path = json::findText(&item, "path");
  if (path.empty()) return report.required(at / "path", rule::kVolumePath);
  report.check(at / "path", path, localPathProblem(path), rule::kVolumePath);
}

Paths keyItems(const Report& report, const Value& source, const At& at) {
  Paths paths;
  forEach(json::find(source, "items"), at, [&](const Value& item, const At& place) {
    const std::string_view key = json::findText(&item, "key");
    if (key.empty()) {
      report.required(place / "key", rule::kVolumeField);
    } else if (!k8s::configMapKeyProblem(key).empty()) {
      report.warn(place / "key", fmt::format("no key can be named {}", validation::showValue(key)),
                  rule::kObjectName);
    }
    localPath(report, item, place);
    paths.push_back(json::findText(&item, "path"));
    mode(report, item, "mode", place);
  });
  return paths;
}

Paths downwardItems(const Report& report, const Value& source, const At& at) {
  Paths paths;
  forEach(json::find(source, "items"), at, [&](const Value& item, const At& place) {
    localPath(report, item, place);
    paths.push_back(json::findText(&item, "path"));
    mode(report, item, "mode", place);
    const Value* field = json::findObject(&item, "fieldRef");
    const Value* resource = json::findObject(&item, "resourceFieldRef");
    if (field != nullptr) fieldRef(report, *field, place / "fieldRef", true);
    if (field != nullptr && resource != nullptr) {
      report.forbidden(place / "resourceFieldRef", "may not be given together with fieldRef",
                       rule::kVolumeField);
    } else if (resource != nullptr) {
      resourceFieldRef(report, *resource, place / "resourceFieldRef", true);
    } else if (field == nullptr) {
      report.required(place, rule::kVolumeField, "one of fieldRef, resourceFieldRef");
    }
  });
  return paths;
}

void token(const Report& report, const Value& source, const At& at) {
  localPath(report, source, at);
  constexpr long long kMinSeconds = 600;
  constexpr long long kMaxSeconds = 1LL << 32;
  const Value* given = json::find(source, "expirationSeconds");
  const auto seconds = integer(given);
  if (!seconds || (*seconds >= kMinSeconds && *seconds <= kMaxSeconds)) return;
  report.invalid(at / "expirationSeconds", *given,
                 fmt::format("must be between {} and {}, inclusive", kMinSeconds, kMaxSeconds),
                 rule::kVolumeField);
}

void emptyDir(const Report& report, const Value& source, const At& at) {
  const std::string_view medium = json::findText(&source, "medium");
  if (!medium.empty() && medium != "Memory" && !medium.starts_with("HugePages")) {
    report.warn(at / "medium", "is no medium: leave it out, or set Memory or HugePages", rule::kVolumeMedium);
  }
  const Value* limit = json::find(source, "sizeLimit");
  const auto text = limit == nullptr ? std::nullopt : k8s::quantityText(*limit);
  if (!text) return;
  const At place = at / "sizeLimit";
  const std::string problem = k8s::quantityProblem(*text);
  report.check(place, *text, problem, rule::kQuantity);
  const auto quantity = k8s::parseQuantity(*text);
  if (problem.empty() && quantity && quantity->nano < 0) {
    report.invalid(place, *text, "must be greater than or equal to 0", rule::kVolumeField);
  }
}

void hostPath(const Report& report, const Value& source, const At& at) {
  const std::string_view path = json::findText(&source, "path");
  if (path.empty()) return report.required(at / "path", rule::kVolumePath);
  if (hasBackstep(path)) report.invalid(at / "path", path, "must not contain '..'", rule::kVolumePath);
  report.oneOf(
      at / "type", json::findText(&source, "type"),
      {"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"},
      rule::kEnum);
}

void claim(const Report& report, const Value& source, const At& at) {
  objectName(report, source, "claimName", at);
}

void configMap(const Report& report, const Value& source, const At& at) {
  objectName(report, source, "name", at);
  mode(report, source, "defaultMode", at);
  keyItems(report, source, at / "items");
}

void secret(const Report& report, const Value& source, const At& at) {
  objectName(report, source, "secretName", at);
  mode(report, source, "defaultMode", at);
  keyItems(report, source, at / "items");
}

void downwardApi(const Report& report, const Value& source, const At& at) {
  mode(report, source, "defaultMode", at);
  downwardItems(report, source, at / "items");
}

void nfs(const Report& report, const Value& source, const At& at) {
  if (json::findText(&source, "server").empty()) report.required(at / "server", rule::kVolumeField);
  const std::string_view path = json::findText(&source, "path");
  if (path.empty()) return report.required(at / "path", rule::kVolumePath);
  if (!path.starts_with('/'))
    report.invalid(at / "path", path, "must be an absolute path", rule::kVolumePath);
}

void csi(const Report& report, const Value& source, const At& at) {
  const std::string_view driver = json::findText(&source, "driver");
  if (driver.empty()) {
    report.required(at / "driver", rule::kVolumeField);
  } else if (driver.size() > k8s::kMaxLabelLength) {
    report.invalid(at / "driver", driver, "must be no more than 63 characters", rule::kVolumeField);
  } else {
    report.check(at / "driver", driver, k8s::dns1123SubdomainProblem(k8s::lowerAscii(driver)),
                 rule::kVolumeField);
  }
  const Value* reference = json::findObject(&source, "nodePublishSecretRef");
  const std::string_view name = json::findText(reference, "name");
  const At place = at / "nodePublishSecretRef";
  if (reference == nullptr) return;
  if (name.empty()) return report.required(place / "name", rule::kVolumeField);
  report.check(place / "name", name, k8s::dns1123SubdomainProblem(name), rule::kVolumeField);
}

void ephemeral(const Report& report, const Value& source, const At& at) {
  const Value* claimTemplate = json::findObject(&source, "volumeClaimTemplate");
  const At place = at / "volumeClaimTemplate";
  if (claimTemplate == nullptr) return report.required(place, rule::kVolumeField);
  const At metadata = place / "metadata";
  const Value* given = json::findObject(claimTemplate, "metadata");
  labels(report, json::find(given, "labels"), metadata / "labels");
  annotations(report, json::find(given, "annotations"), metadata / "annotations");
  pvcSpec(report, json::findObject(claimTemplate, "spec"), place / "spec");
}

/// Checks one source and returns the paths that it asks for.
Paths projection(const Report& report, const Value& source, const At& at) {
  Paths paths;
  std::string_view first;
  for (const auto& member : source.GetObject()) {
    const std::string_view type = json::text(member.name);
    if (!member.value.IsObject()) continue;
    const At part = at / type;
    if (!first.empty()) {
      report.forbidden(part, fmt::format("only one type may be given in a source, and {} is", first),
                       rule::kVolumeSource);
      continue;
    }
    first = type;
    if (type == "configMap" || type == "secret") {
      objectName(report, member.value, "name", part);
      paths = keyItems(report, member.value, part / "items");
    }
    if (type == "downwardAPI") paths = downwardItems(report, member.value, part / "items");
    // A token may take the path of another file: the API server lets it.
    if (type == "serviceAccountToken") token(report, member.value, part);
  }
  return paths;
}

void projected(const Report& report, const Value& source, const At& at) {
  mode(report, source, "defaultMode", at);
  Seen<> seen;
  const At sources = at / "sources";
  forEach(json::find(source, "sources"), sources, [&](const Value& one, const At& place) {
    for (const std::string_view path : projection(report, one, place)) {
      if (path.empty() || seen.add(path)) continue;
      report.invalid(place, path, "must not be the path of two files in one volume", rule::kVolumePath);
    }
  });
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
    if (known.name == type) known.check(report, source, at);
  }
}

}  // namespace dynamo::podrules
