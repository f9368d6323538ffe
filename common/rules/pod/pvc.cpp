// Claims of ephemeral volumes.

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

void accessModes(const Reports& report, const Value& spec, const At& at) {
  const Value* modes = json::find(spec, "accessModes");
  if (modes == nullptr || (modes->IsArray() && modes->Empty())) {
    return report(id::kPvcAccessMode).required(at, "at least 1 access mode is required");
  }
  bool pod = false;
  bool others = false;
  forEachText(modes, at, [&](std::string_view mode, const At& place) {
    oneOf(report(id::kPvcAccessMode), place, mode,
          {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
    if (mode.empty()) report(id::kPvcAccessMode).required(place);
    (mode == "ReadWriteOncePod" ? pod : others) = true;
  });
  if (pod && others) {
    report(id::kPvcAccessMode).forbidden(at, "may not use ReadWriteOncePod with other access modes");
  }
}

void size(const Reports& report, const Value& spec, const At& at) {
  const Value* requests = json::findObject(json::findObject(&spec, "resources"), "requests");
  const Value* storage = json::find(requests, "storage");
  if (storage == nullptr) return report(id::kPvcSize).required(at);
  const auto text = k8s::quantityText(*storage);
  if (!text) return;
  const std::string problem = k8s::quantityProblem(*text);
  report(id::kPvcSize).check(at, *text, problem);
  const auto quantity = k8s::parseQuantity(*text);
  if (problem.empty() && quantity && quantity->nano <= 0) {
    report(id::kPvcSize).invalid(at, *text, "must be greater than zero");
  }
}

/// The data source of a claim, in dataSource or dataSourceRef.
void dataSource(const Reports& report, const Value& source, const At& at) {
  for (const std::string_view field : {"kind", "name"}) {
    if (json::findText(&source, field).empty()) report(id::kPvcSource).required(at / field);
  }
  const std::string_view group = json::findText(&source, "apiGroup");
  const std::string_view kind = json::findText(&source, "kind");
  if (!group.empty()) {
    report(id::kPvcSource).check(at / "apiGroup", group, k8s::dns1123SubdomainProblem(group));
  } else if (!kind.empty() && kind != "PersistentVolumeClaim") {
    report(id::kPvcSource)
        .invalid(at / "kind", kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  }
}

bool sameSource(const Value& one, const Value& other) {
  return json::findText(&one, "kind") == json::findText(&other, "kind") &&
         json::findText(&one, "name") == json::findText(&other, "name") &&
         json::equal(json::find(one, "apiGroup"), json::find(other, "apiGroup"));
}

void dataSources(const Reports& report, const Value& spec, const At& at) {
  const Value* old = json::findObject(&spec, "dataSource");
  const Value* given = json::findObject(&spec, "dataSourceRef");
  const At place = at / "dataSourceRef";
  if (old != nullptr) dataSource(report, *old, at / "dataSource");
  if (given == nullptr) return;
  dataSource(report, *given, place);
  const std::string_view from = json::findText(given, "namespace");
  if (!from.empty()) {
    needsGate(report, place / "namespace", "CrossNamespaceVolumeDataSource");
    report(id::kPvcSource).check(place / "namespace", from, k8s::dns1123LabelProblem(from));
  }
  if (old != nullptr && (!from.empty() || !sameSource(*old, *given))) {
    report(id::kPvcSource).refused(at / "dataSource", "must match dataSourceRef, or must not be set");
  }
}

}  // namespace

void pvcSpec(const Reports& report, const Value* spec, const At& at) {
  if (spec == nullptr || !spec->IsObject()) return report(id::kPvcAccessMode).required(at);
  accessModes(report, *spec, at / "accessModes");
  const At resourcesAt = at / "resources";
  const At requestsAt = resourcesAt / "requests";
  size(report, *spec, requestsAt.key("storage"));
  const std::string_view storageClass = json::findText(spec, "storageClassName");
  // An empty class is valid: it disables dynamic provisioning.
  if (!storageClass.empty()) {
    report(id::kPvcClass)
        .check(at / "storageClassName", storageClass, k8s::dns1123SubdomainProblem(storageClass));
  }
  oneOfGiven(report(id::kEnum), at / "volumeMode", json::find(spec, "volumeMode"), {"Block", "Filesystem"});
  labelSelector(report, json::findObject(spec, "selector"), at / "selector");
  dataSources(report, *spec, at);
  const std::string_view attributes = json::findText(spec, "volumeAttributesClassName");
  if (attributes.empty()) return;
  needsVersion(report, at / "volumeAttributesClassName", "1.34");
  report(id::kPvcClass)
      .check(at / "volumeAttributesClassName", attributes, k8s::dns1123SubdomainProblem(attributes));
}

}  // namespace dynamo::rules::pod
