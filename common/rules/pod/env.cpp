// Environment variables and their sources. Values are never shown because they may be secrets.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr std::array<std::string_view, 5> kSources = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                                      "secretKeyRef", "fileKeyRef"};
constexpr std::array<std::string_view, 9> kEnvFields = {
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
constexpr std::array<std::string_view, 5> kVolumeFields = {
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"};
constexpr std::array<std::string_view, 12> kByteDivisors = {"1",  "1k",  "1M",  "1G",  "1T",  "1P",
                                                            "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi"};

void variableName(const Reports& report, std::string_view name, const At& at) {
  if (name.empty()) return report(id::kEnvName).required(at);
  const std::string problem = k8s::envNameProblem(name);
  if (problem.empty()) {
    const std::string doubt = k8s::strictEnvNameProblem(name);
    if (!doubt.empty()) report(id::kEnvNameStrict).warn(at, "Kubernetes before 1.32 refuses this name");
    return;
  }
  report(id::kEnvName).invalid(at, k8s::shownEnvName(name), problem);
}

/// {name, key} of a ConfigMap or Secret.
void keyRef(const Reports& report, const Value& reference, const At& at) {
  const std::string_view name = json::findText(&reference, "name");
  if (name.empty()) {
    report(id::kKeyRef).required(at / "name");
  } else {
    report(id::kKeyRef).check(at / "name", name, k8s::dns1123SubdomainProblem(name));
  }
  const std::string_view key = json::findText(&reference, "key");
  if (key.empty()) {
    report(id::kKeyRef).required(at / "key");
  } else {
    report(id::kKeyRef).check(at / "key", key, k8s::configMapKeyProblem(key));
  }
}

/// A volume without any source is an emptyDir.
bool isEmptyDir(const Value& volume) {
  if (json::find(volume, "emptyDir") != nullptr) return true;
  return std::none_of(volume.MemberBegin(), volume.MemberEnd(),
                      [](const auto& member) { return member.value.IsObject(); });
}

/// {volumeName, path, key} of a file with variables.
void fileKeyRef(const Reports& report, const Value& reference, const At& at, const PodFacts& facts) {
  needsGate(report, at, "EnvFiles");
  const std::string_view key = json::findText(&reference, "key");
  if (key.empty()) {
    report(id::kEnvFile).required(at / "key");
  } else {
    report(id::kEnvFile).check(at / "key", k8s::shownEnvName(key), k8s::envNameProblem(key));
  }
  const std::string_view path = json::findText(&reference, "path");
  if (path.empty()) report(id::kEnvFile).required(at / "path");
  if (hasBackstep(path)) report(id::kEnvFile).invalid(at / "path", path, "must not contain '..'");
  const std::string_view name = json::findText(&reference, "volumeName");
  const At place = at / "volumeName";
  if (name.empty()) return report(id::kEnvFile).required(place);
  const Value* volume = facts.volume(name);
  if (volume == nullptr) {
    report(id::kEnvFile).notFound(place, name, "the pod has no volume of this name");
  } else if (!isEmptyDir(*volume)) {
    report(id::kEnvFile).invalid(place, name, "must be a volume of type emptyDir");
  }
}

void source(const Reports& report, const Value& entry, const At& at, const PodFacts& facts) {
  const Value* from = json::findObject(&entry, "valueFrom");
  if (from == nullptr) return;
  std::string_view first;
  for (const std::string_view field : kSources) {
    const Value* given = json::find(*from, field);
    if (given == nullptr) continue;
    const At place = at / field;
    if (!first.empty()) {
      report(id::kEnvSource).forbidden(place, fmt::format("may not be set together with {}", first));
      continue;
    }
    first = field;
    if (field == "fieldRef") fieldRef(report, *given, place, false);
    if (field == "resourceFieldRef") resourceFieldRef(report, *given, place, false);
    if (field == "configMapKeyRef" || field == "secretKeyRef") keyRef(report, *given, place);
    if (field == "fileKeyRef") fileKeyRef(report, *given, place, facts);
  }
  if (first.empty()) {
    report(id::kEnvSource)
        .required(at, "must specify one of: fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef");
  } else if (!json::findText(&entry, "value").empty()) {
    report(id::kEnvSource).forbidden(at, "may not be specified when value is not empty");
  }
}

/// Splits "metadata.labels['key']" into the field and the key; nullopt without a subscript.
std::optional<std::pair<std::string_view, std::string_view>> subscript(std::string_view path) {
  if (!path.ends_with("']")) return std::nullopt;
  path.remove_suffix(2);
  const std::size_t open = path.find("['");
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  return std::pair{path.substr(0, open), path.substr(open + 2)};
}

template <std::size_t N>
bool has(const std::array<std::string_view, N>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool isHugepages(std::string_view resource) {
  return resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
}

bool isContainerResource(std::string_view resource) {
  constexpr std::array<std::string_view, 6> kNames = {"limits.cpu",
                                                      "limits.memory",
                                                      "requests.cpu",
                                                      "requests.memory",
                                                      "limits.ephemeral-storage",
                                                      "requests.ephemeral-storage"};
  return has(kNames, resource) || isHugepages(resource);
}

void divisor(const Reports& report, const Value& reference, std::string_view resource, const At& at) {
  const Value* given = json::find(reference, "divisor");
  const auto text = given == nullptr ? std::nullopt : k8s::quantityText(*given);
  if (!text) return;
  const std::string problem = k8s::quantityProblem(*text);
  if (!problem.empty()) return report(id::kQuantity).check(at, *text, problem);
  const std::string canonical = k8s::canonicalQuantity(*text);
  if (canonical == "0") return;
  const bool cpu = resource.ends_with(".cpu");
  const bool good = cpu ? canonical == "1m" || canonical == "1"
                        : has(kByteDivisors, std::string_view{canonical}) || canonical == "1Ei";
  if (good) return;
  report(id::kResourceFieldRef)
      .invalid(at, *text, cpu ? "must be 1m or 1" : "must be 1, or 1 with a suffix k to E or Ki to Ei");
}

}  // namespace

void fieldRef(const Reports& report, const Value& reference, const At& at, bool volume) {
  const std::string_view version = json::findText(&reference, "apiVersion");
  oneOf(report(id::kFieldRef), at / "apiVersion", version, {"v1"});
  const std::string_view path = json::findText(&reference, "fieldPath");
  const At place = at / "fieldPath";
  if (path.empty()) return report(id::kFieldRef).required(place);
  if (const auto parts = subscript(path)) {
    const auto& [field, key] = *parts;
    if (field == "metadata.labels") {
      report(id::kFieldRef).check(place, path, k8s::qualifiedNameProblem(key));
    } else if (field == "metadata.annotations") {
      report(id::kFieldRef).check(place, path, k8s::annotationKeyProblem(key));
    } else {
      report(id::kFieldRef)
          .invalid(place, path, "only metadata.labels and metadata.annotations take a ['key']");
    }
    return;
  }
  if (volume ? has(kVolumeFields, path) : has(kEnvFields, path)) return;
  report(id::kFieldRef)
      .invalid(place, path,
               volume ? "must be metadata.name, .namespace, .uid, .labels, .annotations or one of their keys"
                      : "must be metadata.name, .namespace, .uid, .labels['key'] or .annotations['key'], "
                        "spec.nodeName, spec.serviceAccountName, status.hostIP, .hostIPs, .podIP or .podIPs");
}

void resourceFieldRef(const Reports& report, const Value& reference, const At& at, bool volume) {
  const std::string_view resource = json::findText(&reference, "resource");
  const bool known = isContainerResource(resource);
  if (volume && json::findText(&reference, "containerName").empty()) {
    report(id::kResourceFieldRef).required(at / "containerName");
  } else if (resource.empty()) {
    report(id::kResourceFieldRef).required(at / "resource");
  } else if (!known) {
    report(id::kResourceFieldRef)
        .invalid(at / "resource", resource,
                 "must be limits. or requests. with cpu, memory, ephemeral-storage or hugepages-<size>");
  }
  if (known) divisor(report, reference, resource, at / "divisor");
}

void env(const Reports& report, const Value* list, const At& at, const PodFacts& facts) {
  Seen<> names;
  forEach(list, at, [&](const Value& entry, const At& place) {
    const std::string_view name = json::findText(&entry, "name");
    variableName(report, name, place / "name");
    source(report, entry, place / "valueFrom", facts);
    if (!name.empty() && !names.add(name)) {
      report(id::kEnvRepeated).warn(place / "name", "is already set above; the last value is used");
    }
  });
}

void envFrom(const Reports& report, const Value* list, const At& at) {
  forEach(list, at, [&](const Value& entry, const At& place) {
    const std::string_view prefix = json::findText(&entry, "prefix");
    if (!prefix.empty()) variableName(report, prefix, place / "prefix");
    const Value* configMap = json::find(entry, "configMapRef");
    const Value* secret = json::find(entry, "secretRef");
    if (configMap != nullptr && secret != nullptr) {
      return report(id::kEnvFrom).forbidden(place / "secretRef", "may not be set together with configMapRef");
    }
    const Value* given = configMap != nullptr ? configMap : secret;
    if (given == nullptr) {
      return report(id::kEnvFrom).required(place, "must specify one of: configMapRef, secretRef");
    }
    const std::string_view kind = configMap != nullptr ? "configMapRef" : "secretRef";
    const At reference = place / kind;
    const std::string_view name = json::findText(given, "name");
    if (name.empty()) return report(id::kEnvFrom).required(reference / "name");
    const std::string problem = k8s::dns1123SubdomainProblem(name);
    if (!problem.empty() && name.ends_with('-')) {
      // Only here the API server accepts a trailing '-', as in prefixes of generated names.
      report(id::kObjectName)
          .warn(reference / "name", fmt::format("{} is not a valid object name", field::showValue(name)));
    } else {
      report(id::kEnvFrom).check(reference / "name", name, problem);
    }
  });
}

}  // namespace dynamo::rules::pod
