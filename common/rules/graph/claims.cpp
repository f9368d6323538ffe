// The claims in spec.pvcs of a graph (quirks adm-Q10, ctl-Q28).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/json/build.h"
#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr std::array<std::string_view, 4> kAccessModes = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                                          "ReadWriteOncePod"};

struct Claim {
  const Value& value;
  const At& place;
  std::string_view name;
  bool create = false;

  At at(Members members) const { return place / members; }
};

template <typename Each>
void forEachClaim(const Value* spec, Each each) {
  const At claims = "spec.pvcs";
  forEachObject(json::find(spec, "pvcs"), [&](const Value& value, std::size_t i) {
    const At place = claims[i];
    each(Claim{value, place, json::findText(&value, "name"),
               json::findBool(&value, "create").value_or(false)});
  });
}

void names(const Graph& graph, const Report& report) {
  forEachClaim(graph.spec, [&](const Claim& claim) {
    if (claim.name.empty()) return report.required(claim.at("name"), "must name a PersistentVolumeClaim");
    report.check(claim.at("name"), claim.name, k8s::dns1123SubdomainProblem(claim.name));
  });
}

void storageClasses(const Graph& graph, const Report& report) {
  forEachClaim(graph.spec, [&](const Claim& claim) {
    if (!claim.create) return;
    const std::string_view storageClass = json::findText(&claim.value, "storageClass");
    if (storageClass.empty()) {
      return report.required(claim.at("storageClass"), "must be set when create is true");
    }
    report.check(claim.at("storageClass"), storageClass, k8s::dns1123SubdomainProblem(storageClass));
  });
}

void sizes(const Graph& graph, const Report& report) {
  forEachClaim(graph.spec, [&](const Claim& claim) {
    if (!claim.create) return;
    const Value* size = json::find(claim.value, "size");
    const auto text = size == nullptr ? std::nullopt : k8s::quantityText(*size);
    if (!text) return report.required(claim.at("size"), "must be set when create is true");
    if (const std::string problem = k8s::quantityProblem(*text); !problem.empty()) {
      return report.invalid(claim.at("size"), *text, problem);
    }
    const auto quantity = k8s::parseQuantity(*text);
    if (quantity && quantity->nano <= 0) {
      report.invalid(claim.at("size"), *text, "must be greater than zero");
    }
  });
}

void accessModes(const Graph& graph, const Report& report) {
  forEachClaim(graph.spec, [&](const Claim& claim) {
    if (!claim.create) return;
    const std::string_view mode = json::findText(&claim.value, "volumeAccessMode");
    if (mode.empty()) {
      return report.required(claim.at("volumeAccessMode"), "must be set when create is true");
    }
    if (std::find(kAccessModes.begin(), kAccessModes.end(), mode) == kAccessModes.end()) {
      report.notSupported(claim.at("volumeAccessMode"), mode, kAccessModes);
    }
  });
}

void deletedWithGraph(const Graph& graph, const Report& report) {
  if (graph.old != nullptr) return;
  forEachClaim(graph.spec, [&](const Claim& claim) {
    if (claim.create) report.warn(claim.at("create"), "the claim and its data are deleted with the graph");
  });
}

void repeated(const Graph& graph, const Report& report) {
  std::set<std::string_view> seen;
  forEachClaim(graph.spec, [&](const Claim& claim) {
    if (claim.name.empty() || seen.insert(claim.name).second) return;
    report.duplicate(claim.at("name"), claim.name, "is already listed above: only one entry would be used");
  });
}

void warnChangeOfExisting(const Graph& graph, const Report& report) {
  if (graph.old == nullptr) return;
  std::map<std::string_view, const Value*> before;  // the first claim with each name
  forEachObject(
      json::find(json::findObject(graph.old, "spec"), "pvcs"),
      [&](const Value& claim, std::size_t) { before.try_emplace(json::findText(&claim, "name"), &claim); });
  forEachClaim(graph.spec, [&](const Claim& claim) {
    const auto found = claim.name.empty() ? before.end() : before.find(claim.name);
    if (!claim.create || found == before.end()) return;
    const Value* was = found->second;
    if (!json::findBool(was, "create").value_or(false)) return;
    for (const std::string_view field : {"size", "storageClass", "volumeAccessMode"}) {
      const Value* now = json::find(claim.value, field);
      const Value* then = json::find(*was, field);
      const bool same = now != nullptr && then != nullptr && field == "size" ? k8s::sameQuantity(*now, *then)
                                                                             : json::equal(now, then);
      if (!same)
        report.warn(claim.at(field), "has no effect on the existing claim: edit the PersistentVolumeClaim");
    }
  });
}

/// Warns of a claim for one node or one pod that several pods mount.
void singleWriter(const Service& service, const Report& report) {
  if (service.nodes * integerAt(&service.spec, "replicas").value_or(1) <= 1) return;
  std::map<std::string_view, std::string_view> modes;
  forEachClaim(service.graph.spec, [&](const Claim& claim) {
    if (claim.create) modes[claim.name] = json::findText(&claim.value, "volumeAccessMode");
  });
  const At mounts = service.at("volumeMounts");
  forEachObject(service.member("volumeMounts"), [&](const Value& mount, std::size_t i) {
    const auto mode = modes.find(json::findText(&mount, "name"));
    if (mode == modes.end() || !mode->second.starts_with("ReadWriteOnce")) return;
    const At at = mounts[i];
    report.warn(at / "name", fmt::format("is {} but is mounted by several pods", mode->second));
  });
}

constexpr std::array kChecks = {
    GraphCheck{{"dgd.pvc-name", Severity::Error, "a claim has the name of a PersistentVolumeClaim"}, names},
    GraphCheck{{"dgd.pvc-storage-class", Severity::Error, "a claim to be created has a storage class"},
               storageClasses},
    GraphCheck{{"dgd.pvc-size", Severity::Error, "a claim to be created has a size above zero"}, sizes},
    GraphCheck{{"dgd.pvc-access-mode", Severity::Error, "a claim to be created has an access mode"},
               accessModes},
    GraphCheck{{"dgd.pvc-unchanged", Severity::Warning, "an existing claim is never changed"},
               warnChangeOfExisting},
    GraphCheck{{"dgd.pvc-repeated", Severity::Error, "a claim is listed once"}, repeated},
};

constexpr std::array kRemarks = {
    GraphCheck{{"dgd.pvc-deleted", Severity::Warning, "a created claim is deleted with the graph"},
               deletedWithGraph},
};

constexpr std::array kServiceChecks = {
    ServiceCheck{{"dgd.pvc-single-writer", Severity::Warning, "a ReadWriteOnce claim is mounted by one pod"},
                 singleWriter},
};

}  // namespace

std::span<const GraphCheck> claimChecks() {
  return kChecks;
}

std::span<const GraphCheck> claimRemarks() {
  return kRemarks;
}

std::span<const ServiceCheck> claimServiceChecks() {
  return kServiceChecks;
}

}  // namespace dynamo::rules
