// Claims that a pod brings along (ephemeral volumes).

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

void accessModes(const Report& report, const Value& spec, const At& at) {
  const Value* modes = json::find(spec, "accessModes");
  if (modes == nullptr || (modes->IsArray() && modes->Empty())) {
    return report.required(at, id::kPvcAccessMode, "at least one access mode");
  }
  bool pod = false;
  bool others = false;
  forEachText(modes, at, [&](std::string_view mode, const At& place) {
    report.oneOf(place, mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"},
                 id::kPvcAccessMode);
    if (mode.empty()) report.required(place, id::kPvcAccessMode);
    (mode == "ReadWriteOncePod" ? pod : others) = true;
  });
  if (pod && others) {
    report.forbidden(at, "ReadWriteOncePod may not be combined with other access modes", id::kPvcAccessMode);
  }
}

void size(const Report& report, const Value& spec, const At& at) {
  const Value* requests = json::findObject(json::findObject(&spec, "resources"), "requests");
  const Value* storage = json::find(requests, "storage");
  if (storage == nullptr) return report.required(at, id::kPvcSize);
  const auto text = k8s::quantityText(*storage);
  if (!text) return;
  const std::string problem = k8s::quantityProblem(*text);
  report.check(at, *text, problem, id::kPvcSize);
  const auto quantity = k8s::parseQuantity(*text);
  if (problem.empty() && quantity && quantity->nano <= 0) {
    report.invalid(at, *text, "must be greater than zero", id::kPvcSize);
  }
}

/// What a claim is filled from, in the old field or the new one.
void dataSource(const Report& report, const Value& source, const At& at) {
  for (const std::string_view field : {"kind", "name"}) {
    if (json::findText(&source, field).empty()) report.required(at / field, id::kPvcSource);
  }
  const std::string_view group = json::findText(&source, "apiGroup");
  const std::string_view kind = json::findText(&source, "kind");
  if (!group.empty()) {
    report.check(at / "apiGroup", group, k8s::dns1123SubdomainProblem(group), id::kPvcSource);
  } else if (!kind.empty() && kind != "PersistentVolumeClaim") {
    report.invalid(at / "kind", kind, "must be PersistentVolumeClaim without an apiGroup", id::kPvcSource);
  }
}

bool sameSource(const Value& one, const Value& other) {
  return json::findText(&one, "kind") == json::findText(&other, "kind") &&
         json::findText(&one, "name") == json::findText(&other, "name") &&
         json::equal(json::find(one, "apiGroup"), json::find(other, "apiGroup"));
}

void dataSources(const Report& report, const Value& spec, const At& at) {
  const Value* old = json::findObject(&spec, "dataSource");
  const Value* given = json::findObject(&spec, "dataSourceRef");
  const At place = at / "dataSourceRef";
  if (old != nullptr) dataSource(report, *old, at / "dataSource");
  if (given == nullptr) return;
  dataSource(report, *given, place);
  const std::string_view from = json::findText(given, "namespace");
  if (!from.empty()) {
    report.needsGate(place / "namespace", "CrossNamespaceVolumeDataSource");
    report.check(place / "namespace", from, k8s::dns1123LabelProblem(from), id::kPvcSource);
  }
  if (old != nullptr && (!from.empty() || !sameSource(*old, *given))) {
    report.refused(at / "dataSource", "must be the same as dataSourceRef, or left out", id::kPvcSource);
  }
}

}  // namespace

void pvcSpec(const Report& report, const Value* spec, const At& at) {
  if (spec == nullptr || !spec->IsObject()) return report.required(at, id::kPvcAccessMode);
  accessModes(report, *spec, at / "accessModes");
  const At resourcesAt = at / "resources";
  const At requestsAt = resourcesAt / "requests";
  size(report, *spec, requestsAt.key("storage"));
  const std::string_view storageClass = json::findText(spec, "storageClassName");
  // An empty class is a choice: no dynamic provisioning.
  if (!storageClass.empty()) {
    report.check(at / "storageClassName", storageClass, k8s::dns1123SubdomainProblem(storageClass),
                 id::kPvcClass);
  }
  report.oneOfGiven(at / "volumeMode", json::find(spec, "volumeMode"), {"Block", "Filesystem"}, id::kEnum);
  labelSelector(report, json::findObject(spec, "selector"), at / "selector");
  dataSources(report, *spec, at);
  const std::string_view attributes = json::findText(spec, "volumeAttributesClassName");
  if (attributes.empty()) return;
  report.needsVersion(at / "volumeAttributesClassName", "1.34");
  report.check(at / "volumeAttributesClassName", attributes, k8s::dns1123SubdomainProblem(attributes),
               id::kPvcClass);
}

}  // namespace dynamo::rules::pod
