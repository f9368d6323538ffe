// Labels and annotations.

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

std::set<std::string_view> containerNames(const Value* podSpec) {
  std::set<std::string_view> names;
  const At nowhere;
  for (const std::string_view list : {"containers", "initContainers"}) {
    forEach(json::find(podSpec, list), nowhere,
            [&](const Value& container, const At&) { names.insert(json::findText(&container, "name")); });
  }
  return names;
}

/// Accepts "localhost/<file>" and the names without a file.
std::string seccompProblem(std::string_view profile) {
  constexpr std::string_view kFile = "localhost/";
  if (profile == "runtime/default" || profile == "docker/default" || profile == "unconfined") return {};
  if (!profile.starts_with(kFile)) return "must be runtime/default, unconfined or localhost/<file>";
  const std::string_view file = profile.substr(kFile.size());
  if (file.starts_with('/')) return "must have a relative path after localhost/";
  return hasBackstep(file) ? "must not contain '..'" : "";
}

std::string appArmorProblem(std::string_view profile) {
  const bool known = profile.empty() || profile == "runtime/default" || profile == "unconfined" ||
                     profile.starts_with("localhost/");
  return known ? "" : "must be runtime/default, unconfined or localhost/<profile>";
}

std::string deletionCostProblem(std::string_view cost) {
  std::int32_t number = 0;
  const auto parsed = std::from_chars(cost.data(), cost.data() + cost.size(), number);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == cost.data() + cost.size();
  const bool padded = cost.size() > 1 && cost.front() == '0';
  return whole && !padded ? "" : "must be a 32-bit integer";
}

}  // namespace

void podAnnotations(const Reports& report, const Value* map, const Value* podSpec, const At& at) {
  constexpr std::string_view kAppArmor = "container.apparmor.security.beta.kubernetes.io/";
  constexpr std::string_view kSeccomp = "container.seccomp.security.alpha.kubernetes.io/";
  std::optional<std::set<std::string_view>> containers;
  forEachMember(map, at, [&](std::string_view key, const Value& given, const At& place) {
    const std::string_view value = json::text(given);
    if (key.starts_with(kAppArmor)) {
      if (!containers) containers = containerNames(podSpec);
      report(id::kPodAnnotation).check(place, value, appArmorProblem(value));
      const std::string_view name = key.substr(kAppArmor.size());
      if (containers->contains(name)) return;
      report(id::kPodAnnotation).notFound(place, name, "the pod has no container of this name");
    } else if (key.starts_with(kSeccomp) || key == "seccomp.security.alpha.kubernetes.io/pod") {
      report(id::kPodAnnotation).check(place, value, seccompProblem(value));
    } else if (key == "controller.kubernetes.io/pod-deletion-cost") {
      report(id::kPodAnnotation).check(place, value, deletionCostProblem(value));
    }
  });
}

void labels(const Reports& report, const json::Value* map, const At& at) {
  forEachMember(map, at, [&](std::string_view key, const json::Value& value, const At& place) {
    report(id::kLabel).check(place, key, k8s::qualifiedNameProblem(key));
    if (value.IsString()) {
      report(id::kLabel).check(place, json::text(value), k8s::labelValueProblem(json::text(value)));
    }
  });
}

void annotations(const Reports& report, const json::Value* map, const At& at) {
  std::size_t bytes = 0;
  forEachMember(map, at, [&](std::string_view key, const json::Value& value, const At& place) {
    report(id::kAnnotation).check(place, key, k8s::annotationKeyProblem(key));
    bytes += key.size() + json::text(value).size();
  });
  if (bytes <= k8s::kMaxAnnotationBytes) return;
  report(id::kAnnotation)
      .refused(at, fmt::format("may not be more than {} bytes in total (they have {})",
                               k8s::kMaxAnnotationBytes, bytes));
}

}  // namespace dynamo::rules::pod
