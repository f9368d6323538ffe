// Claims that a pod brings along (ephemeral volumes).

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/podrules/parts.h"
#include "common/podrules/rules.h"

namespace dynamo::podrules {
namespace {

using json::Value;

void accessModes(const Report& report, const Value& spec, const At& at) {
  const Value* modes = json::find(spec, "accessModes");
  if (modes == nullptr || (modes->IsArray() && modes->Empty())) {
    return report.required(at, rule::kPvcAccessMode, "at least one access mode");
  }
  bool pod = false;
  bool others = false;
  forEachText(modes, at, [&](std::string_view mode, const At& place) {
    report.oneOf(place, mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"},
                 rule::kPvcAccessMode);
    if (mode.empty()) report.required(place, rule::kPvcAccessMode);
    (mode == "ReadWriteOncePod" ? pod : others) = true;
  });
  if (pod && others) {
    report.forbidden(at, "ReadWriteOncePod may not be combined with other access modes",
                     rule::kPvcAccessMode);
  }
}

void size(const Report& report, const Value& spec, const At& at) {
  const Value* requests = json::findObject(json::findObject(&spec, "resources"), "requests");
  const Value* storage = json::find(requests, "storage");
  if (storage == nullptr) return report.required(at, rule::kPvcSize);
  const auto text = k8s::quantityText(*storage);
  if (!text) return;
  const std::string problem = k8s::quantityProblem(*text);
  report.check(at, *text, problem, rule::kPvcSize);
  const auto quantity = k8s::parseQuantity(*text);
  if (problem.empty() && quantity && quantity->nano <= 0) {
    report.invalid(at, *text, "must be greater than zero", rule::kPvcSize);
  }
}

}  // namespace

void pvcSpec(const Report& report, const Value* spec, const At& at) {
  if (spec == nullptr || !spec->IsObject()) return report.required(at, rule::kPvcAccessMode);
  accessModes(report, *spec, at / "accessModes");
  const At resourcesAt = at / "resources";
  const At requestsAt = resourcesAt / "requests";
  size(report, *spec, requestsAt.key("storage"));
  const std::string_view storageClass = json::findText(spec, "storageClassName");
  // An empty class is a choice: no dynamic provisioning.
  if (!storageClass.empty()) {
    report.check(at / "storageClassName", storageClass, k8s::dns1123SubdomainProblem(storageClass),
                 rule::kPvcClass);
  }
  report.oneOfGiven(at / "volumeMode", json::find(spec, "volumeMode"), {"Block", "Filesystem"}, rule::kEnum);
  labelSelector(report, json::findObject(spec, "selector"), at / "selector");
}

}  // namespace dynamo::podrules
