// Projected volumes: files of several sources in one volume.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

void checkRange(const Reports& report, const Value& source, std::string_view field, const At& at,
                long long min, long long max) {
  const Value* given = json::find(source, field);
  const auto value = integer(given);
  if (!value || (*value >= min && *value <= max)) return;
  report(id::kVolumeField)
      .invalid(at / field, *given, fmt::format("must be between {} and {}, inclusive", min, max));
}

/// The API server allows a token at the path of another file, so the path is not returned.
Paths token(const Reports& report, const Value& source, const At& at) {
  localPath(report, source, "path", at);
  constexpr long long kMinSeconds = 600;
  constexpr long long kMaxSeconds = 1LL << 32;
  checkRange(report, source, "expirationSeconds", at, kMinSeconds, kMaxSeconds);
  return {};
}

/// The problem of a signer name such as "example.com/signer"; empty when it is valid.
std::string signerProblem(std::string_view name) {
  constexpr std::size_t kMaxName = 571;
  constexpr std::string_view kForm = "must be a domain and a name, such as example.com/signer";
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.find('/', slash + 1) != std::string_view::npos) {
    return std::string{kForm};
  }
  const std::string_view domain = name.substr(0, slash);
  if (domain.find('.') == std::string_view::npos) return "must have a domain of two or more labels";
  if (domain.size() > k8s::kMaxSubdomainLength) return "must have a domain of at most 253 bytes";
  for (std::string_view rest = domain; !rest.empty();) {
    const std::size_t dot = rest.find('.');
    if (!k8s::dns1123LabelProblem(rest.substr(0, dot)).empty()) return "must have a domain of DNS labels";
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
    if (rest.empty()) return "must have a domain of DNS labels";
  }
  for (std::string_view rest = name.substr(slash + 1);;) {
    const std::size_t dot = rest.find('.');
    if (!k8s::dns1123SubdomainProblem(rest.substr(0, dot)).empty()) {
      return "must have lower case letters, digits, '-' and '.' after '/'";
    }
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return name.size() > kMaxName ? fmt::format("must be no more than {} bytes", kMaxName) : "";
}

void signer(const Reports& report, const Value& source, const At& at) {
  const std::string_view name = json::findText(&source, "signerName");
  if (name.empty()) return report(id::kVolumeField).required(at);
  report(id::kVolumeField).check(at, name, signerProblem(name));
}

/// The name of a signer's bundle starts with the signer's name, with ':' in place of '/'.
std::string bundleProblem(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon == 0) return "must not start with ':'";
  return k8s::dns1123SubdomainProblem(colon == std::string_view::npos ? name : name.substr(colon + 1));
}

Paths trustBundle(const Reports& report, const Value& source, const At& at) {
  needsGate(report, at, "ClusterTrustBundleProjection");
  const Value* name = json::find(source, "name");
  const Value* signerName = json::find(source, "signerName");
  if (name != nullptr && signerName != nullptr) {
    report(id::kVolumeField).forbidden(at / "signerName", "may not be set together with name");
  } else if (name != nullptr) {
    const std::string_view bundle = json::text(*name);
    if (bundle.empty()) report(id::kVolumeField).required(at / "name");
    if (!bundle.empty()) report(id::kVolumeField).check(at / "name", bundle, bundleProblem(bundle));
    if (json::find(source, "labelSelector") != nullptr) {
      report(id::kVolumeField).forbidden(at / "labelSelector", "may not be set together with name");
    }
  } else if (signerName != nullptr) {
    signer(report, source, at / "signerName");
    labelSelector(report, json::findObject(&source, "labelSelector"), at / "labelSelector");
  } else {
    report(id::kVolumeField).required(at, "either name or signerName must be specified");
  }
  localPath(report, source, "path", at);
  return {json::findText(&source, "path")};
}

Paths certificate(const Reports& report, const Value& source, const At& at) {
  needsGate(report, at, "PodCertificateRequest");
  signer(report, source, at / "signerName");
  const std::string_view keyType = json::findText(&source, "keyType");
  if (keyType.empty()) report(id::kVolumeField).required(at / "keyType");
  oneOf(report(id::kVolumeField), at / "keyType", keyType,
        {"ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"});
  constexpr long long kHour = 3600;
  constexpr long long kDay = 24 * kHour;
  const std::string_view name = json::findText(&source, "signerName");
  const std::string_view domain = name.substr(0, name.find('/'));
  const bool kubernetes = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
  checkRange(report, source, "maxExpirationSeconds", at, kHour, kubernetes ? kDay : 91 * kDay);
  Paths paths;
  for (const std::string_view field : {"credentialBundlePath", "keyPath", "certificateChainPath"}) {
    const std::string_view path = json::findText(&source, field);
    if (path.empty()) continue;
    report(id::kVolumePath).check(at / field, path, localPathProblem(path));
    paths.push_back(path);
  }
  if (paths.empty()) {
    report(id::kVolumeField)
        .required(at, "must specify one of: credentialBundlePath, keyPath, certificateChainPath");
  }
  return paths;
}

Paths keys(const Reports& report, const Value& source, const At& at) {
  objectName(report, source, "name", at);
  return keyItems(report, source, at / "items");
}

Paths fields(const Reports& report, const Value& source, const At& at) {
  return downwardItems(report, source, at / "items");
}

struct Source {
  std::string_view name;
  Paths (*check)(const Reports&, const Value&, const At&);
};

constexpr std::array kSources = {
    Source{"configMap", keys},
    Source{"secret", keys},
    Source{"downwardAPI", fields},
    Source{"serviceAccountToken", token},
    Source{"clusterTrustBundle", trustBundle},
    Source{"podCertificate", certificate},
};

/// Checks one source and returns the paths of its files.
Paths projection(const Reports& report, const Value& source, const At& at) {
  Paths paths;
  std::string_view first;
  for (const auto& member : source.GetObject()) {
    const std::string_view type = json::text(member.name);
    if (!member.value.IsObject()) continue;
    const At part = at / type;
    if (!first.empty()) {
      report(id::kVolumeSource).forbidden(part, fmt::format("may not be set together with {}", first));
      continue;
    }
    first = type;
    const auto* known =
        std::find_if(kSources.begin(), kSources.end(), [&](const Source& each) { return each.name == type; });
    if (known != kSources.end()) paths = known->check(report, member.value, part);
  }
  return paths;
}

}  // namespace

void projected(const Reports& report, const Value& source, const At& at) {
  fileMode(report, source, "defaultMode", at);
  Seen<> seen;
  const At sources = at / "sources";
  forEach(json::find(source, "sources"), sources, [&](const Value& one, const At& place) {
    for (const std::string_view path : projection(report, one, place)) {
      if (path.empty() || seen.add(path)) continue;
      report(id::kVolumePath).invalid(place, path, "must not be the path of several files in the volume");
    }
  });
}

}  // namespace dynamo::rules::pod
